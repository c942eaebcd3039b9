/** Counts requests, and the bytes of Git clients. */

import type { Metrics } from '../../metrics/metrics.ts'
import { streamOp } from './request-notes.ts'

interface Counted {
  /** Absent if there is nothing at the URL. */
  readonly op: string | undefined
  readonly status: number | 'aborted'
  readonly seconds: number
}

export function countRequest(metrics: Metrics, { op: operation = 'none', status, seconds }: Counted): void {
  metrics.requestsInFlight.dec()
  metrics.requests.inc({ operation, status: String(status) })
  if (operation !== streamOp) metrics.requestSeconds.observe({ operation }, seconds)
}

const transports = ['git-upload-pack', 'git-receive-pack'] as const

type Transport = (typeof transports)[number]

/** True if the operation carries objects. */
export function isTransport(op: string | undefined): op is Transport {
  return transports.some((one) => one === op)
}

interface Carried {
  readonly service: Transport
  readonly outcome: 'completed' | 'refused' | 'failed' | 'aborted'
  readonly bytes_in: number
  readonly bytes_out: number
  readonly seconds: number
}

export function countTransport(metrics: Metrics, { service, outcome, bytes_in, bytes_out, seconds }: Carried): void {
  metrics.gitSeconds.observe({ service, outcome }, seconds)
  metrics.gitBytes.inc({ service, direction: 'in' }, bytes_in)
  metrics.gitBytes.inc({ service, direction: 'out' }, bytes_out)
}
