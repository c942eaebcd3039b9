/** Shows that the work of a function is not quadratic in the length of its text. */
import { runInNewContext } from 'node:vm'

/** CPU times of a text and of one of four times its length: 4 is linear, 16 quadratic. A measurement below this is enough. */
const suspicious = 10
/** Measurements before a long text judges. */
const tries = 2
/** Milliseconds: less says nothing. */
const leastMs = 0.2
/** The length of the text that judges, as a multiple. Linear work takes 2 s, and 10 s at most. */
const longer = 32
/** The clock of the text that judges. `indexOf` in a loop, the fastest quadratic work, takes 128 s. */
const endsWithinMs = 60_000

/**
 * Expects that `take` ends for a text of `part` again and again. Times alone never fail it, because a busy machine makes
 * any of them long. When they look quadratic, a text of 32 times the length must end within a minute.
 *
 * @param length of the text, in UTF-16 units
 */
export function expectLinear(take: (text: string) => unknown, part: string, length: number): void {
  const textOf = (units: number) => part.repeat(Math.ceil(units / part.length))
  const looksLinear = () => {
    take(textOf(length / 4))
    for (let n = 0; n < tries; n++)
      if (computingMs(() => take(textOf(length))) < suspicious * computingMs(() => take(textOf(length / 4))))
        return true
    return false
  }
  if (!inTime(looksLinear)) inTime(() => take(textOf(longer * length)))
}

/** @throws an error that the script timed out, if the clock stops `run` */
const inTime = <T>(run: () => T): T => runInNewContext('run()', { run }, { timeout: endsWithinMs })

/** Milliseconds of computing, of the process and of the kernel for it. Other threads of the process count too. */
function computingMs(run: () => unknown): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return Math.max(leastMs, (user + system) / 1_000)
}
