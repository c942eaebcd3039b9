/** Work that may be put down: each `yield` is a place where others may have their turn; less than a millisecond lies between two. */
export type Steps<T = void> = Generator<undefined, T, undefined>

/** All of it at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** `items` until `take` answers false, with a place to stop after each 32. */
export function* inSteps<T>(items: Iterable<T>, take: (item: T) => unknown): Steps {
  let taken = 0
  for (const item of items) {
    if (take(item) === false) return
    if (++taken % 32 === 0) yield
  }
}
