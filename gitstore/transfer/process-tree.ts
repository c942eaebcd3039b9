/** Reads the CPU time and the children of a process from /proc (proc(5)). Only Linux has it: elsewhere there is nothing to see. */

import { readdir, readFile } from 'node:fs/promises'
import type { GitProcess } from '../native.ts'

/** Ticks of a second in /proc: the same on every machine for which Node is built. */
const ticksPerSecond = 100
/** Columns of `stat` behind the name: time in user and in kernel mode, and both of the children that have ended. */
const timeColumns = [11, 12, 13, 14]

export async function childrenOf(pid: number | string): Promise<string[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'latin1').catch(() => ''))
  return (await Promise.all(lists)).flatMap((list) => list.split(' ').filter(Boolean))
}

/** Seconds of CPU time that the process and all below it have taken, also those that have ended and been waited for. */
async function cpuSecondsOf(pid: number | string): Promise<number> {
  const [stat, children] = await Promise.all([readFile(`/proc/${pid}/stat`, 'latin1').catch(() => ''), childrenOf(pid)])
  // The name of a process may hold spaces and parentheses.
  const columns = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const own = timeColumns.reduce((sum, at) => sum + Number(columns[at] ?? 0), 0) / ticksPerSecond
  const below = await Promise.all(children.map(cpuSecondsOf))
  return below.reduce((sum, seconds) => sum + seconds, own)
}

/** Seconds for each MiB that has been received. The history of git itself needs 0.16. */
const secondsPerMib = 2
const lookIntervalMs = 1_000

interface CpuWatch {
  /** Counts bytes that git receives. */
  received(bytes: number): void
  end(): void
}

/**
 * Bounds the CPU time of one push before its refs move. The bytes of a pack say little of its cost: a delta of 40 bytes is a
 * file of 100 MiB, and chains of them are inflated again and again. Calls `overspent` once with the seconds that were allowed:
 * `base`, and more with each MiB.
 */
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
