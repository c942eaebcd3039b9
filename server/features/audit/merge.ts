/** Merges sorted sources of entries into one. */

export interface Sorted<T> {
  /** Reads the next items. An empty list is the end. */
  next(): Promise<readonly T[]>
}

/** The items of a source that are read and not yielded. */
interface Head<T> {
  readonly source: Sorted<T>
  items: readonly T[]
  at: number
}

/** Yields the items of all sources in order. A binary heap has the next item of each. */
export async function* mergeSorted<T>(
  sources: readonly Sorted<T>[],
  compare: (a: T, b: T) => number,
): AsyncGenerator<T> {
  const heap: Head<T>[] = []
  const isBefore = (a: number, b: number) => {
    const [one, other] = [itemOf(heap[a]), itemOf(heap[b])]
    return one !== undefined && (other === undefined || compare(one, other) < 0)
  }
  const swap = (a: number, b: number) => {
    const [one, other] = [heap[a], heap[b]]
    if (one && other) [heap[a], heap[b]] = [other, one]
  }
  const rise = (from: number) => {
    for (let at = from; at > 0 && isBefore(at, (at - 1) >> 1); at = (at - 1) >> 1) swap(at, (at - 1) >> 1)
  }
  const sink = () => {
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      let first = at
      if (left < heap.length && isBefore(left, first)) first = left
      if (right < heap.length && isBefore(right, first)) first = right
      if (first === at) return
      swap(at, first)
      at = first
    }
  }
  for (const source of sources) {
    const items = await source.next()
    if (items.length > 0) rise(heap.push({ source, items, at: 0 }) - 1)
  }
  for (let [top] = heap; top !== undefined; [top] = heap) {
    const item = itemOf(top)
    if (item !== undefined) yield item
    if (++top.at >= top.items.length) {
      top.items = await top.source.next()
      top.at = 0
    }
    if (top.items.length === 0) {
      swap(0, heap.length - 1)
      heap.pop()
    }
    sink()
  }
}

function itemOf<T>(head: Head<T> | undefined): T | undefined {
  return head?.items[head.at]
}
