/** Generates rights.ts: what each operation of the spec requires, and whether maintenance mode or a full disk refuses it. */

/** Security schemes by name, with the required roles of each. */
type SecurityWay = Readonly<Record<string, readonly string[]>>

interface Operation {
  readonly operationId: string
  /** `served`: the operation changes no content, so it works in maintenance mode. */
  readonly 'x-maintenance'?: 'served'
  /** `refused`: the operation is served in maintenance mode, but adds to what is stored and does not free space. */
  readonly 'x-full-disk'?: 'refused'
  readonly security?: readonly SecurityWay[]
}

interface Document {
  readonly security?: readonly SecurityWay[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const header = `/** Generated from openapi.yaml by npm run generate. The Authorization and the token access that each operation requires. Whether it is served in maintenance mode, and while the disk is full. */

`

export function rightsOf({ security: usual = [], paths }: Document): string {
  const lines = Object.values(paths)
    .flatMap((item) => Object.entries(item))
    .filter(([method]) => method !== 'parameters')
    .map(([method, operation]) => {
      const { operationId, security = usual } = operation
      const isServed = method === 'get' || tokenOf(security) === 'read' || operation['x-maintenance'] === 'served'
      // A deletion frees space.
      const isServedFull = method === 'delete' || (isServed && operation['x-full-disk'] === undefined)
      const states = `maintenance: '${isServed ? 'served' : 'refused'}', fullDisk: '${isServedFull ? 'served' : 'refused'}'`
      return `  ${operationId}: { authorization: '${authorizationOf(security)}', token: '${tokenOf(security)}', ${states} },\n`
    })
  return `${header}export const rights = {\n${lines.join('')}} as const\n`
}

function authorizationOf(security: readonly SecurityWay[]): 'none' | 'optional' | 'required' | 'metrics' {
  if (security.length === 0) return 'none'
  if (security.some(({ metrics }) => metrics !== undefined)) return 'metrics'
  return security.some((way) => Object.keys(way).length === 0) ? 'optional' : 'required'
}

/** `none` if the operation does not accept personal access tokens: it does not list the scheme `token`. */
function tokenOf(security: readonly SecurityWay[]): 'read' | 'propose' | 'write' | 'none' {
  const [role] = security.find(({ token }) => token !== undefined)?.token ?? []
  return role === 'read' || role === 'propose' || role === 'write' ? role : 'none'
}
