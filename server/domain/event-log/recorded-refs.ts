/** The recorded refs of nodes, in memory. A node with 10,000 branches would otherwise read them for each commit. */
import { type Cache, createCache } from '../../../gitstore/caching/caches.ts'
import { listRecordedRefs, type RecordedRepo, type RecordedStep } from '../../../index/log/recorded.ts'
import type { Services } from '../services.ts'

interface Kept {
  /** The version of the row to which the refs belong. */
  readonly version: number
  readonly refs: Map<string, string>
}

/** Refs by node. Keyed by the open file, because another one has other versions. */
const kept = new WeakMap<Services['events']['read'], Cache<Kept>>()

function cacheOf({ events }: Pick<Services, 'events'>): Cache<Kept> {
  const { read } = events
  const known = kept.get(read) ?? createCache<Kept>('recorded_refs', { sizeCalculation: ({ refs }) => refs.size + 1 })
  kept.set(read, known)
  return known
}

/** Returns the refs that belong to a row. */
export async function readRecordedRefs(
  deps: Pick<Services, 'events'>,
  { node_id, version }: RecordedRepo,
): Promise<ReadonlyMap<string, string>> {
  const cache = cacheOf(deps)
  const known = cache.get(node_id)
  if (known?.version === version) return known.refs
  const refs = await listRecordedRefs(deps.events.read, node_id)
  cache.set(node_id, { version, refs })
  return refs
}

/** Remembers the refs after a step that was committed. */
export function keepRecordedRefs(deps: Pick<Services, 'events'>, step: RecordedStep): void {
  const { node_id, before, putRefs, removedRefs } = step
  const cache = cacheOf(deps)
  const known = before === null ? { version: 0, refs: new Map<string, string>() } : cache.get(node_id)
  if (known === undefined || known.version !== (before ?? 0)) {
    cache.delete(node_id)
    return
  }
  for (const ref of removedRefs) known.refs.delete(ref)
  for (const [ref, oid] of putRefs) known.refs.set(ref, oid)
  cache.set(node_id, { version: known.version + 1, refs: known.refs })
}
