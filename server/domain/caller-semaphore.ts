/** Semaphores for expensive work that give each caller a share; callers take turns, and each by organisation. */
import { createQuota, type Share } from '../../gitstore/concurrency/quota.ts'
import { createSemaphore, type Semaphore, type Turn } from '../../gitstore/concurrency/semaphore.ts'
import { AppError } from '../base/errors.ts'
import type { Caller } from './actor.ts'

/** What runs, and what waits beside that. */
interface Amounts {
  readonly running: number
  readonly waiting: number
}

export interface CallerLimits {
  readonly all: Amounts
  /** Each person. */
  readonly person: Amounts
  /** Each address of anonymous callers. Default: as a person. */
  readonly address?: Amounts
  /** All anonymous callers together. Default: no share of their own. */
  readonly anonymous?: Amounts
  /** Of one organisation, if callers name it. Default: no limit. */
  readonly runningInOrg?: number
  readonly waitTimeoutMs: number
  /** The message of a refusal. */
  readonly refusal: string
}

interface CallerTurn extends Turn {
  readonly caller: Caller
  /** The organisation that the work is for. */
  readonly orgId?: string
}

/** Its `acquire` and `run` @throws AppError busy; the signal's reason */
export function createCallerSemaphore(limits: CallerLimits): Semaphore<CallerTurn> {
  const { waitTimeoutMs: timeoutMs, refusal } = limits
  return createSemaphore({
    running: createQuota((turn) => sharesOf(turn, limits, 'running')),
    waiting: {
      quota: createQuota((turn) => sharesOf(turn, limits, 'waiting')),
      timeoutMs,
      refusal: () => new AppError('busy', refusal),
    },
    laneOf: ({ caller, orgId }) => ({ key: caller.key, group: orgId }),
  })
}

function sharesOf({ caller, orgId }: CallerTurn, limits: CallerLimits, kind: keyof Amounts): readonly Share[] {
  const { all, person, address = person, anonymous = all, runningInOrg = Number.POSITIVE_INFINITY } = limits
  const { key, isAnonymous } = caller
  return [
    ['all', all[kind]],
    [`caller ${key}`, (isAnonymous ? address : person)[kind]],
    ...(isAnonymous ? [['anonymous', anonymous[kind]] as const] : []),
    ...(orgId !== undefined && kind === 'running' ? [[`org ${orgId}`, runningInOrg] as const] : []),
  ]
}
