/** The input of a tool as clients see it. It has a short JSON Schema, and refusals name the next step. */

import { z } from 'zod'
import { ended, refusalText } from './refusals.ts'
import type { Session } from './session.ts'
import { mostContent, type Tool } from './tool.ts'

type Scope = Pick<Session, 'orgId' | 'nodeId'>

/** Larger bounds are left out of the list of tools. A refusal names them. */
const shownBound = 1_000

/** Returns the input for the library. A token of one organisation or node may leave out `org_id` and `node_id`. */
export function inputOf({ input }: Pick<Tool, 'input'>, session: Session) {
  const known = knownIds(input, session)
  const read = (value: unknown, ids: object) => {
    const given = typeof value === 'object' && !Array.isArray(value) ? { ...ids, ...value } : value
    return input.safeParse(given, { error: (issue) => reasonOf(issue, input) })
  }
  const validate = async (value: unknown) => {
    let { success, data, error } = read(value, known)
    const isUnknown =
      session.findScope && error?.issues.some(({ path: [name] }) => name === 'org_id' || name === 'node_id')
    if (isUnknown) ({ success, data, error } = read(value, knownIds(input, await scopeOf(session))))
    return success ? { value: data } : { issues: error?.issues ?? [] }
  }
  const schema = () => {
    const { $schema: _, required = [], ...rest } = z.toJSONSchema(input, { io: 'input', override: shorten })
    const asked = required.filter((name) => !Object.hasOwn(known, name))
    return { ...rest, ...(asked.length > 0 && { required: asked }) }
  }
  return {
    '~standard': { version: 1 as const, vendor: 'grove', validate, jsonSchema: { input: schema, output: schema } },
  }
}

/** Returns those of the ids that limit the token that the tool takes. */
function knownIds({ shape }: z.ZodObject, { orgId, nodeId }: Scope): Readonly<Record<string, string | undefined>> {
  const ids = Object.entries({ org_id: orgId, node_id: nodeId })
  return Object.fromEntries(ids.filter(([name, id]) => id !== undefined && Object.hasOwn(shape, name)))
}

/** Finds the ids again. An id that a model may not leave out must not hide that the service is down. @throws Error */
async function scopeOf(session: Session): Promise<Scope> {
  try {
    return (await session.findScope?.()) ?? {}
  } catch (error) {
    throw new Error(refusalText(ended(session, error)))
  }
}

/** Removes what hardly any input meets: a third of the list of tools. It is checked all the same. */
function shorten({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { minimum = 1, maximum = shownBound, maxLength = 0, default: usual } = jsonSchema
  for (const bound of ['minLength', 'minItems', 'maxItems', 'propertyNames'] as const) delete jsonSchema[bound]
  // Without any bound, zod writes a nullable text with a list of types. Some models do not support one.
  if (maxLength < mostContent) delete jsonSchema.maxLength
  if (minimum <= 1 || minimum > shownBound) delete jsonSchema.minimum
  if (maximum > shownBound) delete jsonSchema.maximum
  if (usual === 0 || usual === '') delete jsonSchema.default
}

/** Returns the reason for values that are absent, unknown or of another type. Other values have zod's reason, with the bound. */
function reasonOf(issue: z.core.$ZodRawIssue, { shape }: z.ZodObject): string | undefined {
  if (issue.code === 'unrecognized_keys') {
    const isTop = issue.path === undefined || issue.path.length === 0
    return `Leave out ${issue.keys.join(', ')}.${isTop ? ` The tool takes ${Object.keys(shape).join(', ')}` : ''}`
  }
  if (issue.code !== 'invalid_type') return undefined
  const { expected, input } = issue
  return input === undefined ? `Required: pass a value of type ${expected}` : `Pass a value of type ${expected} instead`
}
