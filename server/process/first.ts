/** The first of several processes. It starts the others, and contains nothing of the service, which takes memory. */

import { readConfig } from '../base/config.ts'
import { refuseDemo } from '../demo/demo-folder.ts'
import { runService } from './run.ts'
import { startWorkers } from './workers.ts'

/** Runs the service of the environment, which has several workers. */
export function serve(): Promise<void> {
  return runService(readConfig, refuseDemo, startWorkers)
}
