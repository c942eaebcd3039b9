/** Random numbers that a seed repeats. */

export interface Random {
  /** A whole number from 0 up to `limit`, exclusive. */
  below(limit: number): number
  pick<T>(items: readonly T[]): T
  shuffled<T>(items: readonly T[]): T[]
}

/** Source: mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
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
