/** Lists the packs of a repository and chooses those to merge. */

import { readdir, stat } from 'node:fs/promises'
import { ifThere } from '../presence.ts'
import type { Repo } from '../repo.ts'

export interface Pack {
  /** `pack-<hash>`. */
  readonly name: string
  /** Bytes of the `.pack` file. */
  readonly bytes: number
}

/** Bytes of a merged pack; a larger pack stays as it is. */
export const maxPackBytes = 512 * 1024 * 1024

/** Suffixes of files that mark a pack as kept, partial, or cruft. */
const keepSuffixes = ['.keep', '.promisor', '.mtimes']

/** The packs that maintenance may replace; none where an operator's index spans several packs. */
export async function listPacks(repo: Repo): Promise<Pack[]> {
  const folder = `${repo.dir}/objects/pack`
  const names = new Set(await ifThere(readdir(folder)))
  if (names.has('multi-pack-index')) return []
  const whole = [...names].flatMap((name) => (/^pack-[0-9a-f]{40}\.idx$/.test(name) ? [name.slice(0, -4)] : []))
  const free = whole.filter((name) => !keepSuffixes.some((mark) => names.has(name + mark)))
  const packs = await Promise.all(
    free.map(async (name) => {
      const pack = await ifThere(stat(`${folder}/${name}.pack`))
      return pack === undefined ? [] : [{ name, bytes: pack.size }]
    }),
  )
  return packs.flat()
}

/**
 * The smallest packs, as many as needed for each remaining one to be twice as large as all smaller ones together. Every object
 * is then rewritten about as often as the repository doubles in size. Source: `git repack --geometric=2`.
 */
export function packsToMerge(packs: readonly Pack[]): Pack[] {
  const sorted = [...packs].sort((a, b) => a.bytes - b.bytes)
  let sum = 0
  let count = 0
  let fitting = 0
  for (const [at, { bytes }] of sorted.entries()) {
    if (at > 0 && bytes < 2 * sum) count = at + 1
    sum += bytes
    if (sum <= maxPackBytes) fitting = at + 1
  }
  const merged = Math.min(count, fitting)
  return merged < 2 ? [] : sorted.slice(0, merged)
}
