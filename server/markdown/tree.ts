/** The tree of nodes: which file becomes which folder's node, and the parent of each. */
import { posix } from 'node:path'
import { folded, isMarkdown, markdownEndings, withoutEnding } from './note-names.ts'

export interface Place {
  /** Of the place: the path without its Markdown ending, a folder's for the file that stands for it; no two have the same. */
  readonly key: string
  /** The Markdown file that becomes this node; undefined: a folder that has none for itself. */
  readonly file: string | undefined
  /** The folder that this node stands for ('.': the whole). */
  readonly folder: string | undefined
  readonly parent: Place | undefined
}

export interface Tree {
  /** Parents before children. */
  readonly places: readonly Place[]
  readonly byFile: ReadonlyMap<string, Place>
  readonly byFolder: ReadonlyMap<string, Place>
}

/**
 * A place for each file of `markdown`, and one for each folder that holds any at any depth, or has a note of its name.
 * Adding an index to a folder, or a folder to a note of the same name, keeps the key.
 */
export function growTree(markdown: readonly string[], others: readonly string[]): Tree {
  const inhabited = new Set(foldersOf(markdown))
  const spelling = new Map(markdown.toReversed().map((file) => [folded(file), file]))
  const byFile = new Map<string, Place>()
  const byFolder = new Map<string, Place>()
  const keys = new Set<string>()
  for (const folder of foldersOf([...markdown, ...others])) {
    const found = indexesOf(folder).map((name) => spelling.get(folded(name)))
    const file = found.find((name) => name !== undefined && !byFile.has(name))
    if (file !== undefined || inhabited.has(folder)) add(folder, file, folder)
  }
  for (const file of markdown) if (!byFile.has(file)) add(withoutEnding(file), file, undefined)
  return { places: [...new Set([...byFolder.values(), ...byFile.values()])], byFile, byFolder }

  function add(path: string, file: string | undefined, folder: string | undefined): void {
    let key = path.normalize('NFC')
    if (keys.has(key)) key = file ?? path
    while (keys.has(key)) key += '/'
    keys.add(key)
    const parent = path === '.' ? undefined : byFolder.get(posix.dirname(path))
    const place: Place = { key, file, folder, parent }
    if (file !== undefined) byFile.set(file, place)
    if (folder !== undefined) byFolder.set(folder, place)
  }
}

/** The path from which a place comes: its file's, else its folder's. */
export function pathOf({ file, folder }: Place): string {
  return file ?? folder ?? '.'
}

/** The keys that a place of this path may have: its own, or that of a folder for which the file may stand. */
export function keysOf(path: string): string[] {
  if (!isMarkdown(path)) return [path]
  const [name, folder] = [withoutEnding(path), posix.dirname(path)]
  const isNamesake = folded(posix.basename(name)) === folded(posix.basename(folder))
  return isIndex(path) || isNamesake ? [folder, name] : [name]
}

const indexNames = ['index', '_index', 'readme']

/** The files that may stand for a folder, best first: an index in it, a note of its name in it or beside it. */
function indexesOf(folder: string): string[] {
  const names = indexNames.map((name) => posix.join(folder, name))
  if (folder !== '.') names.push(posix.join(folder, posix.basename(folder)), folder)
  return names.flatMap((name) => markdownEndings.map((ending) => name + ending))
}

/** Whether a file stands for its folder by its own name, which then says nothing. */
export function isIndex(file: string): boolean {
  return indexNames.includes(withoutEnding(posix.basename(file)).toLowerCase())
}

/** Every folder above one of `paths`, outer before inner; '.' always. */
function foldersOf(paths: readonly string[]): string[] {
  const folders = new Set<string>()
  for (const path of paths)
    for (let at = posix.dirname(path); at !== '.' && !folders.has(at); at = posix.dirname(at)) folders.add(at)
  return ['.', ...[...folders].sort()]
}
