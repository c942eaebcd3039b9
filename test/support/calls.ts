/** Notes system calls, programs and SQL statements of a spawned service. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { compiled } from './faults.ts'

export interface Calls {
  /** The environment for `spawnGrove`. */
  readonly environment: Record<string, string>
  /** Learns the lines of work that no request causes, so that they are left out. */
  learnIdle(): Promise<void>
  /**
   * Returns the lines that the work causes, also after its answer.
   *
   * A line has a call and its path, or `sql`, a database and a text.
   */
  during(work: () => Promise<unknown>): Promise<string[]>
  remove(): void
}

/** Timers of the service run all their calls in this time, in milliseconds. */
const idleMs = 6_000
/** Milliseconds without a line, after which nothing more is expected of a request. */
const quietMs = 400
/** Milliseconds after which a service that is never quiet fails the test. A sweep of all jobs takes a second. */
const noisyMs = 120_000
/** Lines of such a service that the failure shows. */
const shownLines = 40

/**
 * Notes calls on files below `folder` only, because Node itself reads others. Reads of an open file are left out, because
 * releases of Node differ in them.
 */
export function noteCalls(folder: string): Calls {
  const own = mkdtempSync(join(tmpdir(), 'grove-calls-'))
  const file = join(own, 'calls')
  const idle = new Set<string>()
  const isNoted = (line: string) =>
    (line.startsWith('sql ') || line.startsWith('start ') || line.includes(folder)) && !idle.has(line)
  const read = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []).filter(isNoted)
  const untilQuiet = async () => {
    const deadline = performance.now() + noisyMs
    for (let [before, lines] = [-1, read()]; before !== lines.length; lines = read()) {
      if (performance.now() > deadline)
        throw new Error(`The service is never quiet. Its last lines:\n${lines.slice(-shownLines).join('\n')}`)
      before = lines.length
      await sleep(quietMs)
    }
  }
  return {
    environment: {
      LD_PRELOAD: compiled('faults.cc', '-shared', '-fPIC', '-ldl'),
      NODE_OPTIONS: `--require ${new URL('noted-statements.cjs', import.meta.url).pathname}`,
      GROVE_CALLS: file,
    },
    learnIdle: async () => {
      const from = read().length
      await sleep(idleMs)
      for (const line of read().slice(from)) idle.add(line)
    },
    during: async (work) => {
      await untilQuiet()
      const from = read().length
      await work()
      await untilQuiet()
      return read().slice(from)
    },
    remove: () => rmSync(own, { recursive: true, force: true }),
  }
}
