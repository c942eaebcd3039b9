/** Blobs that anonymous callers may read by id: those in main's head and in tags. */

import { createHash } from 'node:crypto'
import { createCache } from '../../../gitstore/caching/caches.ts'
import { isGitError } from '../../../gitstore/errors.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { readTree } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { Yielder } from '../../../gitstore/yielder.ts'
import { AppError } from '../../base/errors.ts'
import type { RequestContext } from '../actor.ts'
import { createLargeRead } from './large-reads.ts'

/** The most distinct blobs cached per node. */
const maxBlobs = 200_000
/** The most entries of distinct trees visited per node. Opening a tree counts as 20 more. */
const maxEntries = 1_000_000
const treeCost = 20

interface PublicBlobs {
  /** A hash of the tips that were searched. */
  readonly tips: string
  readonly ids: ReadonlySet<Oid>
  /** False if a limit was reached and blobs are missing. */
  readonly isWhole: boolean
}

/** Blobs by folder, of the tips last requested. Repeated requests need no walk. */
const remembered = createCache<PublicBlobs>('public_blobs', { sizeCalculation: ({ ids }) => ids.size + 20 })
const collecting = new Map<string, Promise<PublicBlobs>>()

const tooManyBlobs =
  'The tags of this node have too many files to find one by its id; read it by its path, tree/{revision}/files/{path}'

/**
 * True if main's head or a tag contains the blob.
 *
 * @throws AppError too_large (not found before a limit was reached), busy
 */
export async function isPublicBlob(
  repo: Repo,
  tips: readonly Oid[],
  oid: Oid,
  context: RequestContext,
): Promise<boolean> {
  const { ids, isWhole } = await blobsOf(repo, tips, context)
  if (ids.has(oid)) return true
  if (!isWhole) throw new AppError('too_large', tooManyBlobs)
  return false
}

async function blobsOf(repo: Repo, heads: readonly Oid[], context: RequestContext): Promise<PublicBlobs> {
  const tips = createHash('sha1').update(heads.join()).digest('hex')
  const known = remembered.get(repo.dir)
  if (known?.tips === tips) return known
  const key = `${repo.dir}:${tips}`
  // A refusal concerns the share of the caller who began. This caller may have room in its own share.
  const shared = await collecting.get(key)?.catch(undefinedIfBusy)
  return shared ?? collecting.get(key) ?? beginCollecting(key, repo, { heads, tips }, context)
}

/** Collects on the caller's share. Ignores the caller's signal, because other callers may wait for the result. */
function beginCollecting(
  key: string,
  repo: Repo,
  { heads, tips }: { readonly heads: readonly Oid[]; readonly tips: string },
  { actor, request: { from } }: RequestContext,
): Promise<PublicBlobs> {
  const made = createLargeRead({ actor, request: { from } })(tooManyBlobs, (pace) => collect(repo, heads, pace))
    .then((found) => {
      const blobs = { tips, ...found }
      remembered.set(repo.dir, blobs)
      return blobs
    })
    .finally(() => collecting.delete(key))
  collecting.set(key, made)
  return made
}

/** Visits each tree once, the first tip's trees first. */
async function collect(repo: Repo, heads: readonly Oid[], pace: Yielder): Promise<Omit<PublicBlobs, 'tips'>> {
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
        if (cost > maxEntries || ids.size >= maxBlobs) return { ids, isWhole: false }
        if (mode === '040000') trees.push(oid)
        else ids.add(oid)
        if (pace.shouldYield(1)) await pace.yieldToEventLoop()
      }
    }
  }
  return { ids, isWhole }
}

function nothingIfTooLarge(error: unknown): undefined {
  if (!isGitError(error, 'limit_exceeded')) throw error
}

function undefinedIfBusy(error: unknown): undefined {
  if (!(error instanceof AppError && error.code === 'busy')) throw error
}
