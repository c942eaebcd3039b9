/** The greatest of many numbers. */

/** Keeps the greatest numbers that it is given. */
export function heapOfBest(limit: number) {
  const heap = new Float64Array(limit)
  let size = 0
  const rise = (from: number, value: number) => {
    let at = from
    for (let up = (at - 1) >> 1; at > 0 && (heap[up] ?? 0) > value; up = (at - 1) >> 1) {
      heap[at] = heap[up] ?? 0
      at = up
    }
    heap[at] = value
  }
  const sink = (value: number) => {
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      if (child + 1 < size && (heap[child + 1] ?? 0) < (heap[child] ?? 0)) child++
      if ((heap[child] ?? 0) >= value) break
      heap[at] = heap[child] ?? 0
      at = child
    }
    heap[at] = value
  }
  return {
    add(value: number): void {
      if (size < limit) rise(size++, value)
      else if (value > (heap[0] ?? 0)) sink(value)
    },
    /** The least of the greatest; 0 while there are fewer than `limit`. */
    least: (): number => (size < limit ? 0 : (heap[0] ?? 0)),
  }
}
