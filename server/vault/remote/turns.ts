/** Several requests at a time, and none after one of them has failed. */
import pLimit from 'p-limit'
import { allDone } from '../../../gitstore/durable.ts'

/** Requests at a time. */
export const requestsAtOnce = 8

/** @throws the first error, when those that had begun have ended */
export async function inTurn<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const turn = pLimit(requestsAtOnce)
  let isOver = false
  const one = async (item: T) => {
    if (isOver) return
    try {
      await work(item)
    } catch (error) {
      isOver = true
      throw error
    }
  }
  await allDone(items.map((item) => turn(one, item)))
}
