/** Finds the pull request that brought a commit into main. */
import { createCache } from '../../../gitstore/caching/caches.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { listMergedPulls } from '../../../index/derived/pulls.ts'
import type { NodeAccess } from '../access.ts'
import type { Services } from '../services.ts'

interface Merge {
  readonly number: number
  /** The heads of main before and after the merge. */
  readonly before: Oid
  readonly after: Oid
  /** Commits in main's history after the merge. */
  readonly length: number
}

/** The merges into main, oldest first, by node and ledger. */
const merges = createCache<readonly Merge[]>('merges', { sizeCalculation: (all) => all.length + 5 })

/**
 * Returns a search for the pull request that brought a commit into main. It finds undefined if there was no pull
 * request, or if main does not have the commit. Main only moves forward, so a binary search finds the first merge that
 * contains the commit, in 50 µs a step.
 */
export async function openMergerSearch(
  deps: Services,
  access: NodeAccess,
): Promise<(commit: Oid) => Promise<number | undefined>> {
  const all = await mergesOf(deps, access)
  const { history } = access
  return async (commit) => {
    let [low, high] = [0, all.length]
    while (low < high) {
      const middle = (low + high) >> 1
      const merge = all[middle]
      if (merge && (await history.contains(merge.after, commit))) high = middle
      else low = middle + 1
    }
    const first = all[low]
    if (!first || (await history.contains(first.before, commit))) return undefined
    return first.number
  }
}

async function mergesOf({ index }: Services, { node, history }: NodeAccess): Promise<readonly Merge[]> {
  const key = `${node.id} ${node.ledger}`
  const known = merges.get(key)
  if (known) return known
  const all: Merge[] = []
  for (const { number, source_commit: after, target_commit: before } of await listMergedPulls(
    index.read,
    node.id,
    'main',
  )) {
    const { total: length } = await history.page(after, 0, 1)
    all.push({ number, before, after, length })
  }
  all.sort((a, b) => a.length - b.length)
  merges.set(key, all)
  return all
}
