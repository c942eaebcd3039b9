/** Counts how much is held, by shares. A quota never waits; `semaphore.ts` does. */

/** The name of a part of the whole, and the limit of that part. */
export type Share = readonly [name: string, most: number]

export interface Quota<Holder> {
  /** True if every share of `holder` has room for `amount` more. */
  has(holder: Holder, amount?: number): boolean
  /** Counts `amount` in every share of `holder`, whether or not there is room. */
  acquire(holder: Holder, amount?: number): void
  release(holder: Holder, amount?: number): void
}

/** @param sharesOf names the same shares for the same holder each time */
export function createQuota<Holder>(sharesOf: (holder: Holder) => readonly Share[]): Quota<Holder> {
  const held = new Map<string, number>()
  const add = (holder: Holder, amount: number) => {
    for (const [name] of sharesOf(holder)) {
      const now = (held.get(name) ?? 0) + amount
      if (now > 0) held.set(name, now)
      else held.delete(name)
    }
  }
  return {
    has: (holder, amount = 1) => sharesOf(holder).every(([name, most]) => (held.get(name) ?? 0) + amount <= most),
    acquire: (holder, amount = 1) => add(holder, amount),
    release: (holder, amount = 1) => add(holder, -amount),
  }
}
