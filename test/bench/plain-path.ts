/** The shortcuts of server/http/fast-path.ts, written without regard to time. */

import type { Logger } from 'pino'

export function classesOf() {
  return {}
}

export function withSignal<T extends object>(values: T, make: () => AbortSignal) {
  return {
    ...values,
    get signal() {
      return make()
    },
  }
}

export function unsearched(log: Logger): Logger {
  return log
}
