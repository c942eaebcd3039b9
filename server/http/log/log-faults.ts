/** Logs the first of repeated faults, and counts the others. The count is logged once a minute. */

import type { LogFn, Logger } from 'pino'
import { codeOf } from '../../../gitstore/errors.ts'

const intervalMs = 60_000

/** Global faults, for example a full disk or an index that is being rebuilt. */
const persistent: ReadonlySet<unknown> = new Set(
  'busy storage_full storage_readonly storage_error ENOSPC EDQUOT EROFS EIO EACCES EPERM EMFILE ENFILE'.split(' '),
)

/** Faults of one repository. The error's message names it. */
const persistentByPath: ReadonlySet<unknown> = new Set('ref_damaged object_missing object_damaged damaged'.split(' '))

/** The most kinds that are counted at once. Further kinds are logged each time. */
const maxKinds = 1_000

export interface FaultCounts {
  /** True if the record is to be written. Otherwise it is counted, and `report` is called later with the count. */
  admits(record: unknown, message: string, report: (count: number) => void): boolean
  /** Logs the remaining counts before the log ends. */
  end(): void
}

export function faultCounts(): FaultCounts {
  const kinds = new Map<string, { count: number; readonly report: (count: number) => void }>()

  const tellOf = (kind: string): boolean => {
    const counted = kinds.get(kind)
    if (counted === undefined || counted.count === 0) return false
    counted.report(counted.count)
    counted.count = 0
    return true
  }

  const admits: FaultCounts['admits'] = (record, message, report) => {
    const kind = kindOf(record, message)
    if (kind === undefined) return true
    const counted = kinds.get(kind)
    if (counted !== undefined) {
      counted.count++
      return false
    }
    if (kinds.size >= maxKinds) return true
    kinds.set(kind, { count: 0, report })
    const timer = setInterval(() => {
      if (tellOf(kind)) return
      clearInterval(timer)
      kinds.delete(kind)
    }, intervalMs)
    timer.unref()
    return true
  }

  return { admits, end: () => [...kinds.keys()].forEach(tellOf) }
}

/** The key under which equal records are counted; undefined: log each. */
function kindOf(record: unknown, message: string): string | undefined {
  const code = codeIn(record)
  if (persistent.has(code)) return `${code} ${message}`
  if (!persistentByPath.has(code)) return undefined
  const error = errorIn(record)
  return `${code} ${message} ${error instanceof Error ? error.message : ''}`
}

function codeIn(record: unknown): unknown {
  if (typeof record !== 'object' || record === null) return undefined
  return 'code' in record ? record.code : codeOf(errorIn(record))
}

function errorIn(record: unknown): unknown {
  return typeof record === 'object' && record !== null && 'err' in record ? record.err : undefined
}

/** A pino `logMethod`; pino calls it for each line at or above the level. */
export function countingFaults(counts: FaultCounts) {
  return function logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn): void {
    const [record, message] = args as unknown as [unknown, string?] // the common part of LogFn's overloads
    const report = (count: number) =>
      method.call(this, { code: codeIn(record), count }, `${message}: ${count} more times since`)
    if (counts.admits(record, message ?? '', report)) method.apply(this, args)
  }
}
