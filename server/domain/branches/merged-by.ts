/** Which pull request brought a commit into main. */
import { LRUCache } from 'lru-cache'
import type { Oid } from '../../../gitstore/repo.ts'
import { listMergedPulls } from '../../../index/derived/pulls.ts'
import type { Deps } from '../../base/deps.ts'
import type { NodeAccess } from '../access.ts'

interface Merge {
  readonly number: number
  /** The head of main before, and after. */
  readonly before: Oid
  readonly after: Oid
  /** Commits in main's history after it. */
  readonly length: number
}

/** The merges into main, the oldest first, by node and ledger: 200 bytes each. */
const merges = new LRUCache<string, readonly Merge[]>({ maxSize: 20_000, sizeCalculation: (all) => all.length + 5 })

/**
 * The number of the request that brought the commit into main; undefined where it came without one, or is not there. Main only
 * moves forward, so of all merges the first one that contains the commit is found by halving: 50 µs for each step.
 */
export async function openMergerSearch(
  deps: Deps,
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

async function mergesOf({ index }: Deps, { node, history }: NodeAccess): Promise<readonly Merge[]> {
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
