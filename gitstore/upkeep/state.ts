/** Digests the state of a repository's files. An equal digest later means that no file was changed, made or removed. */
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Returns a digest of the names, sizes and change times of everything below `dir`. A change of a file in place that
 * resets its time is not seen. Opens no files. Takes about 10 µs per entry, in one turn of the event loop.
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
      // The name of a folder counts, even if it has no files.
      const { size, mtimeNs } = lstatSync(join(dir, path), { bigint: true })
      hash.update(entry.isDirectory() ? `${path}/\0` : `${path}\0${size} ${mtimeNs}\0`)
    }
  return hash.digest('base64url')
}

function byName(a: { name: string }, b: { name: string }): number {
  return a.name < b.name ? -1 : 1
}
