/** Scopes and resources, as programs name them. */

import { type Access, includesAccess } from '../actor.ts'

const levels: readonly Access[] = ['read', 'propose', 'write']

/** Scopes that a program should ask for. `write` is granted, but not advertised for every connection. */
export const usualScopes: readonly Access[] = ['read', 'propose']

export const allScopes = levels

/** Returns the largest access that the text names. Undefined: it names none. Unknown scopes are ignored. */
export function accessIn(scope: string | undefined): Access | undefined {
  const named = (scope ?? '').split(' ')
  return levels.findLast((level) => named.includes(level))
}

/** The access that a program asks for. Without a known scope it is `propose`. */
export function requestedAccess(scope: string | undefined): Access {
  return accessIn(scope) ?? 'propose'
}

/** All scopes that the access includes. */
export function scopeOf(access: Access): string {
  return levels.filter((level) => includesAccess(access, level)).join(' ')
}

/** The rights that a user grants. */
export interface Consent {
  /** At most what the program asks for. */
  readonly access: Access
  /** Absent: all organisations of the user, also later ones. */
  readonly org_id?: string
  /** Only with `org_id`. */
  readonly node_id?: string
}

/** `mcp`: `/mcp`. `api`: the REST API, and Git's password. A token of one is invalid at the other. */
export type Resource = 'api' | 'mcp'

export function resourceUrl(issuer: string, resource: Resource): string {
  return resource === 'mcp' ? `${issuer}/mcp` : issuer
}

/**
 * Returns the resource that a program names, or `/mcp` if it names none. A trailing slash and the case of the host do
 * not matter. Undefined: it is not a resource of this service. Source: RFC 8707.
 */
export function resourceIn(issuer: string, sent: string | undefined): Resource | undefined {
  if (sent === undefined) return 'mcp'
  const [api, mcp, named] = [issuer, `${issuer}/mcp`, sent].map(plainUrl)
  if (named === undefined) return undefined
  return named === mcp ? 'mcp' : named === api ? 'api' : undefined
}

function plainUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.hash !== '' || url.search !== '' || url.username !== '' || url.password !== '') return undefined
  return url.origin + url.pathname.replace(/\/$/, '')
}
