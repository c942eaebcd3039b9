/** The ids of connections that an import makes: what a person recognises, and what makes it one, `install-1f0c9a7b3e`. */
import { createHash } from 'node:crypto'
import { posix } from 'node:path'

/** @param key the path of the target, without an ending */
export function connectionId(key: string, type: string, targetId: string): string {
  const slug = slugOf(key)
  return slug === '' ? hashOf(type, targetId) : `${slug}-${hashOf(type, targetId)}`
}

/** What an import read the name of the target as when it made the connection; undefined if no import made it. */
export function slugIn(connection: { readonly id: string; readonly type: string; readonly target: string }) {
  const ending = `-${hashOf(connection.type, connection.target)}`
  return connection.id.endsWith(ending) ? connection.id.slice(0, -ending.length) : undefined
}

export function slugOf(key: string): string {
  const letters = posix.basename(key).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  return letters
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 48)
    .replace(/^-|-$/g, '')
}

function hashOf(type: string, targetId: string): string {
  return createHash('sha256').update(`${type} ${targetId}`).digest('hex').slice(0, 10)
}
