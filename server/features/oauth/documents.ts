/** Metadata documents of programs: their form, and what a program says in them. Source: OAuth Client ID Metadata. */

import { judgeDocumentRedirect } from '../../base/redirects.ts'
import { UnknownProgramError } from './errors.ts'
import { isRedirectList, plainName } from './self-described-clients.ts'

/** Characters of the URL of a document. */
const longestUrl = 512

/** The content of a valid document. */
export interface Metadata {
  readonly name: string
  /** The host that vouches for the program. */
  readonly host: string
  readonly redirectUris: readonly string[]
  /** `private_key_jwt`: it allows nothing else. `none`: it may come without an assertion. */
  readonly method: 'none' | 'private_key_jwt'
  /** Absent: it does not sign assertions. */
  readonly keys?: KeySource
}

/** The public keys of a program, or the URL that has them. */
export type KeySource = { readonly jwks: object } | { readonly jwksUri: string }

type Members = Readonly<Record<string, unknown>>

/** True if the id of a client can be the URL of its document. It must be written as it is fetched. */
export function isDocumentUrl(id: string): boolean {
  if (id.length > longestUrl || !/^https:\/\/[\x21-\x7e]+$/.test(id) || id.includes('#') || !URL.canParse(id))
    return false
  const { href, pathname, port, username, password } = new URL(id)
  return href === id && pathname !== '/' && port === '' && username === '' && password === ''
}

/** Judges the text of a document. @param redirects the entries of `OAUTH_REDIRECTS` @throws UnknownProgramError */
export function judgeDocument(id: string, text: string, redirects: readonly string[]): Metadata {
  const members = membersOf(text)
  if (members.client_id !== id) throw wrong('does not have its own URL as client_id')
  const { client_name: name, redirect_uris: uris } = members
  if (typeof name !== 'string' || name.trim() === '') throw wrong('has no text as client_name')
  if (!isRedirectList(uris)) throw wrong('must have 1 to 10 redirect_uris, each a string')
  const judged = uris.map((uri) => judgeDocumentRedirect(uri, redirects))
  if (judged.includes('refused')) throw wrong('has a redirect URI that no program may have')
  const redirectUris = uris.filter((_, at) => judged[at] === 'used')
  if (redirectUris.length === 0) throw wrong('has only redirect URIs that the operator does not allow')
  requireValue(members, 'grant_types', 'authorization_code')
  requireValue(members, 'response_types', 'code')
  return { name: plainName(name), host: new URL(id).hostname, redirectUris, ...authenticationOf(members) }
}

function membersOf(text: string): Members {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) throw wrong('is not JSON')
    throw error
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong('is not a JSON object')
  return { ...value }
}

/** @throws UnknownProgramError the member is a list without the value */
function requireValue(members: Members, name: string, value: string): void {
  const list = members[name] ?? [value]
  if (!Array.isArray(list) || !list.includes(value)) throw wrong(`does not have ${value} in ${name}`)
}

/**
 * Returns how the program authenticates. `token_endpoint_auth_method` is only what it prefers.
 *
 * @throws UnknownProgramError
 */
function authenticationOf(members: Members): Pick<Metadata, 'method' | 'keys'> {
  if (members.client_secret !== undefined) throw wrong('has a secret, which everybody can read')
  const { token_endpoint_auth_method: preferred, token_endpoint_auth_methods_supported: supported = [] } = members
  if (!Array.isArray(supported)) throw wrong('has token_endpoint_auth_methods_supported, but not as a list')
  const methods: readonly unknown[] = preferred === undefined ? supported : [preferred, ...supported]
  if (methods.some((method) => typeof method !== 'string' || method.startsWith('client_secret_')))
    throw wrong('names a method with a secret, which a public document cannot have')
  const keys = methods.includes('private_key_jwt') ? keySourceOf(members) : undefined
  if (methods.length === 0 || methods.includes('none')) return { method: 'none', ...(keys && { keys }) }
  if (!methods.includes('private_key_jwt')) throw wrong('allows neither none nor private_key_jwt at /oauth/token')
  if (keys === undefined) throw wrong('allows only private_key_jwt, and must have either jwks or jwks_uri')
  return { method: 'private_key_jwt', keys }
}

/** Undefined: the document has no keys, or both members, which RFC 7591 forbids. */
function keySourceOf({ jwks, jwks_uri: jwksUri }: Members): KeySource | undefined {
  if (typeof jwks === 'object' && jwks !== null && jwksUri === undefined) return { jwks }
  return typeof jwksUri === 'string' && jwks === undefined ? { jwksUri } : undefined
}

function wrong(what: string): UnknownProgramError {
  return new UnknownProgramError(`The document of the program ${what}`)
}
