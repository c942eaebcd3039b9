/** How the computing of a function grows with its input. */

/**
 * The factor by which four times the input takes longer: about 4 if the function is linear, 16 if it is quadratic.
 *
 * @param part repeated up to `length` UTF-16 units, which should take some milliseconds
 */
export function growth(take: (text: string) => unknown, part: string, length: number): number {
  const repeated = (units: number) => part.repeat(Math.ceil(units / part.length))
  const [short, long] = [repeated(length), repeated(4 * length)]
  take(short)
  return computing(() => take(long)) / computing(() => take(short))
}

/** Microseconds of computing, the least of three times and at least 500: others on the machine do not count. */
function computing(run: () => unknown): number {
  const times = [0, 1, 2].map(() => {
    const before = process.cpuUsage()
    run()
    return process.cpuUsage(before).user
  })
  return Math.max(500, Math.min(...times))
}
