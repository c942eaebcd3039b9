/** The state of a folder's files, by which a later import tells that none was changed since. */
import { createHash } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { ifThere } from '../../gitstore/presence.ts'
import type { Folder } from './folder.ts'

/** Raised with whatever changes what an import makes of the same files, or says of them. */
const revision = 2

/** A file that has changed so shortly before may change again within the same tick of the file system's clock. Source: git, Documentation/technical/racy-git.txt. */
const settledMs = 2_000

/** `lstat`s at a time. */
const atOnce = 64

/**
 * A digest of `asked` and of the name, number, size and times of each file that is listed; what changes a file in place and
 * sets all times back is not seen. Undefined where the digest would not be reliable yet: a file is gone, or has just changed.
 *
 * @param asked what else decides what is imported
 */
export async function folderState(folder: Folder, asked: readonly unknown[], now: Date): Promise<string | undefined> {
  const { dir, name, files, symlinks, problems, lost, excluded, folders } = folder
  if (lost.length > 0) return undefined
  const hash = createHash('sha256')
  const others = [...symlinks, problems, [...excluded].sort(), [...folders].sort()]
  hash.update(JSON.stringify([revision, dir, name, asked, others]))
  for (let from = 0; from < files.length; from += atOnce) {
    const some = files.slice(from, from + atOnce)
    const lines = await Promise.all(some.map((path) => lineOf(join(dir, path), now)))
    if (lines.includes(undefined)) return undefined
    hash.update(JSON.stringify([some, lines]))
  }
  return hash.digest('base64url')
}

/** What a file's content cannot change without. */
async function lineOf(path: string, now: Date): Promise<string | undefined> {
  const found = await ifThere(lstat(path, { bigint: true }))
  if (found === undefined) return undefined
  const { ino, size, mtimeNs, ctimeNs } = found
  const isSettled = Number(ctimeNs / 1_000_000n) < now.getTime() - settledMs
  return isSettled ? `${ino} ${size} ${mtimeNs} ${ctimeNs}` : undefined
}
