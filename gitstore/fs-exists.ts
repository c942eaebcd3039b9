/**
 * Checks whether files exist. Only ENOENT and its equivalents mean that a file is missing. Any other fault is thrown.
 */
import { lstatSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { asStorageError, codeOf } from './errors.ts'

/** No such name, a file where a folder should be, and a cycle of links. */
const absent: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ELOOP']

export function isAbsent(error: unknown): boolean {
  return absent.includes(codeOf(error))
}

/** True if the error says that no file has this name. A folder may have it. */
export function isNoFile(error: unknown): boolean {
  return isAbsent(error) || codeOf(error) === 'EISDIR'
}

/** Returns the result of `work` on a file, or undefined if the file is missing. @throws any other error of `work` */
export async function ignoreMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

/** Follows links. Unlike `existsSync`, throws if the file system fails. @throws GitError storage_*, busy */
export function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    if (isAbsent(error)) return false
    throw asStorageError(error)
  }
}

/** True if the name is in use, even by a broken link. @throws system errors other than those of absence */
export function lexists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

/** Returns the names in a folder, or an empty list if the folder is missing. @throws GitError storage_*, busy */
export async function listNames(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (isAbsent(error)) return []
    throw asStorageError(error)
  })
}

/** Returns the folders in a folder, or an empty list if that is missing. @throws GitError storage_*, busy */
export async function listFolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isAbsent(error)) return []
    throw asStorageError(error)
  })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}
