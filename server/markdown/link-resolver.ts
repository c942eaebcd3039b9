/** Resolves links: by path as GitHub and docs sites do, by name as Obsidian does. */
import { posix } from 'node:path'
import { decodePercent } from '../base/percent-encoding.ts'
import type { Link } from './markdown-facts.ts'
import { folded, markdownEndings, withoutEnding } from './note-names.ts'
import { isIndex, type Tree } from './tree.ts'

/** Returns the path of a file, or of a folder with a place. Undefined if the link has no target in the folder. */
export type Resolve = (from: string, link: Link) => string | undefined

export interface Aliases {
  /** Symbolic links, and their target files. */
  readonly paths: ReadonlyMap<string, string>
  /** The aliases in front matter, folded, and the files that have them. */
  readonly names: ReadonlyMap<string, readonly string[]>
}

/** @param base the prefix of the site's root-relative paths, such as `/en/` */
export function linkResolver(tree: Tree, files: readonly string[], aliases: Aliases, base = '/'): Resolve {
  const folders = [...tree.byFolder.keys()]
  const paths = new Map([...folders, ...files].map((path) => [path, path]))
  for (const [alias, file] of aliases.paths) paths.set(alias, file)
  const spellings = new Map([...paths.keys()].toReversed().map((path) => [folded(path), path]))
  const filesNamed = namesOf([...files, ...aliases.paths.keys()])
  const foldersNamed = namesOf(folders)
  const known = new Map<string, string | undefined>()

  return (from, { target, form }) => {
    if (form === 'wikilink') return byName(from, target)
    const path = decoded(target).replaceAll('\\', '/')
    const found = byPath(from, path)
    if (found !== undefined || /^[./]/.test(path)) return found
    const [only, ...others] = filesNamed(path)
    return at(path) ?? (only !== undefined && others.length === 0 ? paths.get(only) : undefined)
  }

  /** Resolves a path from the file's folder, else from the page. Some sites give each page a folder. */
  function byPath(from: string, path: string): string | undefined {
    if (path.startsWith(base)) return at(path.slice(base.length)) ?? at(path.slice(1))
    if (path.startsWith('/')) return at(path.slice(1))
    const page = tree.byFile.get(from)?.folder ?? withoutEnding(from)
    return at(posix.join(posix.dirname(from), path)) ?? at(posix.join(page, path))
  }

  function at(path: string): string | undefined {
    const plain = posix.normalize(path).replace(/(?<=.)\/$/, '')
    const stem = plain.replace(/\.html?$/i, '')
    const name = withoutEnding(stem)
    const names = [plain, ...markdownEndings.map((ending) => name + ending)]
    if (stem !== plain && isIndex(stem)) names.push(posix.dirname(stem))
    for (const path of names) {
      const found = paths.get(path) ?? paths.get(spellings.get(folded(path)) ?? '')
      if (found !== undefined) return found
    }
    return undefined
  }

  function byName(from: string, target: string): string | undefined {
    if (/^(\.\.?)?\//.test(target)) return byPath(from, target)
    const folder = posix.dirname(from)
    const key = `${folder}\0${target}`
    if (!known.has(key)) known.set(key, named(folder, target))
    return known.get(key)
  }

  function named(folder: string, target: string): string | undefined {
    const exact = at(target)
    if (exact !== undefined && !tree.byFolder.has(exact)) return exact
    const path =
      nearest(folder, target, filesNamed(target)) ??
      nearest(folder, target, aliases.names.get(folded(target)) ?? []) ??
      exact ??
      nearest(folder, target, foldersNamed(target))
    return path === undefined ? undefined : paths.get(path)
  }
}

/** Decodes percent-encoding. A stray % stays a %. */
export function decoded(target: string): string {
  return decodePercent(target) ?? target
}

/** Finds the paths that end in a name, by whole path segments. The name may omit a Markdown ending. */
export function namesOf(paths: readonly string[]): (name: string) => readonly string[] {
  const byName = new Map<string, string[]>()
  for (const path of paths) {
    const name = folded(posix.basename(path))
    for (const key of new Set([name, withoutEnding(name)])) {
      const found = byName.get(key)
      if (found) found.push(path)
      else byName.set(key, [path])
    }
  }
  return (name) => {
    const key = folded(name)
    const found = byName.get(posix.basename(key)) ?? []
    if (!key.includes('/')) return found
    return found.filter(
      (path) => `/${folded(path)}`.endsWith(`/${key}`) || withoutEnding(`/${folded(path)}`).endsWith(`/${key}`),
    )
  }
}

/**
 * Chooses among several paths as Obsidian does.
 *
 * A file in the linking file's folder wins, then the shortest path (observed on 1.13.7:
 * pvliesdonk/markdown-vault-mcp#1380). Ties go to the nearest, then to the same spelling, then to the first.
 */
function nearest(folder: string, name: string, paths: readonly string[]): string | undefined {
  let best: { readonly path: string; readonly rank: readonly number[] } | undefined
  for (const path of paths) {
    const rank = [
      posix.dirname(path) === folder ? 0 : 1,
      path.length,
      distance(folder, posix.dirname(path)),
      path.includes(posix.basename(name)) ? 0 : 1,
    ]
    if (!best || isLess(rank, best.rank)) best = { path, rank }
  }
  return best?.path
}

function isLess(left: readonly number[], right: readonly number[]): boolean {
  const at = left.findIndex((value, index) => value !== right[index])
  return at >= 0 && (left[at] ?? 0) < (right[at] ?? 0)
}

/** Counts the steps up from one folder and down to the other. */
function distance(from: string, to: string): number {
  const up = from === '.' ? [] : from.split('/')
  const down = to === '.' ? [] : to.split('/')
  let shared = 0
  while (shared < up.length && up[shared] === down[shared]) shared++
  return up.length + down.length - 2 * shared
}

/** Reads aliases from the properties `aliases` and `alias`. Each is a list, or names separated by commas. */
export function aliasesIn(values: readonly unknown[]): string[] {
  return values.flatMap((value) => {
    const items = typeof value === 'string' ? value.split(',') : value
    return Array.isArray(items) ? items.filter((item) => typeof item === 'string').map((item) => item.trim()) : []
  })
}
