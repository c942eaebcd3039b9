/** Quotas by caller: each has a share of what a process has for all callers together. */
import { createQuota, type Quota, type Share } from '../../../gitstore/concurrency/quota.ts'

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

/**
 * Shares of `total`, at most. Half: a person, the public, pushes from one network. A quarter: an anonymous address, pushes of a
 * person. Three quarters: all pushes, the accounts of one network. All but one: a repository.
 */
export function createCallerQuota(total: number): Quota<Caller> {
  const part = (by: number) => Math.max(1, Math.floor(total / by))
  const sharesOf = (caller: Caller): readonly Share[] => {
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
  return createQuota(sharesOf)
}
