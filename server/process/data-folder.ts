/** Creates the data folder if it is missing, or explains why it cannot be used. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, replaceFile } from '../../gitstore/durable.ts'
import { codeOf } from '../../gitstore/errors.ts'
import { ignoreMissing } from '../../gitstore/fs-exists.ts'
import { type Config, ConfigError } from '../base/config.ts'
import { cellFile, runFolder } from '../domain/layout.ts'

/** Ends the reasons why the folder cannot be used. */
export const nextStep = 'set DATA_DIR to a folder that the user of the service can create and write'

/** @throws ConfigError: it cannot be created, is not a folder, or is not writable */
export async function makeDataFolder(root: string): Promise<void> {
  for (const path of [root, runFolder(root)]) await makeOwnFolder(path)
}

/** Creates a folder that no other user may enter. @throws ConfigError as makeDataFolder */
export async function makeOwnFolder(path: string): Promise<void> {
  try {
    // The umask may make the repositories in it readable.
    await makeFolder(path, 0o700)
    if (!(await stat(path)).isDirectory()) throw new ConfigError(`DATA_DIR: ${path} is not a folder; ${nextStep}`)
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    const reason = reasonOf(codeOf(cause ?? error))
    throw reason === undefined ? error : new ConfigError(`DATA_DIR: ${path} ${reason}; ${nextStep}`)
  }
}

/** Writes the cell's name to the folder at the first start with `CELL`. @throws ConfigError if it has another name */
export async function rememberCell({ dataDir, cell }: Config): Promise<void> {
  const file = join(dataDir, cellFile)
  const known = (await ignoreMissing(readFile(file, 'utf8')))?.trim()
  const own = cell?.name
  if (known === own) return
  if (known !== undefined)
    throw new ConfigError(`CELL is ${own ?? 'unset'}, but ${dataDir} belongs to the cell ${known}`)
  await replaceFile(file, `${own}\n`)
}

function reasonOf(code: unknown): string | undefined {
  if (code === 'EEXIST' || code === 'ENOTDIR') return 'is not a folder, or is below a file'
  if (code === 'ENOENT') return 'cannot be created: a folder above it is missing, or a symbolic link is broken'
  if (code === 'ELOOP') return 'cannot be created: symbolic links in its path form a cycle'
  if (code === 'EACCES' || code === 'EPERM') return 'cannot be created or read: permission denied'
  if (code === 'EROFS') return 'cannot be created: the file system is read-only'
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'cannot be created: the disk is full'
  if (code === 'EIO') return 'cannot be created: the file system failed'
  return undefined
}
