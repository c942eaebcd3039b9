/** Random numbers that a seed repeats. */

export interface Random {
  /** A whole number from 0 up to `limit`, exclusive. */
  below(limit: number): number
  pick<T>(items: readonly T[]): T
  shuffled<T>(items: readonly T[]): T[]
}

/** Numbers from 0 up to 1, exclusive. Source: mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Draws whole numbers and items. */
export function randomOf(seed: number): Random {
  const next = randomFrom(seed)
  const below = (limit: number) => Math.floor(next() * limit)
  const pick = <T>(items: readonly T[]): T => {
    const found = items[below(items.length)]
    if (found === undefined) throw new Error('There is nothing to pick from')
    return found
  }
  const shuffled = <T>(items: readonly T[]): T[] =>
    items
      .map((item) => [next(), item] as const)
      .sort(([a], [b]) => a - b)
      .map(([, item]) => item)
  return { below, pick, shuffled }
}
