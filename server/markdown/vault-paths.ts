/** Names and paths of files: such that any file system takes them, in a vault, and in the repository of a node. */
import { posix } from 'node:path'
import { pathProblem } from '../../gitstore/names.ts'
import { isReserved } from '../domain/format/paths.ts'
import { decoded } from './link-resolver.ts'
import type { Link } from './markdown-facts.ts'
import { isMarkdown } from './note-names.ts'

/** Bytes of a name made from a title; with an id and an ending it stays below 255. */
const maxTitleBytes = 180
/** Bytes of a name in a repository that is kept as it is. */
const maxNameBytes = 240

/** Devices to Windows, whatever follows a dot. Source: Naming Files, Paths, and Namespaces (Microsoft). */
const device = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)/i
/** What an import takes for the note of a folder, or leaves out. */
const meaningful = /^(_?index|readme|node_modules)$/i

/** A name without ending for a note with this title. Not unique. */
export function noteName(title: string): string {
  const plain = title
    .normalize('NFC')
    // Windows and Obsidian refuse these in names, and links cannot hold the last four.
    .replace(/[\p{Cc}\p{Cs}/\\:*?"<>|#^[\]]+/gu, ' ')
    .replace(/\s+/g, ' ')
  const name = cut(plain.replace(/^[. ]+/, ''), maxTitleBytes).replace(/[. ]+$/, '')
  return name === '' ? 'Untitled' : name.replace(device, '$1_$2').replace(meaningful, '$&_')
}

/** A path of a repository's file as one that an import does not leave out: the same where nothing is wrong with it. */
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

/** The file that a `source_path` means: a note, or the index of a folder; undefined where it is no path that an import gives. */
export function fileOfSource(source: string): string | undefined {
  if (source === '.') return 'index.md'
  const file = isMarkdown(source) ? source : `${source}/index.md`
  return isVaultPath(file) ? file : undefined
}

/** Whether an import may have found a file at the path, and an export may put it there again. */
function isVaultPath(path: string): boolean {
  const isTaken = path
    .split('/')
    .every((name) => !name.startsWith('.') && name !== 'node_modules' && !device.test(name))
  return isTaken && !path.includes('\\') && pathProblem(path) === undefined
}

/** The longest beginning of at most so many bytes, of whole characters. */
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
