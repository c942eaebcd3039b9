/** Quotas by caller. Each caller has a share of the resources of a process. */
import { createQuota, type Quota, type Share } from '../../../gitstore/concurrency/quota.ts'

export interface Caller {
  /** A user, or the IP address of an anonymous caller. */
  readonly key: string
  readonly isAnonymous: boolean
  /** True if the caller reads only published content. All such callers together leave half to members. */
  readonly isPublic: boolean
  readonly repository: string
  /**
   * The network of a signed-in caller. Accounts in one network share a part, and a smaller part for pushes. Absent: no
   * such share.
   */
  readonly network?: string
  /** True for a push. All pushes together leave a quarter to fetches. */
  readonly isPush?: boolean
}

/**
 * Creates a quota with these largest shares of `total`. Half: a user, published content, pushes from one network. A
 * quarter: an anonymous IP address, pushes of a user. Three quarters: all pushes, the accounts of one network. All but
 * one: a repository.
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
