/** Creates the folder that `DATA_DIR` names if it is missing; explains why it cannot be used. */
import { stat } from 'node:fs/promises'
import { makeFolder } from '../gitstore/durable.ts'
import { codeOf } from '../gitstore/errors.ts'
import { ConfigError } from './config.ts'
import { runFolder } from './domain/layout.ts'

/** @throws ConfigError: it cannot be created, is not a folder, or is not writable */
export async function makeDataFolder(root: string): Promise<void> {
  for (const path of [root, runFolder(root)]) {
    try {
      await makeFolder(path)
      if (!(await stat(path)).isDirectory()) throw new ConfigError(`DATA_DIR: ${path} is not a folder`)
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined
      const reason = reasonOf(codeOf(cause ?? error))
      throw reason === undefined ? error : new ConfigError(`DATA_DIR: ${path} ${reason}`)
    }
  }
}

function reasonOf(code: unknown): string | undefined {
  if (code === 'EEXIST' || code === 'ENOTDIR') return 'is not a folder, or lies below a file'
  if (code === 'ENOENT') return 'cannot be made: something on the way is missing, or a symbolic link leads nowhere'
  if (code === 'ELOOP') return 'cannot be made: symbolic links on the way lead in a circle'
  if (code === 'EACCES' || code === 'EPERM') return 'cannot be made or read: this user may not'
  if (code === 'EROFS') return 'cannot be made: the file system is read-only'
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'cannot be made: the disk is full'
  if (code === 'EIO') return 'cannot be made: the file system failed'
  return undefined
}
