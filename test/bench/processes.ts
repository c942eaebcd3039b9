/** Reads memory, open files and children of processes from Linux's /proc. */

import { readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** Bytes of memory that the process now has in RAM. @throws Error if there is no such process, or no /proc */
export async function residentMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024
}

/**
 * The most bytes that the process has had in RAM since it started, or since `resetPeakMemory`.
 *
 * @throws the errors of residentMemory
 */
export async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024
}

/** Resets the peak. Source: proc(5), `clear_refs`. */
export async function resetPeakMemory(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5')
}

/** The targets of the open file descriptors. */
export async function openFiles(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`
  const links = (await readdir(folder)).map((name) => readlink(`${folder}/${name}`).catch(() => ''))
  return (await Promise.all(links)).filter((link) => link !== '')
}

/** The process and its descendants that run `node`: a service and its workers, without their Git processes. */
export async function nodeProcesses(pid: number): Promise<number[]> {
  const below = await Promise.all((await childrenOf(pid)).map(nodeProcesses))
  return (await commandOf(pid)) === 'node' ? [pid, ...below.flat()] : below.flat()
}

/** The command lines of the child processes that still run. */
export async function commandsBelow(pid: number): Promise<string[]> {
  const lines = (await childrenOf(pid)).map((child) => readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => ''))
  return (await Promise.all(lines)).filter(Boolean).map((line) => line.replaceAll('\0', ' ').trimEnd())
}

async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => ''))
  return (await Promise.all(lists)).flatMap((list) => list.split(' ').filter(Boolean).map(Number))
}

/**
 * The processes that work in the folder or below it. These include every Git process that serves a client of a
 * repository there.
 */
export async function workingIn(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')))
  return pids.filter((_, at) => `${places[at]}/`.startsWith(`${folder}/`))
}

/**
 * Waits until the process takes less than a tenth of a core, for at most a minute. The sweep after a start has then
 * ended.
 */
export async function waitUntilIdle(pid: number): Promise<void> {
  let before = await ticksOf(pid)
  for (let second = 0; second < 60; second++) {
    await sleep(1_000)
    const now = await ticksOf(pid)
    if (now - before < 10) return
    before = now
  }
}

/** Microseconds of CPU time of the process and all Node processes below it, in steps of 10,000. */
export async function computing(pid: number): Promise<number> {
  const ticks = await Promise.all((await nodeProcesses(pid)).map((one) => ticksOf(one)))
  return 10_000 * ticks.reduce((sum, some) => sum + some, 0)
}

/** Nanoseconds of CPU time of the threads that the process has now. */
export async function nanoseconds(pid: number): Promise<number> {
  return [...(await threadTimes(pid)).values()].reduce((sum, time) => sum + time, 0)
}

/** Maps the threads that the process has now to their CPU time in ns. Source: Documentation/scheduler/sched-stats.rst. */
export async function threadTimes(pid: number): Promise<Map<string, number>> {
  const timeOfThread = async (thread: string): Promise<[string, number]> => {
    const stat = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')
    return [thread, Number(stat.split(' ')[0])]
  }
  return new Map(await Promise.all((await readdir(`/proc/${pid}/task`)).map(timeOfThread)))
}

/** Microseconds of CPU time of the process and its descendants, including ended ones. */
export async function computingOfAll(pid: number): Promise<number> {
  const below = await Promise.all((await childrenOf(pid)).map(computingOfAll))
  const own = 10_000 * (await ticksOf(pid, ['own', 'ended']).catch(() => 0))
  return below.reduce((sum, some) => sum + some, own)
}

/** The process that starts all others of this PostgreSQL, which must be on this machine. */
export async function postmasterOf(url: string): Promise<number> {
  const asking = new pg.Client({ connectionString: url })
  await asking.connect()
  try {
    const { rows } = await asking.query<{ pid: number }>('select pg_backend_pid() as pid')
    const status = await readFile(`/proc/${rows[0]?.pid}/status`, 'utf8')
    return Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1])
  } finally {
    await asking.end()
  }
}

const tickFields = { own: [11, 12], ended: [13, 14] } as const

/**
 * Hundredths of a second of CPU time, in user and kernel mode. Counts the process itself, or its children that have
 * ended and been waited for. Source: proc(5), `stat`.
 */
async function ticksOf(pid: number, whose: readonly (keyof typeof tickFields)[] = ['own']): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return whose.flatMap((which) => tickFields[which]).reduce((sum, at) => sum + Number(fields[at]), 0)
}

async function commandOf(pid: number): Promise<string> {
  const name = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return name.split('\0')[0]?.split('/').at(-1) ?? ''
}
