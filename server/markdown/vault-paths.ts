/** Names and paths that every file system accepts, in a vault and in a repository. */
import { posix } from 'node:path'
import { pathProblem } from '../../gitstore/names.ts'
import { isReserved } from '../domain/format/paths.ts'
import { decoded } from './link-resolver.ts'
import type { Link } from './markdown-facts.ts'
import { isMarkdown } from './note-names.ts'

/** Largest name made from a title, in bytes. With an id and an ending it stays below 255. */
const maxTitleBytes = 180
/** Largest name in a repository that is kept unchanged, in bytes. */
const maxNameBytes = 240

/** Device names of Windows, also with an ending. Source: Naming Files, Paths, and Namespaces (Microsoft). */
const device = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i
/** Names that an import treats as the note of a folder, or skips. */
const meaningful = /^(_?index|readme|node_modules)$/i

/** Returns a file name without an ending for a note with this title. It may not be unique. */
export function noteName(title: string): string {
  const plain = title
    .normalize('NFC')
    // Windows and Obsidian refuse these in names, and links cannot hold the last four.
    .replace(/[\p{Cc}\p{Cs}/\\:*?"<>|#^[\]]+/gu, ' ')
    .replace(/\s+/g, ' ')
  const name = cut(plain.replace(/^[. ]+/, ''), maxTitleBytes).replace(/[. ]+$/, '')
  return name === '' ? 'Untitled' : name.replace(device, '$1_$2').replace(meaningful, '$&_')
}

/** Changes a repository path so that an import does not skip the file. Acceptable paths stay the same. */
export function filePath(path: string): string {
  return path.split('/').map(fileName).join('/')
}

function fileName(name: string): string {
  const safe = name.replace(/[<>:"|?*]/g, '_').replace(/[. ]+$/, (end) => '_'.repeat(end.length))
  const isLeftOut = safe.startsWith('.') || safe === 'node_modules' || device.test(safe)
  const kept = isLeftOut ? `_${safe}` : safe
  if (Buffer.byteLength(kept) <= maxNameBytes) return kept
  const ending = /\.[a-z0-9]{1,10}$/i.exec(kept)?.[0] ?? ''
  return cut(kept, maxNameBytes - ending.length) + ending
}

/** Returns the note or folder index for a `source_path`. Undefined if an import cannot have written the path. */
export function fileOfSource(source: string): string | undefined {
  if (source === '.') return 'index.md'
  const file = isMarkdown(source) ? source : `${source}/index.md`
  return isVaultPath(file) ? file : undefined
}

/** True if an import may have found this path, and an export may write it. */
function isVaultPath(path: string): boolean {
  const isTaken = path
    .split('/')
    .every((name) => !name.startsWith('.') && name !== 'node_modules' && !device.test(name))
  return isTaken && !path.includes('\\') && pathProblem(path) === undefined
}

/** Cuts a text to at most `maxBytes` bytes, at a whole character. */
function cut(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  let bytes = 0
  let kept = ''
  for (const letter of text) {
    bytes += Buffer.byteLength(letter)
    if (bytes > maxBytes) break
    kept += letter
  }
  return kept
}

/** The folder in a repository for vault files that the text does not name. */
export const attachments = 'attachments/'

/**
 * Returns the path that a link names, relative to content.md. The link then also works in a clone.
 *
 * Undefined if the path leaves the repository or is reserved by the format, or for a wiki link, which does not name a
 * path.
 */
export function namedPath({ target, form }: Link): string | undefined {
  if (form === 'wikilink') return undefined
  const path = posix.normalize(decoded(target).replaceAll('\\', '/')).replace(/^\//, '')
  const isBelow = path !== '' && path !== '.' && path !== '..' && !path.startsWith('../') && !path.endsWith('/')
  return isBelow && !isReserved(path) ? path : undefined
}

/** The property with vault paths that `placeBeside` does not derive, by repository path. */
export const sourceFilesKey = 'source_files'

/** Reads the property `source_files` of a node. */
export function sourceFilesIn(properties: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const { [sourceFilesKey]: files } = properties
  if (typeof files !== 'object' || files === null || Array.isArray(files)) return none
  return new Map(Object.entries(files).filter((entry) => typeof entry[1] === 'string' && isVaultPath(entry[1])))
}

const none: ReadonlyMap<string, string> = new Map()

/**
 * Returns the path of a node's file in an exported folder. It is next to the note, as the links of its text expect.
 *
 * An import keeps files from elsewhere in the vault below `attachments/`. They return to their old paths, unless the
 * text names that folder.
 *
 * @param note the path of the note
 * @param path the path of the file in the node's repository
 */
export function placeBeside(note: string, path: string, text: string): string {
  const isFromVault = path.startsWith(attachments) && !text.includes(path) && !text.includes(encodeURI(path))
  return isFromVault ? filePath(path.slice(attachments.length)) : posix.join(posix.dirname(note), filePath(path))
}
