/** Work in steps: the caller may run other work at each `yield`. A step takes less than a millisecond. */
export type Steps<T = void> = Generator<undefined, T, undefined>

/** Runs all steps at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Calls `take` with each item until it returns false; yields after each 32. */
export function* inSteps<T>(items: Iterable<T>, take: (item: T) => unknown): Steps {
  let taken = 0
  for (const item of items) {
    if (take(item) === false) return
    if (++taken % 32 === 0) yield
  }
}
