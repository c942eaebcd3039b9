/** Folders of objects that may be discarded, next to a repository's own. Git and this process share them. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { asStorageError, codeOf } from '../errors.ts'
import { readLoose } from '../objects/loose.ts'
import { encodeLoose } from '../objects/object-format.ts'
import type { ObjectPlaces, Oid, PendingObject, Repo } from '../repo.ts'
import { scratchFolder } from '../temporary-names.ts'

interface ScratchRepo extends Repo {
  /** Lets Git read the repository's objects and write to this folder. */
  readonly env: Record<string, string>
}

export interface ScratchObjects {
  /** Makes the folder at the first call. @throws GitError storage_* */
  open(): Promise<ScratchRepo>
  /**
   * Writes an object for Git, once. It is not synced. Makes only the last folder of the path. Making the others would
   * bring back a repository that was deleted since.
   */
  put(oid: Oid, object: PendingObject): Promise<void>
  /** Returns undefined if the object was in the repository before, or does not exist. */
  find(oid: Oid): Promise<PendingObject | undefined>
  remove(): Promise<void>
}

export function scratchObjectsOf(repo: Repo): ScratchObjects {
  const dir = `${repo.dir}/${scratchFolder()}`
  const objects = `${dir}/objects`
  const env = { GIT_OBJECT_DIRECTORY: objects, GIT_ALTERNATE_OBJECT_DIRECTORIES: `${repo.dir}/objects` }
  const written = new Set<Oid>()
  let opened = false
  return {
    open: async () => {
      if (!opened) {
        try {
          await mkdir(dir)
          opened = true
          await mkdir(objects)
        } catch (error) {
          throw asStorageError(error)
        }
      }
      return { dir: repo.dir, env }
    },
    put: async (oid, object) => {
      if (written.has(oid)) return
      const fanOut = `${objects}/${oid.slice(0, 2)}`
      await mkdir(fanOut).catch(unlessExists)
      await writeFile(`${fanOut}/${oid.slice(2)}`, await encodeLoose(object), { flag: 'wx' }).catch(unlessExists)
      written.add(oid)
    },
    find: async (oid) => {
      const found = opened ? await readLoose({ dir }, oid, () => undefined) : undefined
      if (found) written.add(oid)
      return found
    },
    remove: async () => {
      // A folder that remains is removed later with other stale files. The failure must not hide the outcome of the
      // merge.
      if (opened) await rm(dir, { recursive: true, force: true }).catch(() => undefined)
    },
  }
}

function unlessExists(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw asStorageError(error)
}

/**
 * Runs `work` with the repository's pending objects in a folder that Git reads. The folder is then removed. Costs
 * nothing if no object is pending.
 *
 * @throws GitError storage_*, and any error of `work`
 */
export async function withPendingStored<T>(repo: Repo, work: (objects: ObjectPlaces) => Promise<T>): Promise<T> {
  if (!repo.pending?.size) return work({})
  const scratch = scratchObjectsOf(repo)
  try {
    const { env } = await scratch.open()
    for (const [oid, object] of repo.pending) await scratch.put(oid, object)
    return await work(env)
  } finally {
    await scratch.remove()
  }
}
