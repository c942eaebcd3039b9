/** How the computing of a function grows with its input. */

/**
 * The factor by which four times the input takes longer, the lesser of two measurements: about 4 if the function is linear, 16 if it is quadratic.
 *
 * @param part repeated up to `length` UTF-16 units, which should take some milliseconds
 */
export function growth(take: (text: string) => unknown, part: string, length: number): number {
  const [short, long] = [length, 4 * length].map((units) => part.repeat(Math.ceil(units / part.length)))
  const once = () => computing(() => take(long ?? '')) / computing(() => take(short ?? ''))
  take(short ?? '')
  return Math.min(once(), once())
}

/** Microseconds of computing, the least of three times and at least 1,000: others on the machine do not count. */
function computing(run: () => unknown): number {
  const times = [0, 1, 2].map(() => {
    const before = process.cpuUsage()
    run()
    return process.cpuUsage(before).user
  })
  return Math.max(1_000, Math.min(...times))
}
