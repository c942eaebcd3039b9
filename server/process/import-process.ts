/** The process of one import. The service starts it (import-child.ts), and it ends with the service. */

import { runImportJob } from '../features/vault/uploads/job.ts'
import type { FromImport, ImportOrder, ToImport } from '../features/vault/uploads/order.ts'
import { createLog } from '../http/log/log.ts'
import { openDeps } from './bootstrap.ts'

/** The error that stops an import because the service asked for it, or has ended. */
class StoppedError extends Error {
  constructor() {
    super('The import was stopped')
    this.name = 'StoppedError'
  }
}

/** Milliseconds between two messages about progress. */
const tellEveryMs = 200

const stop = new AbortController()
process.on('disconnect', () => stop.abort(new StoppedError()))
process.on('message', (message: ToImport) => {
  if (message.kind === 'stop') stop.abort(new StoppedError())
  else void run(message.order)
})

async function run({ config, ...order }: ImportOrder): Promise<void> {
  const log = createLog(config.logLevel === 'info' ? 'warn' : config.logLevel)
  try {
    const opened = await openDeps(config, { log, draining: stop.signal })
    try {
      await send(await runImportJob(opened.deps, order, stop, throttled()))
    } finally {
      await opened.close()
    }
  } catch (error) {
    if (!stop.signal.aborted) log.error({ err: error }, 'the process of an import failed')
    process.exitCode = 1
  } finally {
    if (process.connected) process.disconnect()
  }
}

/** Returns a function that sends progress, each phase at once and otherwise rarely. */
function throttled(): Parameters<typeof runImportJob>[3] {
  let [phase, at] = ['', Number.NEGATIVE_INFINITY]
  return (progress) => {
    const now = performance.now()
    const isLast = progress.done === progress.total
    if (progress.phase === phase && now - at < tellEveryMs && !isLast) return
    ;[phase, at] = [progress.phase, now]
    void send({ kind: 'progress', ...progress })
  }
}

/** Resolves when the message was written. A service that has ended reads none. */
function send(message: FromImport): Promise<void> {
  return new Promise((done) => {
    if (!process.connected) done()
    else process.send?.(message, () => done())
  })
}
