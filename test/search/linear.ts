/** How the computing of a function grows with its input. */
import { expect } from 'chai'

/** The factor for four times the text: 4 is linear time, 16 quadratic. */
const bound = 10
/** Measurements: what other threads of this process compute counts too, and spoils some. */
const most = 6
/** Milliseconds: less says nothing. */
const leastMs = 0.2
/** A text that takes more is not asked for at four times its length. */
const longestMs = 2_000

/**
 * Expects that `take` needs no more than its share of time for a text of `part` again and again. Where four times the text take
 * more, at a length at which memory is got or cleared in another way, the next four times must not: quadratic time stays so.
 *
 * @param length of the text, in UTF-16 units
 */
export function expectLinear(take: (text: string) => unknown, part: string, length: number): void {
  const textOf = (units: number) => part.repeat(Math.ceil(units / part.length))
  const first = factorOf(take, textOf(length / 4), textOf(length))
  const isSlow = first.factor >= bound && first.longMs < longestMs
  const { factor } = isSlow ? factorOf(take, textOf(length), textOf(4 * length)) : first
  expect(factor, 'the factor for four times the text').to.be.below(bound)
}

/** The short text is asked more often, since only what makes it slower makes the factor less than it is. */
function factorOf(take: (text: string) => unknown, short: string, long: string): { factor: number; longMs: number } {
  take(short)
  let [factor, longMs] = [Infinity, Infinity]
  for (let n = 0; n < most && factor >= bound && (n === 0 || n * longMs < longestMs); n++) {
    const ms = computingMs(() => take(long))
    factor = Math.min(factor, ms / computingMs(() => take(short), 3))
    longMs = Math.min(longMs, ms)
  }
  return { factor, longMs }
}

/**
 * Milliseconds of computing, the least of `tries`: others on the machine do not count. Of the process and of the kernel for it
 * together, which is exact: how the kernel divides the sum is a guess by its ticks.
 */
export function computingMs(run: () => unknown, tries = 1): number {
  const measured = Array.from({ length: tries }, () => {
    const before = process.cpuUsage()
    run()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  })
  return Math.max(leastMs, Math.min(...measured))
}
