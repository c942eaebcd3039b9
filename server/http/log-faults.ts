/** Faults that come with every request for as long as they last: told when they begin, then counted, a line a minute. */

import type { LogFn, Logger } from 'pino'
import { codeOf } from '../../gitstore/errors.ts'

const intervalMs = 60_000

/** Of these the first tells all: a full disk, a folder that cannot be written to, an index that is being made again. */
const persistent: ReadonlySet<unknown> = new Set(
  'busy storage_full storage_readonly storage_error ENOSPC EDQUOT EROFS EIO EACCES EPERM EMFILE ENFILE'.split(' '),
)

/** Of these each repository has its own, which the error's message names. */
const persistentByPath: ReadonlySet<unknown> = new Set('ref_damaged object_missing object_damaged damaged'.split(' '))

/** Kinds that are counted at once; what is beyond is told each time. */
const mostKinds = 1_000

export interface FaultCounts {
  /** Whether the record is to be written; one that is not is counted. `tell` is called with how many there were. */
  admits(record: unknown, message: string, tell: (count: number) => void): boolean
  /** Tells what is counted, before the log ends. */
  end(): void
}

export function faultCounts(): FaultCounts {
  const kinds = new Map<string, { count: number; readonly tell: (count: number) => void }>()

  const tellOf = (kind: string): boolean => {
    const counted = kinds.get(kind)
    if (counted === undefined || counted.count === 0) return false
    counted.tell(counted.count)
    counted.count = 0
    return true
  }

  const admits: FaultCounts['admits'] = (record, message, tell) => {
    const kind = kindOf(record, message)
    if (kind === undefined) return true
    const counted = kinds.get(kind)
    if (counted !== undefined) {
      counted.count++
      return false
    }
    if (kinds.size >= mostKinds) return true
    kinds.set(kind, { count: 0, tell })
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

/** What the record has in common with those that follow; undefined: each is told. */
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

/** As pino calls it for each line that its level lets through. */
export function countingFaults(counts: FaultCounts) {
  return function logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn): void {
    const [record, message] = args as unknown as [unknown, string?] // what the overloads of LogFn have in common
    const tell = (count: number) =>
      method.call(this, { code: codeIn(record), count }, `${message}: ${count} more times since`)
    if (counts.admits(record, message ?? '', tell)) method.apply(this, args)
  }
}
