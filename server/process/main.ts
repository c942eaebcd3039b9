/**
 * Starts the service and stops it when the system asks. Run it as `npm start` does: 16 threads for syncs; a heap whose limit
 * is below 2 GB, since V8 lets garbage grow to four times what lives where it may have more, to twice otherwise; one thread
 * that helps V8, since more of them, collecting the garbage of the search, keep the event loop waiting on two cores.
 */

import cluster from 'node:cluster'
import { codeOf } from '../../gitstore/errors.ts'
import { ConfigError, isSweeper, readConfig, workerNumber } from '../base/config.ts'
import { printable } from '../domain/format/text-rules.ts'
import { createLog, logWarnings } from '../http/log/log.ts'
import { checkConfig } from './config-check.ts'
import { type RunningService, startService } from './service.ts'
import { explainFault } from './start-errors.ts'
import { startWorkers, WorkerFailedError } from './workers.ts'

/** Milliseconds after which the process ends in any case; it must tolerate being killed at any moment anyway. */
const stopTimeoutMs = 14_000

void start()

async function start(): Promise<void> {
  try {
    const config = readConfig()
    const hasWorkers = config.workers > 1 && !cluster.isWorker
    const log = createLog(config.logLevel, hasWorkers ? undefined : workerNumber())
    logWarnings(log)
    if (cluster.isWorker) {
      // A message to a first process that has just died; 'disconnect' comes next.
      cluster.worker?.on('error', () => {})
      stopWhenAsked(await startService(config, { log, sweeps: isSweeper(), sharedLimits: true }))
    } else {
      const service = await (hasWorkers ? startWorkers(config, log) : startService(config, { log }))
      stopWhenAsked(service)
      process.stdout.write(`Grove is listening on ${service.url}\n`)
      for (const found of await checkConfig(config)) log.warn(`configuration: ${found}`)
    }
  } catch (error) {
    process.stderr.write(explain(error))
    process.exit(1)
  }
}

/** A worker is stopped by signals or when the process that started it ends. */
function stopWhenAsked(service: Pick<RunningService, 'close'>): void {
  let stopping = false
  const stop = () => {
    if (stopping) return
    stopping = true
    setTimeout(() => process.exit(0), stopTimeoutMs).unref()
    service.close().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(explain(error))
        process.exit(1)
      },
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)
  const { worker } = cluster
  worker?.on('disconnect', () => {
    // Otherwise node ends the worker at once, in the middle of requests.
    worker.exitedAfterDisconnect = true
    stop()
  })
}

/** One line for expected errors. */
function explain(error: unknown): string {
  if (error instanceof WorkerFailedError)
    return error.explained ? '' : `The service cannot start: ${printable(error.message)}\n`
  if (error instanceof ConfigError) return `The environment cannot be used: ${printable(error.message)}\n`
  if (codeOf(error) === 'EADDRINUSE' && error instanceof Error)
    return `The port is in use: ${printable(error.message)}\n`
  return `The service cannot start: ${explainFault(error)}\n`
}
