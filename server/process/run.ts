/** Runs a process of the service, and stops it on a signal. */

import cluster from 'node:cluster'
import type { Logger } from 'pino'
import { codeOf } from '../../gitstore/errors.ts'
import { type Config, ConfigError, workerNumber } from '../base/config.ts'
import { isSweeper } from '../base/sweeper.ts'
import { printable } from '../domain/format/text-rules.ts'
import type { Services } from '../domain/services.ts'
import { createLog, logWarnings } from '../http/log/log.ts'
import type { DemoNotice } from '../pages/page-context.ts'
import { checkConfig } from './config-check.ts'
import { nextStepOf } from './next-step.ts'
import type { Overrides, RunningService } from './service.ts'
import { explainFault } from './start-errors.ts'
import { WorkerFailedError } from './workers.ts'

/** Milliseconds after which the process ends in any case. It must tolerate being killed at any moment. */
const stopTimeoutMs = 14_000

/** How a demo differs from the service. */
export interface Demo {
  readonly notice: DemoNotice
  /** Returns the text to print when the service listens. It replaces warnings about the configuration. */
  greet(url: string): string
}

/** Starts the service in this process, or in workers. */
export type Start = (
  config: Config,
  options: Overrides & { readonly log: Logger },
) => Promise<Pick<RunningService, 'url' | 'close'> & Partial<Pick<RunningService, 'deps'>>>

/** True in the process that only starts workers. */
export function hasWorkers({ workers }: Config): boolean {
  return workers > 1 && !cluster.isWorker
}

/** Runs a service, and ends the process with one line if it cannot start. */
export async function runService(
  read: () => Config,
  prepare: (config: Config) => Promise<Demo | undefined>,
  start: Start,
): Promise<void> {
  try {
    const config = read()
    const log = createLog(config.logLevel, hasWorkers(config) ? undefined : workerNumber())
    // Before anything is awaited, because Node prints warnings itself until then.
    logWarnings(log)
    const demo = await prepare(config)
    if (cluster.isWorker) {
      // The first process has just died, so a message to it failed. 'disconnect' comes next.
      cluster.worker?.on('error', () => {})
      stopWhenAsked(await start(config, { log, sweeps: isSweeper(), sharedLimits: true }))
    } else {
      const service = await start(config, { log, demo: demo?.notice })
      stopWhenAsked(service)
      process.stdout.write(demo?.greet(service.url) ?? (await greetingOf(service)))
      if (demo) return
      for (const found of await checkConfig(config)) log.warn(`configuration: ${found}`)
    }
  } catch (error) {
    process.stderr.write(explain(error))
    process.exit(1)
  }
}

/** Returns the text to print when the service listens. The address is last. */
async function greetingOf({ url, deps }: { readonly url: string; readonly deps?: Services }): Promise<string> {
  return `${deps === undefined ? '' : await nextStepOf(deps)}Grove is listening on ${url}\n`
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
    // Otherwise Node ends the worker at once, in the middle of requests.
    worker.exitedAfterDisconnect = true
    stop()
  })
}

/** Returns one line for an expected error. */
function explain(error: unknown): string {
  if (error instanceof WorkerFailedError)
    return error.explained ? '' : `The service cannot start: ${printable(error.message)}\n`
  if (error instanceof ConfigError) return `The configuration is not valid: ${printable(error.message)}\n`
  const prefix = codeOf(error) === 'EADDRINUSE' ? '' : 'The service cannot start: '
  return `${prefix}${explainFault(error)}\n`
}
