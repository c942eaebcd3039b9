/** Whether files exist. Only ENOENT and its equivalents mean that a file is missing; any other fault is thrown. */
import { lstatSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { asStorageError, codeOf } from './errors.ts'

/** No such name; a file in place of a folder; a circle of links. */
const absent: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ELOOP']

export function isAbsent(error: unknown): boolean {
  return absent.includes(codeOf(error))
}

/** Whether the error says that no file has this name; a folder may have it. */
export function isNoFile(error: unknown): boolean {
  return isAbsent(error) || codeOf(error) === 'EISDIR'
}

/** The result of `work` on a file; undefined where the file is missing. @throws any other error of `work` */
export async function ignoreMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

/** Follows links. Unlike `existsSync`, throws where the file system fails. @throws GitError storage_*, busy */
export function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    if (isAbsent(error)) return false
    throw asStorageError(error)
  }
}

/** Whether the name is in use, also by a broken link. @throws system errors other than those of absence */
export function lexists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

/** The names in a folder; none where the folder is missing. @throws GitError storage_*, busy */
export async function listNames(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (isAbsent(error)) return []
    throw asStorageError(error)
  })
}
