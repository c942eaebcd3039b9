/** Creates caches with the bounds of `bounds.ts`, and says how full they are. The least recently used are dropped. */
import { LRUCache } from 'lru-cache'
import { type Bound, bounds, type CacheName, cacheNames } from './bounds.ts'

export type Cache<Value extends NonNullable<unknown>> = LRUCache<string, Value>

/** Options of lru-cache that are not bounds. */
type Options<Value extends NonNullable<unknown>> = Pick<
  LRUCache.Options<string, Value, unknown>,
  'sizeCalculation' | 'ttl'
>

type AnyCache = LRUCache<string, NonNullable<unknown>>

/** Caches of this thread. A service that ends takes its caches with it. */
let open: readonly { readonly name: CacheName; readonly cache: WeakRef<AnyCache> }[] = []

/** @param name several services of a process may each have a cache with this name */
export function createCache<Value extends NonNullable<unknown>>(
  name: CacheName,
  options: Options<Value> = {},
): Cache<Value> {
  const { counts, most, mostOfOne = most }: Bound = bounds[name]
  // Not `max`, for which an empty cache takes the memory of a full one.
  const sizeOf = counts === 'entries' ? { sizeCalculation: () => 1 } : {}
  const cache = new LRUCache<string, Value>({ ...options, ...sizeOf, maxSize: most, maxEntrySize: mostOfOne })
  const known = open.filter(({ cache: one }) => one.deref() !== undefined)
  open = [...known, { name, cache: new WeakRef(cache as unknown as AnyCache) }] // nothing is put into it here
  return cache
}

interface CacheUse {
  readonly name: CacheName
  readonly entries: number
  /** An estimate of the heap. */
  readonly bytes: number
}

/** Returns what the caches of this thread hold, also those that nobody has created. */
export function readCaches(): readonly CacheUse[] {
  const uses = new Map(cacheNames.map((name) => [name, { name, entries: 0, bytes: 0 }]))
  for (const { name, cache: ref } of open) {
    const [use, cache] = [uses.get(name), ref.deref()]
    const { counts, bytesEach }: Bound = bounds[name]
    if (use === undefined || cache === undefined) continue
    use.entries += cache.size
    use.bytes += bytesEach * (counts === 'entries' ? cache.size : cache.calculatedSize)
  }
  return [...uses.values()]
}

/** Empties the caches of this thread, for tests. */
export function clearCaches(): void {
  for (const { cache } of open) cache.deref()?.clear()
}
