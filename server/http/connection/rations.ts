/** Shares of what a process has for all callers together: none of them takes it all. */

export interface Caller {
  /** A person, or the address of an anonymous caller. */
  readonly key: string
  readonly isAnonymous: boolean
  /** Whether they read what is public: all of these together leave half to members. */
  readonly isPublic: boolean
  readonly repository: string
  /** From where accounts ask that share a part, of pushes a smaller one; absent: they share none. */
  readonly network?: string
  /** Whether this is a push: all of these together leave a quarter to fetches. */
  readonly isPush?: boolean
}

interface Ration {
  fits(caller: Caller, amount?: number): boolean
  take(caller: Caller, amount?: number): void
  give(caller: Caller, amount?: number): void
}

/**
 * Shares of `total`, at most. Half: a person, the public, pushes from one network. A quarter: an anonymous address, pushes of a
 * person. Three quarters: all pushes, the accounts of one network. All but one: a repository.
 */
export function newRation(total: number): Ration {
  const taken = new Map<string, number>()
  const part = (by: number) => Math.max(1, Math.floor(total / by))
  const sharesOf = (caller: Caller): (readonly [string, number])[] => {
    const { key, isAnonymous, isPublic, repository, network, isPush } = caller
    return [
      ['all', total],
      [`caller ${key}`, part(isAnonymous ? 4 : 2)],
      [`repository ${repository}`, total - 1],
      ...(isPublic ? [['public', part(2)] as const] : []),
      ...(network === undefined ? [] : [[`network ${network}`, total - part(4)] as const]),
      ...(isPush ? pushSharesOf(caller) : []),
    ]
  }
  const pushSharesOf = ({ key, network }: Caller) => [
    ['pushes', total - part(4)] as const,
    [`pushes of ${key}`, part(4)] as const,
    [`pushes from ${network}`, part(2)] as const,
  ]
  const add = (caller: Caller, amount: number) => {
    for (const [name] of sharesOf(caller)) {
      const now = (taken.get(name) ?? 0) + amount
      if (now > 0) taken.set(name, now)
      else taken.delete(name)
    }
  }
  return {
    fits: (caller, amount = 1) => sharesOf(caller).every(([name, most]) => (taken.get(name) ?? 0) + amount <= most),
    take: (caller, amount = 1) => add(caller, amount),
    give: (caller, amount = 1) => add(caller, -amount),
  }
}
