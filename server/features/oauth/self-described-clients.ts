/**
 * Programs that register themselves. The id of such a client is its metadata, so nothing is stored.
 *
 * A signature would add nothing, because anyone can register. Source: RFC 7591.
 */

import { OAuthError } from './errors.ts'

const prefix = 'dcr.'

/** Characters of a client's id. */
const longestId = 1_024
/** Redirect URIs of a client. */
const mostRedirects = 10
/** Characters of a name. */
const longestName = 64

export interface SelfDescribed {
  readonly name: string
  readonly redirectUris: readonly string[]
}

/** Removes characters from a name that end lines or reorder text, and shortens it. */
export function plainName(name: string): string {
  const plain = name.replace(/[\p{C}\u2028\u2029]/gu, '').trim()
  return [...plain].slice(0, longestName).join('') || 'unnamed'
}

/** Returns the id of a client. @throws OAuthError invalid_client_metadata: the id would be too long */
export function selfDescribedId({ name, redirectUris }: SelfDescribed): string {
  const id = prefix + Buffer.from(JSON.stringify({ n: plainName(name), r: redirectUris })).toString('base64url')
  if (id.length > longestId)
    throw new OAuthError('invalid_client_metadata', 'The name and the redirect URIs are too long together')
  return id
}

/** Reads the metadata in an id. Undefined: no registration has returned this id. */
export function readSelfDescribed(clientId: string): SelfDescribed | undefined {
  if (!clientId.startsWith(prefix) || clientId.length > longestId) return undefined
  try {
    const { n: name, r: redirectUris } = JSON.parse(
      Buffer.from(clientId.slice(prefix.length), 'base64url').toString('utf8'),
    )
    if (typeof name !== 'string' || !isRedirectList(redirectUris)) return undefined
    return selfDescribedId({ name, redirectUris }) === clientId ? { name, redirectUris } : undefined
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError || error instanceof OAuthError) return undefined
    throw error
  }
}

export function isRedirectList(value: unknown): value is readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > mostRedirects) return false
  return value.every((one) => typeof one === 'string')
}
