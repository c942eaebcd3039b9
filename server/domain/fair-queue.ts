/** A queue that takes turns: by caller, and within a caller by group. One who adds much waits behind their own items only. */

export interface Lane {
  readonly caller: string
  /** Such as an organisation. */
  readonly group: string
}

export interface FairQueue<T extends Lane> {
  add(item: T): void
  /** False: it had left the queue before. */
  remove(item: T): boolean
  /** Removes and returns the next item that `fits`, which depends on its caller and group alone. */
  take(fits: (item: T) => boolean): T | undefined
}

export function newFairQueue<T extends Lane>(): FairQueue<T> {
  // The keys of both maps, and the items of a set, stand in the order of their turns.
  const callers = new Map<string, Map<string, Set<T>>>()

  const remove = (item: T): boolean => {
    const { caller, group } = item
    const groups = callers.get(caller)
    const items = groups?.get(group)
    if (!groups || !items?.delete(item)) return false
    if (items.size === 0) groups.delete(group)
    if (groups.size === 0) callers.delete(caller)
    return true
  }
  return {
    add: (item) => {
      const { caller, group } = item
      const groups = callers.get(caller) ?? new Map<string, Set<T>>()
      const items = groups.get(group) ?? new Set<T>()
      callers.set(caller, groups.set(group, items.add(item)))
    },
    remove,
    take: (fits) => {
      for (const [caller, groups] of callers) {
        for (const [group, items] of groups) {
          const [item] = items
          if (item === undefined || !fits(item)) continue
          remove(item)
          // Their next turn comes after those of all others that wait now.
          if (groups.delete(group) && items.size > 0) groups.set(group, items)
          if (callers.delete(caller) && groups.size > 0) callers.set(caller, groups)
          return item
        }
      }
      return undefined
    },
  }
}
