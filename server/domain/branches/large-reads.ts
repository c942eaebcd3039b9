/** Limits reads whose cost grows with the repository: a few at a time, in turns by caller, and refused above a size. */
import { isGitError } from '../../../gitstore/errors.ts'
import { newPace, type Pace, paced } from '../../../gitstore/pace.ts'
import { Refusal } from '../../base/errors.ts'
import { type Asker, callerOf } from '../actor.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'

/** Per process. */
const semaphore = createCallerSemaphore({
  all: { running: 2, waiting: 64 },
  person: { running: 1, waiting: 16 },
  address: { running: 1, waiting: 8 },
  anonymous: { running: 1, waiting: 32 },
  waitTimeoutMs: 30_000,
  refusal: 'Too many large trees are being read; try again in a moment',
})

/** `tooLarge`: the message above the limit, with the alternative. */
export type LargeRead = <T>(tooLarge: string, work: (pace: Pace) => Promise<T>) => Promise<T>

/** Without `signal` the read is wanted whether or not its caller stays. */
type Reader = Pick<Asker, 'actor' | 'from'> & Partial<Pick<Asker, 'signal'>>

/** Reads on the share of that caller. The returned function @throws Refusal too_large, busy; the signal's reason */
export function largeReadBy(reader: Reader): LargeRead {
  const turn = { caller: callerOf(reader), signal: reader.signal }
  return async (tooLarge, work) => {
    try {
      return await paced(work, () => semaphore.acquire(turn))
    } catch (error) {
      if (isGitError(error, 'limit_exceeded')) throw new Refusal('too_large', tooLarge, {}, { cause: error })
      throw error
    }
  }
}

/** For the response to a change that is already made: without limits and without waiting. */
export const readOfChange: LargeRead = (_tooLarge, work) => work(newPace())
