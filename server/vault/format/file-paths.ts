/** The files that a text shows: their paths in the node's repository, and in the vault that they come from. */
import { posix } from 'node:path'
import { isReserved } from '../../domain/format/paths.ts'
import { filePath, isVaultPath } from './file-names.ts'
import { decoded } from './links.ts'
import type { Link } from './prose.ts'

/** Where a file lies that the text does not name by a path within the repository, by its path in the vault. */
export const attachments = 'attachments/'

/**
 * The path that a link names, read from content.md: a clone then shows the file. Undefined where it climbs out of the
 * repository, leads to what the format has a meaning for, or is a wiki link, which names no path.
 */
export function namedPath({ target, form }: Link): string | undefined {
  if (form === 'wikilink') return undefined
  const path = posix.normalize(decoded(target).replaceAll('\\', '/')).replace(/^\//, '')
  const isBelow = path !== '' && path !== '.' && path !== '..' && !path.startsWith('../') && !path.endsWith('/')
  return isBelow && !isReserved(path) ? path : undefined
}

/**
 * The property in which an import keeps where files of the repository lay in the vault, by their paths in the repository:
 * those that `placeBeside` does not lead to.
 */
export const sourceFilesKey = 'source_files'

/** What a node's property of that name says. */
export function sourceFilesIn(properties: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const { [sourceFilesKey]: files } = properties
  if (typeof files !== 'object' || files === null || Array.isArray(files)) return none
  return new Map(Object.entries(files).filter((entry) => typeof entry[1] === 'string' && isVaultPath(entry[1])))
}

const none: ReadonlyMap<string, string> = new Map()

/**
 * Where a file of a node lies in a folder: beside the note, where the links of its text lead; but what an import kept of
 * elsewhere in a vault, below `attachments/`, lies there again, unless the text names that folder.
 *
 * @param note the path of the note
 * @param path of the file in the node's repository
 */
export function placeBeside(note: string, path: string, text: string): string {
  const isFromVault = path.startsWith(attachments) && !text.includes(path) && !text.includes(encodeURI(path))
  return isFromVault ? filePath(path.slice(attachments.length)) : posix.join(posix.dirname(note), filePath(path))
}
