/** Computes the state of a folder's files. A later import compares it to see if any has changed. */
import { createHash } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { ignoreMissing } from '../../../../gitstore/fs-exists.ts'
import { FolderReplacedError, withHeldFolder } from '../../../../gitstore/held-folders.ts'
import type { Folder } from './folder.ts'

/** Raise this when an import of the same files has another result or another summary. */
const revision = 3

/**
 * Milliseconds after which a change counts as settled.
 *
 * Until then a file may change again within the same tick of the file system's clock. Source: git,
 * Documentation/technical/racy-git.txt.
 */
const settledMs = 2_000

/** Number of `lstat` calls at a time. */
const atOnce = 64

/**
 * Returns a digest of `asked` and of each listed file's name, inode, size and times.
 *
 * A change that resets all times is not detected. Undefined if the digest is not reliable yet, because a file is gone
 * or has just changed.
 *
 * @param asked other inputs that determine the result of the import
 */
export async function folderState(folder: Folder, asked: readonly unknown[], now: Date): Promise<string | undefined> {
  const { dir, name, files, symlinks, problems, lost, excluded, folders } = folder
  if (lost.length > 0) return undefined
  const hash = createHash('sha256')
  const others = [...symlinks, problems, [...excluded].sort(), [...folders].sort()]
  hash.update(JSON.stringify([revision, dir, name, asked, others]))
  for (const [at, names] of byFolder(files)) {
    const lines = await linesIn(dir, at, names, now)
    if (lines === undefined) return undefined
    hash.update(JSON.stringify([at, names, lines]))
  }
  return hash.digest('base64url')
}

function byFolder(files: readonly string[]): Map<string, string[]> {
  const names = new Map<string, string[]>()
  for (const file of files) {
    const at = posix.dirname(file)
    const known = names.get(at)
    if (known) known.push(posix.basename(file))
    else names.set(at, [posix.basename(file)])
  }
  return names
}

/** Returns a line for each file. Undefined if one is not settled, or the folder was moved. */
async function linesIn(dir: string, at: string, names: readonly string[], now: Date): Promise<string[] | undefined> {
  const read = async (held: string): Promise<string[] | undefined> => {
    const lines: string[] = []
    for (let from = 0; from < names.length; from += atOnce) {
      const some = names.slice(from, from + atOnce)
      for (const line of await Promise.all(some.map((name) => lineOf(join(held, name), now)))) {
        if (line === undefined) return undefined
        lines.push(line)
      }
    }
    return lines
  }
  return ignoreMissing(withHeldFolder(dir, at, read)).catch((error: unknown) => {
    if (error instanceof FolderReplacedError) return undefined
    throw error
  })
}

/** Returns the metadata that changes with a file's content; undefined if it is not settled. */
async function lineOf(path: string, now: Date): Promise<string | undefined> {
  const found = await ignoreMissing(lstat(path, { bigint: true }))
  if (found === undefined) return undefined
  const { ino, size, mtimeNs, ctimeNs } = found
  const isSettled = Number(ctimeNs / 1_000_000n) < now.getTime() - settledMs
  return isSettled ? `${ino} ${size} ${mtimeNs} ${ctimeNs}` : undefined
}
