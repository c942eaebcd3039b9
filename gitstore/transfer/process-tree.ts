/**
 * Reads the CPU time and the children of a process from /proc (proc(5)). Other systems than Linux have no such files,
 * and nothing is read.
 */

import { readdir, readFile } from 'node:fs/promises'
import type { GitProcess } from '../native.ts'

/** Ticks per second in /proc. They are the same on every machine for which Node is built. */
const ticksPerSecond = 100
/** Columns of `stat` after the process's name. They are its user and kernel time, and those of its ended children. */
const timeColumns = [11, 12, 13, 14]

export async function childrenOf(pid: number | string): Promise<string[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'latin1').catch(() => ''))
  return (await Promise.all(lists)).flatMap((list) => list.split(' ').filter(Boolean))
}

/** The CPU time, in seconds, of the process and its descendants. It includes ended processes that were waited for. */
async function cpuSecondsOf(pid: number | string): Promise<number> {
  const [stat, children] = await Promise.all([readFile(`/proc/${pid}/stat`, 'latin1').catch(() => ''), childrenOf(pid)])
  // The name of a process may contain spaces and parentheses.
  const columns = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const own = timeColumns.reduce((sum, at) => sum + Number(columns[at] ?? 0), 0) / ticksPerSecond
  const below = await Promise.all(children.map(cpuSecondsOf))
  return below.reduce((sum, seconds) => sum + seconds, own)
}

/** Seconds for each MiB received. Git's own history needs 0.16. */
const secondsPerMib = 2
const lookIntervalMs = 1_000

interface CpuWatch {
  /** Counts bytes that Git receives. */
  received(bytes: number): void
  end(): void
}

/**
 * Bounds the CPU time of one push before its refs move. The size of a pack says little about its cost. A delta of 40
 * bytes can be a file of 100 MiB, and chains of deltas are inflated again and again. The allowed seconds are `base`,
 * and more for each MiB. Calls `overspent` once, with the allowed seconds.
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
