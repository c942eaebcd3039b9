/** Reads files that comments are anchored in, within limits. */
import { isGitError } from '../../../gitstore/errors.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { findEntry, type TreeEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'

/** Limits of a file with anchored lines or values. They are those of blame. */
const maxBytes = 1_048_576
const maxLines = 20_000
/** Git reads a file as binary if these first bytes contain a NUL. Source: Git's buffer_is_binary, xdiff-interface.c. */
const sniffedBytes = 8_000

/** The text of a file, or the reason why it has no lines. Bytes that are not UTF-8 read as U+FFFD. */
export type FileText = { readonly text: string } | { readonly lack: 'binary' | 'too_large' }

/** True for a file with text; false for symbolic links, submodules and folders. */
export function hasText({ mode }: TreeEntry): boolean {
  return mode === '100644' || mode === '100755'
}

/** Finds the file, symbolic link or submodule at the path. @throws the errors of findEntry */
export async function findFile(repo: Repo, tree: Oid, path: string): Promise<TreeEntry | undefined> {
  const entry = await findEntry(repo, tree, path)
  return entry?.mode === '040000' ? undefined : entry
}

/** The same in the tree of an old commit, of which objects may be missing. */
export async function findKept(repo: Repo, tree: Oid, path: string): Promise<TreeEntry | undefined> {
  return unlessMissing(findFile(repo, tree, path))
}

/** Reads the text of a file of an old commit; undefined if it is missing. */
export function readKeptText(repo: Repo, oid: Oid): Promise<FileText | undefined> {
  return unlessMissing(readText(repo, oid))
}

/** Reads the text of a file whose bytes are exactly that text as UTF-8. @throws the errors of readText */
export async function readExactText(repo: Repo, oid: Oid): Promise<FileText | { readonly lack: 'not_utf8' }> {
  const file = await readText(repo, oid)
  if (!('text' in file) || !file.text.includes('\ufffd')) return file
  return Buffer.from(file.text).equals(await readBlob(repo, oid, maxBytes)) ? file : { lack: 'not_utf8' }
}

async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (isGitError(error, 'object_missing')) return undefined
    throw error
  }
}

/** @throws GitError object_missing, and the other errors of readBlob except limit_exceeded */
export async function readText(repo: Repo, oid: Oid): Promise<FileText> {
  const bytes = await readBlob(repo, oid, maxBytes).catch((error: unknown) => {
    if (isGitError(error, 'limit_exceeded')) return undefined
    throw error
  })
  if (!bytes) return { lack: 'too_large' }
  if (bytes.subarray(0, sniffedBytes).includes(0)) return { lack: 'binary' }
  let lines = 1
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) lines++
  return lines > maxLines + 1 ? { lack: 'too_large' } : { text: bytes.toString('utf8') }
}
