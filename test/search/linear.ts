/** How the computing of a function grows with its input. */

/** Measurements: what other threads of this process compute counts too, and spoils some. */
const most = 8
/** A function whose factor is less is linear. */
const linear = 6

/**
 * The factor by which four times the input takes longer, the least of some measurements: about 4 if the function is linear, 16 if
 * it is quadratic.
 *
 * @param part repeated up to `length` UTF-16 units, which should take some milliseconds
 */
export function growth(take: (text: string) => unknown, part: string, length: number): number {
  const [short, long] = [length, 4 * length].map((units) => part.repeat(Math.ceil(units / part.length)))
  const once = () => computing(() => take(long ?? ''), 1) / computing(() => take(short ?? ''), 3)
  take(short ?? '')
  let least = once()
  for (let n = 1; n < most && least > linear; n++) least = Math.min(least, once())
  return least
}

/**
 * Microseconds of computing, the least of `times` and at least 1,000: others on the machine do not count. The short text is asked
 * more often, since only what makes it slower makes a factor less than it is.
 */
function computing(run: () => unknown, times: number): number {
  const measured = Array.from({ length: times }, () => {
    const before = process.cpuUsage()
    run()
    return process.cpuUsage(before).user
  })
  return Math.max(1_000, Math.min(...measured))
}
