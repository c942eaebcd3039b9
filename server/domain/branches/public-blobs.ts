/** Which blobs the public may read by their ids: those in the trees of main's head and of tags. */

import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { isGitError } from '../../../gitstore/errors.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { readTree } from '../../../gitstore/objects/trees.ts'
import type { Pace } from '../../../gitstore/pace.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { Refusal } from '../../errors.ts'
import { largeRead } from './large-reads.ts'

/** Different blobs of one node that are known, of 80 bytes of heap each. */
const blobLimit = 200_000
/** Entries of different trees that are visited for one node; a tree costs as much as 20 more. */
const entryLimit = 1_000_000
const treeCost = 20

interface PublicBlobs {
  /** The tips that this holds of. */
  readonly tips: string
  readonly ids: ReadonlySet<Oid>
  /** False where a limit was reached: there are others. */
  readonly isWhole: boolean
}

/** By folder, as last asked for: what is asked for again and again, known or not, is found at once. */
const remembered = new LRUCache<string, PublicBlobs>({
  maxSize: 2 * blobLimit,
  sizeCalculation: ({ ids }) => ids.size + 20,
})
const collecting = new Map<string, Promise<PublicBlobs>>()

const tooManyBlobs =
  'The tags of this node hold too many files to find one by its id; read it by its path, tree/{revision}/files/{path}'

/** @throws Refusal too_large (the tips hold more than is looked through, and not this blob in what was), busy */
export async function isPublicBlob(repo: Repo, tips: readonly Oid[], oid: Oid): Promise<boolean> {
  const { ids, isWhole } = await blobsOf(repo, tips)
  if (ids.has(oid)) return true
  if (!isWhole) throw new Refusal('too_large', tooManyBlobs)
  return false
}

async function blobsOf(repo: Repo, heads: readonly Oid[]): Promise<PublicBlobs> {
  const tips = createHash('sha1').update(heads.join()).digest('hex')
  const known = remembered.get(repo.dir)
  if (known?.tips === tips) return known
  const key = `${repo.dir}:${tips}`
  const under = collecting.get(key)
  if (under !== undefined) return under
  const made = largeRead(tooManyBlobs, (pace) => collect(repo, heads, pace)).then((found) => ({ tips, ...found }))
  collecting.set(key, made)
  try {
    const blobs = await made
    remembered.set(repo.dir, blobs)
    return blobs
  } finally {
    collecting.delete(key)
  }
}

/** Each tree once, however many paths and tips lead to it; the first tip's before the others'. */
async function collect(repo: Repo, heads: readonly Oid[], pace: Pace): Promise<Omit<PublicBlobs, 'tips'>> {
  const ids = new Set<Oid>()
  const visited = new Set<Oid>()
  let cost = 0
  let isWhole = true
  for (const head of heads) {
    const trees = [(await readCommit(repo, head)).tree]
    for (let tree = trees.pop(); tree !== undefined; tree = trees.pop()) {
      if (visited.has(tree)) continue
      visited.add(tree)
      const entries = await readTree(repo, tree, pace).catch(nothingIfTooLarge)
      if (entries === undefined) isWhole = false
      cost += treeCost + (entries?.length ?? 0)
      for (const { mode, oid } of entries ?? []) {
        if (cost > entryLimit || ids.size >= blobLimit) return { ids, isWhole: false }
        if (mode === '040000') trees.push(oid)
        else ids.add(oid)
        if (pace.isDue(1)) await pace.turn()
      }
    }
  }
  return { ids, isWhole }
}

function nothingIfTooLarge(error: unknown): undefined {
  if (!isGitError(error, 'limit_exceeded')) throw error
}
