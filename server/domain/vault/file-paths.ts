/** Where a node's repository keeps the files that its text shows: at the path that the text names, else below a folder. */
import { posix } from 'node:path'
import { isReserved } from '../format/paths.ts'
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
