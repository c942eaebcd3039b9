/** Whether files are there. Only ENOENT, and what means the same, says that they are not: a fault says nothing. */
import { lstatSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { asStorageFault, codeOf } from './errors.ts'

/** No such name; a file where a folder would have to be; links that lead nowhere. */
const absent: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ELOOP']

export function isAbsent(error: unknown): boolean {
  return absent.includes(codeOf(error))
}

/** Follows links. `existsSync` answers false also where a file cannot be looked at. @throws GitError storage_*, busy */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    if (isAbsent(error)) return false
    throw asStorageFault(error)
  }
}

/** Whether the name is taken, also by a link that leads nowhere. @throws system errors other than those of absence */
export function isTaken(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

/** The names in a folder, none where there is no such folder. @throws GitError storage_*, busy */
export async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (isAbsent(error)) return []
    throw asStorageFault(error)
  })
}
