/**
 * Starts the service.
 *
 * `npm start` has the options to run it with. They give libuv 16 threads for syncs. They limit the heap to less than 2
 * GB: with more, V8 lets garbage grow to four times the live data instead of twice. They give V8 one helper thread: on
 * two cores, several threads that collect the search's garbage would delay the event loop.
 */

import { type Config, readConfig } from '../base/config.ts'
import { refuseDemo } from '../demo/demo-folder.ts'
import { type Demo, hasWorkers, runService, type Start } from './run.ts'
import { startService } from './service.ts'
import { startWorkers } from './workers.ts'

const start: Start = (config, options) =>
  hasWorkers(config) ? startWorkers(config, options) : startService(config, options)

/** Runs the service of the environment. */
export function serve(): Promise<void> {
  return runService(readConfig, refuseDemo, start)
}

/**
 * Runs a service for a command.
 *
 * @param prepare gets `startService` as an argument, so that the command does not contain the service
 */
export function run(
  read: () => Config,
  prepare: (config: Config, start: typeof startService) => Promise<Demo>,
): Promise<void> {
  return runService(read, (config) => prepare(config, startService), start)
}
