/** The tree of nodes: the file that becomes each folder's node, and each node's parent. */
import { posix } from 'node:path'
import { folded, isMarkdown, markdownEndings, withoutEnding } from './note-names.ts'

export interface Place {
  /** The unique key: the path without its Markdown ending. An index file has the path of its folder. */
  readonly key: string
  /** The Markdown file that becomes this node; undefined for a folder without its own file. */
  readonly file: string | undefined
  /** The folder that this node represents ('.' is the whole vault). */
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
 * Creates a place for each Markdown file, and for folders.
 *
 * A folder has a place if it contains a Markdown file at any depth, or has a note of its name. A place keeps its key
 * when a folder gets an index, or a note gets a folder of the same name.
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

/** Returns the path of a place: its file's, else its folder's. */
export function pathOf({ file, folder }: Place): string {
  return file ?? folder ?? '.'
}

/** Returns the possible keys of a path. One is its own, another that of the folder it may represent. */
export function keysOf(path: string): string[] {
  if (!isMarkdown(path)) return [path]
  const [name, folder] = [withoutEnding(path), posix.dirname(path)]
  const isNamesake = folded(posix.basename(name)) === folded(posix.basename(folder))
  return isIndex(path) || isNamesake ? [folder, name] : [name]
}

const indexNames = ['index', '_index', 'readme']

/** Returns the files that may represent a folder, best first. An index, or a namesake in or next to it. */
function indexesOf(folder: string): string[] {
  const names = indexNames.map((name) => posix.join(folder, name))
  if (folder !== '.') names.push(posix.join(folder, posix.basename(folder)), folder)
  return names.flatMap((name) => markdownEndings.map((ending) => name + ending))
}

/** True if a file is an index, whose name says nothing about its content. */
export function isIndex(file: string): boolean {
  return indexNames.includes(withoutEnding(posix.basename(file)).toLowerCase())
}

/** Returns every folder above the paths, outer before inner, and always '.'. */
function foldersOf(paths: readonly string[]): string[] {
  const folders = new Set<string>()
  for (const path of paths)
    for (let at = posix.dirname(path); at !== '.' && !folders.has(at); at = posix.dirname(at)) folders.add(at)
  return ['.', ...[...folders].sort()]
}
