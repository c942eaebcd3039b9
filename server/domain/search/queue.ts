/** The queue in front of the search thread: callers take turns, and few orders are in the thread's hands at a time. */
import { AppError } from '../../base/errors.ts'
import type { OrgAccess } from '../access.ts'
import { callerOf, type RequestContext } from '../actor.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'

/** For an order: until its turn, and until its answer. */
const waitTimeoutMs = 120_000

/**
 * Orders of this process. The thread answers one after the other, so each that is in its hands delays all others: by up to
 * 0.2 s, or by its share of the time while an index is made. An organisation's are answered in turn there; the second of them
 * keeps the thread busy.
 */
const semaphore = createCallerSemaphore({
  all: { running: 8, waiting: 512 },
  person: { running: 4, waiting: 64 },
  address: { running: 2, waiting: 32 },
  anonymous: { running: 4, waiting: 256 },
  runningInOrg: 2,
  waitTimeoutMs,
  refusal: 'Too many searches wait; try again',
})

/**
 * The result of `ask`, which orders once from the thread; undefined from it means that the organisation does not exist.
 *
 * @throws AppError busy (too many orders, or the index takes long to make), org_not_found; what `ask` throws; the reason of the
 *   caller's signal
 */
export async function searchInTurn<T>(
  context: RequestContext,
  { org }: OrgAccess,
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const answer = semaphore.run({ caller: callerOf(context), orgId: org.id, signal: context.signal }, ask)
  const found = await withinTime(answer)
  if (found === undefined) throw new AppError('org_not_found', 'The organisation was deleted meanwhile')
  return found
}

/** The thread continues with what takes longer, for the next question. @throws AppError busy */
async function withinTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const clock = new Promise<never>((_, reject) => {
    const late = new AppError('busy', 'The search index of this organisation is being made; try again')
    timer = setTimeout(() => reject(late), waitTimeoutMs)
  })
  try {
    return await Promise.race([answer, clock])
  } finally {
    clearTimeout(timer)
  }
}
