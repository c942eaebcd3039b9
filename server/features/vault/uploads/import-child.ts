/** Starts a process for each import. A large folder then delays no request, and takes none of the service's memory. */

import { type ChildProcess, fork } from 'node:child_process'
import { workerBundle } from '../../../domain/worker-client.ts'
import type { FromImport, ImportOrder, Outcome, ToImport } from './order.ts'
import type { ImportRecord } from './record-format.ts'

/** The options of the service: see main.ts. */
const flags = ['--max-old-space-size=2000', '--v8-pool-size=1']
/** Milliseconds for a process to stop when it is asked to. Then it is killed, as a crash would. */
const stopMs = 10_000

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Runs an import in another process. Aborting the signal stops it; the outcome is then `ended`. */
export function runInProcess(
  order: ImportOrder,
  onProgress: (progress: ImportRecord['progress']) => void,
  signal: AbortSignal,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = fork(workerBundle('import.cjs'), {
      execArgv: flags,
      env: { ...process.env, UV_THREADPOOL_SIZE: '16' },
    })
    running.add(child)
    let outcome: Outcome = { kind: 'ended' }
    let overdue: NodeJS.Timeout | undefined
    // A process that has just ended takes no message; 'exit' comes next.
    const tell = (message: ToImport) => child.connected && child.send(message, () => {})
    const stop = () => {
      tell({ kind: 'stop' })
      overdue ??= setTimeout(() => child.kill('SIGKILL'), stopMs)
    }
    const end = () => {
      running.delete(child)
      clearTimeout(overdue)
      signal.removeEventListener('abort', stop)
      resolve(outcome)
    }
    child.on('message', (message: FromImport) => {
      if (message.kind === 'progress') {
        const { phase, done, total } = message
        onProgress({ phase, done, total })
      } else outcome = message
    })
    // Only a process that could not be started does not exit.
    child.once('error', () => child.pid === undefined && end())
    child.once('exit', end)
    tell({ kind: 'order', order })
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  })
}
