/**
 * Measures the cost of metrics: an observation within a request, and a scrape of a process that has seen every
 * operation.
 */

import { countRequest } from '../../server/http/log/request-metrics.ts'
import { newMetrics, processMetrics } from '../../server/metrics/metrics.ts'
import { rights } from '../../spec/rights.ts'
import { measure } from './measure.ts'
import type { Report } from './report.ts'

/** Observations whose mean is one value. A single one is shorter than the clock can measure. */
const atOnce = 10_000

export async function benchMetrics(report: Report): Promise<void> {
  const metrics = newMetrics()
  const operations = Object.keys(rights)
  for (const op of operations)
    for (const status of [200, 401, 404]) countRequest(metrics, { op, status, seconds: 0.01 })
  const observe = async () => {
    for (let n = 0; n < atOnce; n++)
      countRequest(metrics, { op: operations[n % operations.length], status: 200, seconds: n / atOnce })
  }
  const counted = await measure('a request: gauge, counter and histogram', 30, observe)
  const perRequest = (ms: number) => (ms * 1_000) / atOnce
  report.rows('cost of an observation', 'µs', [
    { what: counted.what, p50: perRequest(counted.p50), p99: perRequest(counted.p99) },
  ])
  const own = processMetrics(1)
  const text = async () => `${await metrics.registry.metrics()}${await own.metrics()}`
  report.rows('cost of a scrape', 'ms', [await measure('a scrape of one process', 100, text)])
  report.say(`it has ${Math.round((await text()).length / 1024)} KiB`)
}
