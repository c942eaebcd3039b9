/** The queue in front of the search thread. Callers take turns, and the thread has few orders at a time. */
import { AppError } from '../../base/errors.ts'
import type { OrgAccess } from '../access.ts'
import { callerOf, type RequestContext } from '../actor.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'

/** The time limit of an order, until its turn and again until its answer. */
const waitTimeoutMs = 60_000

/**
 * Limits orders of this process. The thread answers one after the other, so each order that it has delays all others.
 * The delay is up to 0.2 s, or 1 s while an index is built. The orders of one organisation are answered in turn; the
 * second one keeps the thread busy.
 */
const semaphore = createCallerSemaphore({
  all: { running: 8, waiting: 512 },
  person: { running: 4, waiting: 64 },
  address: { running: 2, waiting: 32 },
  anonymous: { running: 4, waiting: 256 },
  runningInOrg: 2,
  waitTimeoutMs,
  refusal: 'Too many searches are queued; try again in a moment',
})

/**
 * Returns the result of `ask`, which sends one order to the thread.
 *
 * @throws AppError busy (too many orders, or the answer takes too long), org_not_found if `ask` returns undefined
 * @throws the errors of `ask`; the reason of the caller's signal
 */
export async function searchInTurn<T>(
  context: RequestContext,
  { org }: OrgAccess,
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const answer = semaphore.run({ caller: callerOf(context), orgId: org.id, signal: context.request.signal }, ask)
  const found = await withinTime(answer)
  if (found === undefined) throw new AppError('org_not_found', 'The organisation has been deleted')
  return found
}

/** Limits the wait. After it, the thread continues, and the next query finds more. @throws AppError busy */
async function withinTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const clock = new Promise<never>((_, reject) => {
    const late = new AppError(
      'busy',
      'The answer took too long, because other searches run or an index is being built; try again in a moment',
    )
    timer = setTimeout(() => reject(late), waitTimeoutMs)
  })
  try {
    return await Promise.race([answer, clock])
  } finally {
    clearTimeout(timer)
  }
}
