/** The state of a repository's files, by which a later look tells that none was changed, made or removed. */
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A digest of the names, sizes and times of change of all that lies below `dir`; what changes a file in place and sets its
 * time back is not seen. Reads no file. About 10 µs an entry, in one turn.
 *
 * @throws system errors
 */
export function stateOf(dir: string): string {
  const hash = createHash('sha256')
  const pending = ['']
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop())
    for (const entry of readdirSync(join(dir, folder), { withFileTypes: true }).sort(byName)) {
      const path = `${folder}${entry.name}`
      if (entry.isDirectory()) pending.push(`${path}/`)
      // A folder without files is there, too.
      const { size, mtimeNs } = lstatSync(join(dir, path), { bigint: true })
      hash.update(entry.isDirectory() ? `${path}/\0` : `${path}\0${size} ${mtimeNs}\0`)
    }
  return hash.digest('base64url')
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1
}
