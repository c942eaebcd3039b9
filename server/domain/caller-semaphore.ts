/** Semaphores for expensive work. Callers take turns, and each caller's work takes turns by organisation. */
import { createQuota, type Share } from '../../gitstore/concurrency/quota.ts'
import { createSemaphore, type Semaphore, type Turn } from '../../gitstore/concurrency/semaphore.ts'
import { AppError } from '../base/errors.ts'
import type { Caller } from './actor.ts'

/** How many may run, and how many more may wait. */
interface Amounts {
  readonly running: number
  readonly waiting: number
}

export interface CallerLimits {
  readonly all: Amounts
  /** Per user. */
  readonly person: Amounts
  /** Per IP address of anonymous callers. Default: as per user. */
  readonly address?: Amounts
  /** All anonymous callers together. Default: as `all`. */
  readonly anonymous?: Amounts
  /** Per organisation, if the turn names one. Default: no limit. */
  readonly runningInOrg?: number
  readonly waitTimeoutMs: number
  /** The message of a refusal. It must be right whether the caller or others filled the queue. */
  readonly refusal: string
}

interface CallerTurn extends Turn {
  readonly caller: Caller
  /** The organisation that the work is for. */
  readonly orgId?: string
}

/** Creates a semaphore whose `acquire` and `run` throw AppError busy, or the signal's reason. */
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
