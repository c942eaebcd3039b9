/** Whether a file or folder has changed, by its stat alone. */
import { type BigIntStats, statSync } from 'node:fs'
import { isNoFile } from '../fs-exists.ts'

/** Milliseconds in which two changes may get the same time: a tick of the kernel, or whole seconds (two on FAT). */
const tickMs = 100
const wholeSecondsMs = 2_500

/** Changes with every change of a file, and of a folder with every name in it; empty where there is none. */
export function identityOf(path: string): string {
  const stat = statOf(path)
  // The time of the last change of content comes last: tickOf reads its end.
  return stat ? `${stat.ino}:${stat.ctimeNs}:${stat.size}:${stat.mtimeNs}` : ''
}

/** The longest time in ms in which a change may leave these identities as they are. */
export function tickOf(identities: readonly string[]): number {
  return identities.some((identity) => /000000000$/.test(identity)) ? wholeSecondsMs : tickMs
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false, bigint: true })
  } catch (error) {
    // ENOTDIR: a file has taken the repository's place.
    if (isNoFile(error)) return undefined
    throw error
  }
}
