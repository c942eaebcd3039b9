/**
 * Counts the bytes of repositories.
 *
 * A process notes what it writes, and a row of the index adds that. So a change need not read folders. Maintenance
 * measures all files.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from './fs-exists.ts'
import type { Repo } from './repo.ts'
import { isTemporary } from './temporary-names.ts'

/** Bytes that no row counts yet. */
export interface Uncounted {
  /** The bytes with which this process created the repository. Undefined if it did not create it. */
  readonly created: number | undefined
  /** The bytes written since. */
  readonly added: number
}

const nothing: Uncounted = { created: undefined, added: 0 }

/** Keyed by the folder of the repository. An entry has some 200 bytes, until the repository is indexed. */
const uncounted = new Map<string, Uncounted>()

/** Notes new bytes in a repository. */
export function noteWritten({ dir }: Repo, bytes: number): void {
  if (bytes === 0) return
  const { created, added } = uncounted.get(dir) ?? nothing
  uncounted.set(dir, { created, added: added + bytes })
}

/** Notes all bytes of a repository that was just created. */
export function noteCreated({ dir }: Repo, bytes: number): void {
  uncounted.set(dir, { created: bytes, added: 0 })
}

export function readUncounted({ dir }: Repo): Uncounted {
  return uncounted.get(dir) ?? nothing
}

/** Records that rows have these bytes. Bytes that were written since stay. */
export function markCounted({ dir }: Repo, counted: Uncounted): void {
  const { created, added } = uncounted.get(dir) ?? nothing
  const left = added - counted.added
  if (left > 0) uncounted.set(dir, { created: created === counted.created ? undefined : created, added: left })
  else uncounted.delete(dir)
}

/** A folder of loose objects, of packs, or of what Git derives from them. */
const counted = /^([0-9a-f]{2}|pack|info)$/
/** True for an unfinished file, and for the lock of a pack in transfer. */
const isPassing = (name: string) => isTemporary(name, false) || name.endsWith('.keep')

/**
 * Adds up the sizes of all files of objects, without unfinished ones. Reads up to 258 folders, so it is not for the path
 * of a commit. 0 for a missing repository.
 */
export async function measureRepo({ dir }: Repo): Promise<number> {
  const objects = join(dir, 'objects')
  let bytes = 0
  for (const folder of ((await ignoreMissing(readdir(objects))) ?? []).filter((name) => counted.test(name))) {
    const names = (await ignoreMissing(readdir(join(objects, folder)))) ?? []
    for (const name of names) {
      if (isPassing(name)) continue
      const file = await ignoreMissing(stat(join(objects, folder, name)))
      if (file?.isFile()) bytes += file.size
    }
  }
  return bytes
}
