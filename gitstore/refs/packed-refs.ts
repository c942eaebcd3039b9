/** Takes refs out of packed-refs; the caller holds `packed-refs.lock`. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { nameFile, syncDirectory, writeSynced } from '../durable.ts'
import type { Repo } from '../repo.ts'

/**
 * Rewrites packed-refs without `refs` by way of `scratch`, a path on the same file system. Nothing is written where none of
 * them is packed.
 */
export async function removePackedRefs(repo: Repo, refs: ReadonlySet<string>, scratch: string): Promise<void> {
  const path = join(repo.dir, 'packed-refs')
  const kept: string[] = []
  let found = false
  let skipPeeled = false
  for (const line of (await readFile(path, 'utf8')).split('\n')) {
    if (line.startsWith('^') && skipPeeled) continue
    skipPeeled = line[40] === ' ' && refs.has(line.slice(41))
    if (skipPeeled) found = true
    else kept.push(line)
  }
  if (!found) return
  await rm(scratch, { force: true })
  await writeSynced(scratch, kept.join('\n'))
  nameFile(scratch, path)
  await syncDirectory(repo.dir)
}
