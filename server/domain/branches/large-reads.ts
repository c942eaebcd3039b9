/** Limits reads whose cost grows with the repository: a few at a time, and refused above a size. */
import { GitError } from '../../../gitstore/errors.ts'
import { newPace, type Pace, paced } from '../../../gitstore/pace.ts'
import { Refusal } from '../../errors.ts'

/** `tooLarge`: the message above the limit, with the alternative. */
export type LargeRead = <T>(tooLarge: string, work: (pace: Pace) => Promise<T>) => Promise<T>

/** @throws Refusal too_large, busy */
export const largeRead: LargeRead = async (tooLarge, work) => {
  try {
    return await paced(work)
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    if (error.code === 'limit_exceeded') throw new Refusal('too_large', tooLarge)
    if (error.facts.readers === true) throw new Refusal('busy', 'Others read large trees just now; try again')
    throw error
  }
}

/** For the response to a change that is already made: without limits and without waiting. */
export const readOfChange: LargeRead = (_tooLarge, work) => work(newPace())
