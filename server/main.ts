/** Starts the service and stops it when the system asks. Run it with UV_THREADPOOL_SIZE=16, as `npm start` does. */

import { ConfigError, readConfig } from './config.ts'
import { type Service, startService } from './service.ts'

/** Milliseconds after which the process ends whatever still runs; it may be killed at any moment, so it may do this too. */
const longestStop = 14_000

try {
  const service = await startService(readConfig())
  stopOnSignal(service)
  process.stdout.write(`Grove is listening on ${service.url}\n`)
} catch (error) {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
}

function stopOnSignal(service: Service): void {
  const stop = () => {
    setTimeout(() => process.exit(0), longestStop).unref()
    service.close().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`${explain(error)}\n`)
        process.exit(1)
      },
    )
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof ConfigError) return `The environment cannot be used: ${error.message}`
  const code = 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') return `The port is in use: ${error.message}`
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL') return `The service cannot start: ${error.message}`
  return `The service cannot start: ${error.stack ?? error.message}`
}
