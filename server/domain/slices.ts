/** Runs long work on the event loop in slices, between which other work runs. */
import { setImmediate as nextTurn } from 'node:timers/promises'

const sliceMs = 8

/** One slice per turn of the event loop, however many jobs wait. */
let turns: Promise<unknown> = Promise.resolve()

/** Runs a job that yields often; several jobs share a slice if they fit. */
export type Slices = <T>(steps: Generator<undefined, T, undefined>) => Promise<T>

export function openSlices(): Slices {
  let endsAt = 0
  return async (steps) => {
    for (;;) {
      if (performance.now() >= endsAt) {
        const turn = turns.then(() => nextTurn())
        turns = turn
        await turn
        endsAt = performance.now() + sliceMs
      }
      const step = steps.next()
      if (step.done) return step.value
    }
  }
}
