/** Files by their names alone, and which of several a name means. */
import { posix } from 'node:path'
import { folded, withoutEnding } from './note-names.ts'

/** Finds those of `paths` that end in the name, whole parts of it at a time; Markdown's ending may be left out. */
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
 * Obsidian's choice: the one in the linking file's own folder, then the shortest path (observed on 1.13.7:
 * pvliesdonk/markdown-vault-mcp#1380). Among equals the nearest, then the one spelled alike, then the first.
 */
export function nearest(folder: string, name: string, paths: readonly string[]): string | undefined {
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

/** Steps up from one folder and down to the other. */
function distance(from: string, to: string): number {
  const up = from === '.' ? [] : from.split('/')
  const down = to === '.' ? [] : to.split('/')
  let shared = 0
  while (shared < up.length && up[shared] === down[shared]) shared++
  return up.length + down.length - 2 * shared
}

/** The other names of a note: of the values of its properties `aliases` and `alias`, a list or names between commas. */
export function aliasesIn(values: readonly unknown[]): string[] {
  return values.flatMap((value) => {
    const items = typeof value === 'string' ? value.split(',') : value
    return Array.isArray(items) ? items.filter((item) => typeof item === 'string').map((item) => item.trim()) : []
  })
}
