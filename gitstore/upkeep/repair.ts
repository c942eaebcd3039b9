/** Repairs files that a power cut, or native Git on a full disk, left empty. */
import { linkSync, readFileSync, renameSync, statSync, unlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { replaceFile, syncDirectory } from '../durable.ts'
import { codeOf } from '../errors.ts'
import { exists, isNoFile } from '../fs-exists.ts'
import { type RefName, withRefLock } from '../refs/ref-transaction.ts'
import type { Oid, Repo } from '../repo.ts'
import { config, head } from '../repo-folders.ts'
import type { Store } from '../store.ts'
import { temporaryObject } from '../temporary-names.ts'
import { createYielder } from '../yielder.ts'
import { entriesOf } from './stale-files.ts'

/** The cost of checking a file, in entries that are in memory. */
const fileCost = 10

/**
 * Removes empty loose objects and returns their ids. No writer leaves an empty object under its final name, and an
 * empty object hides the same object in a pack. An object without another copy is then reported as missing.
 */
export async function removeEmptyObjects({ dir }: Repo): Promise<Oid[]> {
  const removed: Oid[] = []
  const pace = createYielder()
  for (const fanOut of entriesOf(join(dir, 'objects'))) {
    if (!/^[0-9a-f]{2}$/.test(fanOut.name)) continue
    const before = removed.length
    for (const { name, path } of entriesOf(fanOut.path)) {
      if (pace.shouldYield(fileCost)) await pace.yieldToEventLoop()
      if (/^[0-9a-f]{38}$/.test(name) && sizeOf(path) === 0 && removeEmpty(path)) removed.push(fanOut.name + name)
    }
    if (removed.length > before) await syncDirectory(fanOut.path)
  }
  return removed
}

/** Moves the file away before it checks again. A writer may just have written the complete object. */
function removeEmpty(path: string): boolean {
  const aside = join(dirname(path), temporaryObject())
  try {
    renameSync(path, aside)
    const isEmpty = sizeOf(aside) === 0
    if (!isEmpty && !exists(path)) linkSync(aside, path)
    unlinkSync(aside)
    return isEmpty
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size
}

/**
 * Lists the full names of loose refs that are empty or hold only zeros. Blocks that were never written read as zeros.
 */
export async function listEmptyRefs(repo: Repo): Promise<string[]> {
  const found: string[] = []
  const pace = createYielder()
  const look = async (folder: string): Promise<void> => {
    for (const { name, path, isFolder } of entriesOf(folder)) {
      if (pace.shouldYield(fileCost)) await pace.yieldToEventLoop()
      if (isFolder) await look(path)
      else if (!name.startsWith('.') && !name.endsWith('.lock') && isBlank(path)) found.push(relative(repo.dir, path))
    }
  }
  await look(join(repo.dir, 'refs'))
  return found
}

/**
 * Sets an empty ref to `oid`, under its lock and durably. False if the ref is no longer empty.
 *
 * @throws GitError busy, repo_missing, storage_*
 */
export async function restoreRef(store: Store, name: RefName, oid: Oid): Promise<boolean> {
  const path = join(name.repo.dir, name.ref)
  return withRefLock(store, name, '', async () => {
    if (!isBlank(path)) return false
    await replaceFile(path, `${oid}\n`)
    return true
  })
}

/** The files of every repository. Each must match `form`, even after an operator's changes. */
const requiredFiles = [
  { name: 'HEAD', text: head, form: /^(ref: refs\/\S+|[0-9a-f]{40})\s*$/ },
  { name: 'config', text: config, form: /^\s*repositoryformatversion\s*=\s*\d/m },
] as const

/** Rewrites missing or damaged HEAD and config files, which are the same in every repository. Returns the names. */
export async function restoreHeadAndConfig({ dir }: Repo): Promise<string[]> {
  const restored: string[] = []
  for (const { name, text, form } of requiredFiles) {
    if (form.test(readText(join(dir, name)) ?? '')) continue
    await replaceFile(join(dir, name), text)
    restored.push(name)
  }
  return restored
}

/** Returns false if there is no such file. */
function isBlank(path: string): boolean {
  return /^[\0\s]*$/.test(readText(path) ?? 'nothing')
}

/** Returns undefined if there is no such file. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    if (isNoFile(error)) return undefined
    throw error
  }
}
