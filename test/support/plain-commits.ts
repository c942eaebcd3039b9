/** Writes commits as native Git does, without Git. A commit by Git takes five processes and 31 ms. */

import { readObject, wholeId, writeObject } from './git-files.ts'

/** A file to write, or null to remove one. `oid` names an existing object, or a commit if the mode is 160000. */
export type HandFile =
  | string
  | Buffer
  | null
  | { readonly mode: string; readonly content?: string; readonly oid?: string }

export interface HandCommit {
  /** Files by path, on top of the first parent's tree. */
  readonly files?: Readonly<Record<string, HandFile>>
  readonly parents?: readonly string[]
  readonly message?: string
  /** Seconds since 1970 of author and committer. Default: 1,700,000,000. */
  readonly at?: number
  readonly author?: string
}

export const defaults = { files: {}, parents: [], message: 'By hand', at: 1_700_000_000, author: 'Operator' } as const

export function partsOf(file: NonNullable<HandFile>): {
  readonly mode: string
  readonly content: string | Buffer
  readonly oid?: string
} {
  if (typeof file === 'string' || Buffer.isBuffer(file)) return { mode: '100644', content: file }
  return { ...file, content: file.content ?? '' }
}

/** Writes a commit and returns its id. Undefined if only Git knows how to, or can say why not. */
export function commitPlainly(dir: string, commit: HandCommit): string | undefined {
  const { files, parents, message, at, author }: Required<HandCommit> = { ...defaults, ...commit }
  if (!isPlain(commit)) return undefined
  try {
    const [base] = parents.map((parent) => contentOf(dir, parent, 'commit').toString('latin1', 5, 45))
    const changed = Object.entries(files)
    const tree = base !== undefined && changed.length === 0 ? base : changedTree(dir, base, changed)
    const lines = [
      `tree ${tree}`,
      ...parents.map((parent) => `parent ${parent}`),
      `author ${author} <operator@example.org> ${at} +0000`,
      `committer Operator <operator@example.org> ${at} +0000`,
    ]
    const end = message === '' || message.endsWith('\n') ? '' : '\n'
    return writeObject(dir, 'commit', Buffer.from(`${lines.join('\n')}\n\n${message}${end}`))
  } catch {
    // Something is missing, damaged or unusual. Git knows better, or says why not.
    return undefined
  }
}

const folderMode = '40000'
const modes: readonly string[] = ['100644', '100755', '120000', '160000', folderMode]
const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

/** Git changes or refuses odd names, times, messages, modes and paths. */
function isPlain(commit: HandCommit): boolean {
  const { files, parents, message, at, author }: Required<HandCommit> = { ...defaults, ...commit }
  const isPlainFile = ([path, file]: readonly [string, HandFile]) => {
    const { mode, oid = '' } = file === null ? { mode: '100644' } : partsOf(file)
    return mode !== folderMode && modes.includes(mode) && /^([0-9a-f]{40})?$/.test(oid) && !hasOddName(path)
  }
  return (
    /^[\p{L}\p{N}]+([ -][\p{L}\p{N}]+)*$/u.test(author) &&
    // Git reads fewer digits as a date, and knows no time after 2099.
    Number.isInteger(at) &&
    at >= 100_000_000 &&
    at <= 4_000_000_000 &&
    !/\0|\p{Noncharacter_Code_Point}/u.test(message) &&
    new Set(parents).size === parents.length &&
    parents.every((parent) => wholeId.test(parent)) &&
    Object.entries(files).every(isPlainFile)
  )
}

/** True for names that Git refuses in some or all cases. */
function hasOddName(path: string): boolean {
  return /(^|\/)(\.{0,2}(\/|$)|\.?git)|[\\:\0]/i.test(path)
}

interface Entry {
  readonly mode: string
  readonly oid: string
}

/** Entries and changed folders by name. A name has a character for each byte, so strings sort as Git sorts. */
type Folder = Map<string, Entry | Folder>

function changedTree(dir: string, base: string | undefined, files: readonly (readonly [string, HandFile])[]): string {
  const root = base === undefined ? new Map() : readFolder(dir, base)
  for (const [path, file] of files) {
    const names = Buffer.from(path).toString('latin1').split('/')
    if (file === null) change(dir, root, names)
    else {
      const { mode, content, oid = writeObject(dir, 'blob', Buffer.from(content)) } = partsOf(file)
      change(dir, root, names, { mode, oid })
    }
  }
  return writeFolder(dir, root) ?? writeObject(dir, 'tree', Buffer.alloc(0))
}

/** Sets or removes an entry. A new file replaces a folder of its name, and a new folder a file. */
function change(dir: string, folder: Folder, [name = '', ...rest]: readonly string[], entry?: Entry): void {
  const found = folder.get(name)
  if (rest.length > 0) {
    const isTree = found !== undefined && 'mode' in found && found.mode === folderMode
    const inner = found instanceof Map ? found : isTree ? readFolder(dir, found.oid) : new Map()
    if (entry !== undefined || isTree) folder.set(name, inner)
    change(dir, inner, rest, entry)
  } else if (entry !== undefined) folder.set(name, entry)
  else if (found !== undefined && !(found instanceof Map) && found.mode !== folderMode) folder.delete(name)
}

/** @throws Error the tree is missing, or Git would write it in another way */
function readFolder(dir: string, oid: string): Folder {
  const bytes = contentOf(dir, oid, 'tree')
  const folder: Folder = new Map()
  let last = ''
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0, at)
    const [mode = '', ...words] = bytes.toString('latin1', at, end).split(' ')
    const name = words.join(' ')
    const key = mode === folderMode ? `${name}/` : name
    if (!modes.includes(mode) || hasOddName(name) || key <= last) throw new Error(`${oid} is an unusual tree`)
    folder.set(name, { mode, oid: bytes.toString('hex', end + 1, end + 21) })
    last = key
    at = end + 21
  }
  return folder
}

/** Writes a folder and those within. Undefined if it is empty, because Git keeps no empty folders. */
function writeFolder(dir: string, folder: Folder): string | undefined {
  const entries = [...folder].flatMap(([name, entry]) => {
    const { mode, oid } = entry instanceof Map ? { mode: folderMode, oid: writeFolder(dir, entry) } : entry
    if (oid === undefined || oid === emptyTree) return []
    const head = Buffer.from(`${mode} ${name}\0`, 'latin1')
    return [{ key: mode === folderMode ? `${name}/` : name, bytes: Buffer.concat([head, Buffer.from(oid, 'hex')]) }]
  })
  entries.sort((one, other) => (one.key < other.key ? -1 : 1))
  return entries.length === 0 ? undefined : writeObject(dir, 'tree', Buffer.concat(entries.map(({ bytes }) => bytes)))
}

/** @throws Error the repository has no such object, or it has another type */
function contentOf(dir: string, oid: string, type: string): Buffer {
  const found = readObject(dir, oid)
  if (found?.type !== type) throw new Error(`${dir} has no ${type} ${oid}`)
  return found.content
}
