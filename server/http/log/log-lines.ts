/** Writes log lines to a descriptor. It never blocks, and never fails if the descriptor fails. */

import { writeSync } from 'node:fs'
import { codeOf } from '../../../gitstore/errors.ts'

export interface Lines {
  write(line: string): void
  /** Writes waiting lines, or keeps them. True if the reader will soon accept more. */
  flush(): boolean
  areWaiting(): boolean
}

/** Bytes that are collected for one write. */
const gatheredBytes = 4_096
/** The most waiting bytes. */
const waitingBytes = 1024 * 1024

/**
 * Returns a writer that never cuts lines. While the descriptor accepts none (full disk, reader gone), they wait. Beyond
 * 1 MiB they are dropped, and `lost` logs how many once there is room.
 */
export function linesTo(descriptor: number, lost: (count: number) => string): Lines {
  let waiting: Buffer[] = []
  let bytes = 0
  /** Bytes already written of the first line. */
  let written = 0
  let thrown = 0
  let isFailing = false

  const flush = (): boolean => {
    if (bytes === 0) return false
    const all = Buffer.concat(waiting)
    let at = written
    try {
      while (at < all.length) at += writeSync(descriptor, all, at)
    } catch (error) {
      isFailing = true
      forget(at)
      return codeOf(error) === 'EAGAIN'
    }
    isFailing = false
    forget(at)
    if (thrown > 0) {
      const line = lost(thrown)
      thrown = 0
      write(line)
    }
    return false
  }

  /** Removes the lines that are complete after `count` bytes. */
  const forget = (count: number) => {
    let whole = 0
    let first = 0
    for (const { length } of waiting) {
      if (whole + length > count) break
      whole += length
      first++
    }
    waiting = waiting.slice(first)
    bytes -= whole
    written = count - whole
  }

  const write = (line: string) => {
    if (bytes > waitingBytes) {
      const begun = written > 0 ? waiting.slice(0, 1) : []
      thrown += waiting.length - begun.length
      waiting = begun
      bytes = begun[0]?.length ?? 0
    }
    const content = Buffer.from(line)
    waiting.push(content)
    bytes += content.length
    if (bytes >= gatheredBytes && !isFailing) flush()
  }

  return { write, flush, areWaiting: () => bytes > 0 }
}
