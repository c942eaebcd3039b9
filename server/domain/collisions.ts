/** Names that some file systems take for the same: refused where one of them is new, borne where both are there already. */
import { foldedCollision } from '../../gitstore/names.ts'
import type { Oid, Repo } from '../../gitstore/repo.ts'
import { findEntry, readTree } from '../../gitstore/trees.ts'

export interface Collision {
  /** In full, of the one that is named second. */
  readonly path: string
  /** Without their folder. */
  readonly names: readonly [string, string]
}

/** Of names on the way to `paths` that `after` has and `before` (null: nothing) has not; one for each folder at most. */
export async function collisionsOf(
  repo: Repo,
  before: Oid | null,
  after: Oid,
  paths: readonly string[],
): Promise<Collision[]> {
  const folders = new Set(paths.flatMap(foldersOf))
  const collisions: Collision[] = []
  for (const folder of folders) {
    const names = await namesIn(repo, after, folder)
    const known = new Set(before === null ? [] : await namesIn(repo, before, folder))
    const pair = foldedCollision(names, new Set(names.filter((name) => !known.has(name))))
    if (pair) collisions.push({ path: folder === '' ? pair[1] : `${folder}/${pair[1]}`, names: pair })
  }
  return collisions
}

async function namesIn(repo: Repo, tree: Oid, folder: string): Promise<string[]> {
  const entry = folder === '' ? { oid: tree, mode: '040000' } : await findEntry(repo, tree, folder)
  return entry?.mode === '040000' ? (await readTree(repo, entry.oid)).map(({ name }) => name) : []
}

/** `a/b/c` → '', `a`, `a/b`. */
function foldersOf(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_, depth) => parts.slice(0, depth).join('/'))
}
