/**
 * The ids of connections that are created from links: a slug and a hash, `install-1f0c9a7b3e`.
 *
 * Imports and the editor share this rule. It also runs in browsers, whose own SHA-256 needs HTTPS and is asynchronous.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { folded } from './note-names.ts'

/** Returns the id of a connection. @param key the target's path without an ending; in the editor, the name's key */
export function connectionId(key: string, type: string, targetId: string): string {
  const slug = slugOf(key)
  return slug === '' ? hashOf(type, targetId) : `${slug}-${hashOf(type, targetId)}`
}

/** Returns the key of a written name. Names with the same slug, such as `C` and `C++`, have different keys. */
export function keyOfName(name: string): string {
  const [slug, plain] = [slugOf(name), folded(lastPart(name))]
  if (slug === plain.replace(/[\s_-]+/g, '-')) return slug
  return `${slug.slice(0, 32)} ${hexDigest(plain).slice(0, 8)}`.trim().replace(/[ -]+/g, '-')
}

/** Returns the slug in a connection's id. Undefined if the connection was not created from a link. */
export function slugIn(connection: { readonly id: string; readonly type: string; readonly target: string }) {
  const ending = `-${hashOf(connection.type, connection.target)}`
  return connection.id.endsWith(ending) ? connection.id.slice(0, -ending.length) : undefined
}

export function slugOf(key: string): string {
  const letters = lastPart(key).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  return letters
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 48)
    .replace(/^-|-$/g, '')
}

function lastPart(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1) ?? ''
}

function hashOf(type: string, targetId: string): string {
  return hexDigest(`${type} ${targetId}`).slice(0, 10)
}

/** Returns the SHA-256 of a text, in hexadecimal. */
export function hexDigest(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)))
}
