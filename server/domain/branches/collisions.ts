/** Names that are equal on case-insensitive file systems: refused if one of them is new, kept if both exist already. */
import { foldedCollision } from '../../../gitstore/names.ts'
import { readTree, type TreeEntry } from '../../../gitstore/objects/trees.ts'
import { entriesPerTurn, newPace, type Pace } from '../../../gitstore/pace.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'

export interface Collision {
  /** The full path of the second name. */
  readonly path: string
  /** Without their folder. */
  readonly names: readonly [string, string]
}

/** Folders by name. */
interface Folders extends Map<string, Folders> {}

/**
 * Collisions of names along `paths` that are in `after` but not in `before` (null: nothing); at most one per folder. Reads
 * each folder once.
 */
export async function collisionsOf(
  repo: Repo,
  before: Oid | null,
  after: Oid,
  paths: readonly string[],
): Promise<Collision[]> {
  if (paths.length === 0) return []
  const collisions: Collision[] = []
  const pace = newPace()
  await visit(await foldersOf(paths, pace), '', before, after)
  return collisions

  async function visit(below: Folders, prefix: string, before: Oid | null, after: Oid): Promise<void> {
    const entries = await readTree(repo, after, pace)
    const known = new Map((before === null ? [] : await readTree(repo, before, pace)).map((one) => [one.name, one]))
    const fresh = new Set(entries.filter(({ name }) => !known.has(name)).map(({ name }) => name))
    const pair = fresh.size === 0 ? undefined : await collisionIn(entries, fresh, pace)
    if (pair) collisions.push({ path: prefix + pair[1], names: pair })
    if (below.size === 0) return
    for (const { name, mode, oid } of entries) {
      const folders = mode === '040000' ? below.get(name) : undefined
      if (!folders) continue
      const old = known.get(name)
      await visit(folders, `${prefix}${name}/`, old?.mode === '040000' ? old.oid : null, oid)
      if (pace.isDue(1)) await pace.turn()
    }
  }
}

async function collisionIn(entries: readonly TreeEntry[], fresh: ReadonlySet<string>, pace: Pace) {
  const taken = new Map<string, string>()
  for (let at = 0; at < entries.length; at += entriesPerTurn) {
    const names = entries.slice(at, at + entriesPerTurn).map(({ name }) => name)
    const pair = foldedCollision(names, fresh, taken)
    if (pair) return pair
    if (pace.isDue(names.length)) await pace.turn()
  }
  return undefined
}

/** Names along `paths`. */
async function foldersOf(paths: readonly string[], pace: Pace): Promise<Folders> {
  const root: Folders = new Map()
  for (const path of paths) {
    let folders = root
    for (const name of path.split('/').slice(0, -1)) {
      const below: Folders = folders.get(name) ?? new Map()
      folders.set(name, below)
      folders = below
    }
    if (pace.isDue(1)) await pace.turn()
  }
  return root
}
