/** Detects changes of a file or folder from its stat. */
import { type BigIntStats, statSync } from 'node:fs'
import { isNoFile } from '../fs-exists.ts'

/**
 * Milliseconds in which two changes may get the same time. The unit is a tick of the kernel, or whole seconds (two on
 * FAT).
 */
const tickMs = 100
const wholeSecondsMs = 2_500

/**
 * The identity of a file or folder, or '' if the path does not exist. It changes with every change of a file, and of a
 * folder with every name in it.
 */
export function identityOf(path: string): string {
  const stat = statOf(path)
  // The time of the last change of content comes last, because tickOf reads its end.
  return stat ? `${stat.ino}:${stat.ctimeNs}:${stat.size}:${stat.mtimeNs}` : ''
}

/** The longest time in ms in which a change may leave these identities equal. */
export function tickOf(identities: readonly string[]): number {
  return identities.some((identity) => /000000000$/.test(identity)) ? wholeSecondsMs : tickMs
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false, bigint: true })
  } catch (error) {
    // ENOTDIR: a file is now in the place of the repository.
    if (isNoFile(error)) return undefined
    throw error
  }
}
