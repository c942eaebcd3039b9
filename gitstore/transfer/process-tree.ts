/** A process and what it has started, as Linux shows them in /proc (proc(5)). Elsewhere there is nothing to see. */

import { readdir, readFile } from 'node:fs/promises'

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
export async function cpuSecondsOf(pid: number | string): Promise<number> {
  const [stat, children] = await Promise.all([readFile(`/proc/${pid}/stat`, 'latin1').catch(() => ''), childrenOf(pid)])
  // The name of a process may hold spaces and parentheses.
  const columns = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const own = timeColumns.reduce((sum, at) => sum + Number(columns[at] ?? 0), 0) / ticksPerSecond
  const below = await Promise.all(children.map(cpuSecondsOf))
  return below.reduce((sum, seconds) => sum + seconds, own)
}
