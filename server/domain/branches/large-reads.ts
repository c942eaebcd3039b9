/** Reads that grow with what lies in a repository: a few at a time, and refused in words where they are too large. */
import { GitError } from '../../../gitstore/errors.ts'
import { newPace, type Pace, paced } from '../../../gitstore/pace.ts'
import { Refusal } from '../../errors.ts'

/** `tooLarge`: what to tell where a limit is reached, and what to do. */
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

/** For what a change has made, which is not refused any more: it waits for nobody. */
export const readOfChange: LargeRead = (_tooLarge, work) => work(newPace())
