/** What each operation of an OpenAPI document asks of Authorization, as the text of rights.ts. */

/** Schemes by name, each with the roles that it must have. */
type SecurityWay = Readonly<Record<string, readonly string[]>>

interface Operation {
  readonly operationId: string
  readonly security?: readonly SecurityWay[]
}

interface Document {
  readonly security?: readonly SecurityWay[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const header = `/** Generated from openapi.yaml by npm run generate: what each operation asks of Authorization, and of a personal access token. */

`

export function rightsOf({ security: usual = [], paths }: Document): string {
  const lines = Object.values(paths)
    .flatMap((item) => Object.entries(item))
    .filter(([method]) => method !== 'parameters')
    .map(([, { operationId, security = usual }]) => {
      return `  ${operationId}: { authorization: '${authorizationOf(security)}', token: '${tokenOf(security)}' },\n`
    })
  return `${header}export const rights = {\n${lines.join('')}} as const\n`
}

function authorizationOf(security: readonly SecurityWay[]): 'none' | 'optional' | 'required' | 'metrics' {
  if (security.length === 0) return 'none'
  if (security.some(({ metrics }) => metrics !== undefined)) return 'metrics'
  return security.some((way) => Object.keys(way).length === 0) ? 'optional' : 'required'
}

/** An operation that does not name the scheme `token` takes no personal access token. */
function tokenOf(security: readonly SecurityWay[]): 'read' | 'write' | 'none' {
  const [role] = security.find(({ token }) => token !== undefined)?.token ?? []
  return role === 'read' || role === 'write' ? role : 'none'
}
