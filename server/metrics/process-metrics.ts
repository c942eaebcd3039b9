/** The metrics of Node itself, `nodejs_*` and `process_*`: one set a process, however many services it runs. */

import { collectDefaultMetrics, Registry } from 'prom-client'

let registry: Registry | undefined

/** Measures from the first call on. */
export function processMetrics(worker: number): Registry {
  if (registry === undefined) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
  }
  registry.setDefaultLabels({ worker: String(worker) })
  return registry
}
