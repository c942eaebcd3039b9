/** The log of a process: JSON lines on standard error, without secrets. */

import { hostname } from 'node:os'
import { type Logger, pino } from 'pino'
import { countingFaults, faultCounts } from './log-faults.ts'
import { linesTo } from './log-lines.ts'

/** Fields that may hold secrets, at the top of a record and one level down. */
const secrets = [
  'authorization',
  'password',
  'old_password',
  'new_password',
  'token',
  'accessToken',
  'idToken',
  'refreshToken',
  'reset_token',
  'invitation',
]

/** The most milliseconds that a line waits to be written with others. */
const flushMs = 100
/** The most milliseconds that an ending process waits for a slow reader of the log. */
const lastFlushMs = 1_000

/**
 * Creates a log of JSON lines on standard error. Standard output has only the line with the service's URL.
 *
 * @param worker the number of this process among those that share the port; absent in the process that starts them
 */
export function createLog(level: string, worker?: number): Logger {
  const faults = faultCounts()
  const lines = linesTo(2, (count) => `${JSON.stringify({ level: 40, time: Date.now(), msg: lostLines(count) })}\n`)
  let flushing: NodeJS.Timeout | undefined
  // No interval, which would wake an idle process.
  const flushSoon = () => {
    if (flushing) return
    flushing = setTimeout(() => {
      flushing = undefined
      lines.flush()
      if (lines.areWaiting()) flushSoon()
    }, flushMs).unref()
  }
  const write = (line: string) => {
    lines.write(line)
    flushSoon()
  }
  process.once('exit', () => {
    faults.end()
    const until = performance.now() + lastFlushMs
    while (lines.flush() && performance.now() < until) pause(10)
  })
  const redact = { paths: secrets.flatMap((name) => [name, `*.${name}`]), censor: '[hidden]' }
  const base = { pid: process.pid, hostname: hostname(), ...(worker === undefined ? {} : { worker }) }
  return pino({ level, base, redact, hooks: { logMethod: countingFaults(faults) } }, { write })
}

/**
 * Writes warnings of Node to the log, instead of as plain text to standard error. Deprecations have the level `debug`:
 * they address the authors of packages, and an operator cannot act on them.
 */
export function logWarnings(log: Logger): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    const { name, message } = warning
    const code = 'code' in warning ? warning.code : undefined
    log[name === 'DeprecationWarning' ? 'debug' : 'warn']({ warning: name, code }, message)
  })
}

function lostLines(count: number): string {
  return `${count} lines of this log were lost, because standard error did not accept them`
}

/** Blocks the process, which is ending. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
