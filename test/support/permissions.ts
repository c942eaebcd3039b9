/** Permissions of each caller, from the rows of attempts.ts and the spec's operations. */

import document from '../../spec/openapi.json' with { type: 'json' }
import type { operations } from '../../spec/types.ts'
import { type Attempt, type Need, table } from './attempts.ts'
import { type Caller, callers, type World } from './cast.ts'
import type { Answer, Client } from './people.ts'

/** The status that a caller gets. `success` is the 2xx of the spec. */
export function expectedStatus(need: Need, caller: Caller, published: boolean, success: number): number {
  if (need === 'anyone') return success
  if (need === 'operator') return 401
  if (need === 'published') return published ? success : 404
  if (caller === 'anonymous') return need === 'public' && published ? success : 401
  if (caller === 'disabled') return 401
  if (need === 'person') return success
  if (need === 'administrator') return caller === 'administrator' ? success : 403
  if (need === 'own') return caller === 'owner' ? success : 404
  if ((caller === 'stranger' || caller === 'administrator') && !published) return 404
  if (need === 'public') return success
  return callers.indexOf(caller) >= callers.indexOf(need) ? success : 403
}

/** The kind of `security` that the spec must have for the row. */
export function expectedSecurity(id: keyof operations): Operation['security'] {
  const { need } = table[id]
  if (need === 'anyone' || need === 'published') return 'none'
  if (need === 'operator') return 'metrics'
  return need === 'public' || id === 'changePassword' ? 'optional' : 'required'
}

export interface Operation {
  readonly id: keyof operations
  readonly method: string
  readonly path: string
  readonly security: 'none' | 'optional' | 'required' | 'metrics'
  /** The access that a personal access token needs: `read` or `write`. `none` if the operation accepts none. */
  readonly token: string
  readonly success: number
}

interface SpecOperation {
  readonly operationId: string
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly responses: Readonly<Record<string, unknown>>
}

export const specOperations: readonly Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, SpecOperation>) // each path has its own type
    .filter(([method]) => method !== 'parameters')
    .map(([method, { operationId, security, responses }]) => ({
      id: operationId as keyof operations, // both are generated from openapi.yaml
      method: method.toUpperCase(),
      path,
      security: securityOf(security),
      token: security?.find((way) => way.token !== undefined)?.token?.[0] ?? 'none',
      success: Number(Object.keys(responses).find((status) => status.startsWith('2'))),
    })),
)

function securityOf(security: SpecOperation['security']): Operation['security'] {
  if (security?.length === 0) return 'none'
  if (security?.some((way) => 'metrics' in way)) return 'metrics'
  return security?.some((way) => Object.keys(way).length === 0) === true ? 'optional' : 'required'
}

/** Sends an attempt. A part of the template that remains is a parameter that the attempt lacks. */
export function send(who: Client, { method, path }: Operation, attempt: Attempt): Promise<Answer> {
  const { org, params = {}, query = '', body, zip } = attempt
  const given: Readonly<Record<string, string | undefined>> = { ...params, org_id: org }
  const url = path.replace(/\{(\w+)\}/g, (name, key) => encodeURIComponent(given[key] ?? name))
  if (zip !== undefined) return who.post(url + query, zip, { 'content-type': 'application/zip' })
  if (method === 'GET') return who.get(url + query)
  if (method === 'DELETE') return who.delete(url + query, {}, body)
  if (method === 'PUT') return who.put(url + query, body)
  return method === 'PATCH' ? who.patch(url + query, body) : who.post(url + query, body)
}

/** The client that sends the attempt for that caller. */
export function senderOf({ people }: World, caller: Caller, { instead }: Attempt): Client {
  const isSignedIn = caller !== 'anonymous' && caller !== 'disabled'
  return isSignedIn && instead !== undefined ? instead : people[caller]
}

/** The least role for an operation on what belongs to the contributor. */
export function ownNeed(id: keyof operations): Need {
  return table[id].own === undefined ? table[id].need : 'contributor'
}

/** The complete attempt of that operation on what belongs to the contributor. */
export async function ownAttemptOf(id: keyof operations, world: World): Promise<Attempt> {
  return { org: world.org, ...(await (table[id].own ?? table[id].attempt)(world)) }
}

/** The complete attempt of that operation in that world. */
export async function attemptOf(id: keyof operations, world: World): Promise<Attempt> {
  return { org: world.org, ...(await table[id].attempt(world)) }
}
