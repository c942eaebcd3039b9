/**
 * The ids of connections that links make: what a person recognises, and what makes it one, `install-1f0c9a7b3e`. An import and
 * the editor have this rule. It runs in browsers, too, whose own SHA-256 needs HTTPS and is asynchronous.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { folded } from './note-names.ts'

/** @param key the path of the target, without an ending; in the editor the key of a written name */
export function connectionId(key: string, type: string, targetId: string): string {
  const slug = slugOf(key)
  return slug === '' ? hashOf(type, targetId) : `${slug}-${hashOf(type, targetId)}`
}

/** The key of a name that a text has written: names that share a slug, as `C` and `C++`, have different keys. */
export function keyOfName(name: string): string {
  const [slug, plain] = [slugOf(name), folded(lastPart(name))]
  if (slug === plain.replace(/[\s_-]+/g, '-')) return slug
  return `${slug.slice(0, 32)} ${hexDigest(plain).slice(0, 8)}`.trim().replace(/[ -]+/g, '-')
}

/** The slug with which a link made the connection; undefined if no link made it. */
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

function hexDigest(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)))
}
