/**
 * Bounds the CPU time of one push before its refs move. The bytes of a pack say little of its cost: a delta of 40 bytes is a
 * file of 100 MiB, and chains of them are inflated again and again.
 */

import type { GitProcess } from '../native.ts'
import { cpuSecondsOf } from './process-tree.ts'

/** Seconds for each MiB that has been received. The history of git itself needs 0.16. */
const secondsPerMib = 2
const lookIntervalMs = 1_000

export interface CpuWatch {
  /** Counts bytes that git receives. */
  received(bytes: number): void
  end(): void
}

/** Calls `overspent` once with the seconds that were allowed: `base`, and more with each MiB. Only Linux shows what was taken. */
export function watchCpu(child: GitProcess, base: number, overspent: (allowed: number) => void): CpuWatch {
  let bytes = 0
  let timer: NodeJS.Timeout | undefined
  let ended = false
  const look = async () => {
    const { pid } = child
    const taken = pid === undefined ? 0 : await cpuSecondsOf(pid)
    if (ended) return
    const allowed = base + Math.floor((secondsPerMib * bytes) / 2 ** 20)
    if (taken <= allowed) return arm()
    ended = true
    overspent(allowed)
  }
  const arm = () => {
    timer = setTimeout(() => void look(), lookIntervalMs).unref()
  }
  const end = () => {
    ended = true
    clearTimeout(timer)
  }
  child.once('close', end)
  arm()
  return {
    received: (more) => {
      bytes += more
    },
    end,
  }
}
