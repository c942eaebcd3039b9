/** Where lines of the log go: a descriptor, written to without waiting for its disk, and without failing where it fails. */

import { writeSync } from 'node:fs'
import { codeOf } from '../../gitstore/errors.ts'

export interface Lines {
  write(line: string): void
  /** Writes what waits, or keeps it for the next time; true where the reader takes more in a moment. */
  flush(): boolean
}

/** Bytes that are gathered for one write. */
const gatheredBytes = 4_096
/** Bytes that wait at most while nothing can be written. */
const waitingBytes = 1024 * 1024

/**
 * Lines are never cut. While the descriptor takes none (a disk that is full, a reader that has gone) they wait, and are
 * thrown away beyond 1 MiB; `lost` says in a line how many, once there is room again.
 */
export function linesTo(descriptor: number, lost: (count: number) => string): Lines {
  let waiting: Buffer[] = []
  let bytes = 0
  /** Bytes of the first line that are written. */
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

  /** Lines that are whole on the other side, once `count` bytes are. */
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

  return { write, flush }
}
