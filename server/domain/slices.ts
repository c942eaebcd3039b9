/** Long work on the event loop, in slices between which everything else has its turn. */
import { setImmediate as nextTurn } from 'node:timers/promises'

const sliceMs = 8

/** One slice of such work a turn of the event loop, however many wait for theirs. */
let turns: Promise<unknown> = Promise.resolve()

/** Runs work that stops often; several, one after the other, share a slice where they fit. */
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
