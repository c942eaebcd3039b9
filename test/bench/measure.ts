/** Times of repeated work, in milliseconds. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Row } from './report.ts'

const run = promisify(execFile)

export type Work = () => Promise<unknown>

/** Measures work. Before that, runs it a tenth as many times unmeasured. */
export async function measure(what: string, times: number, work: Work): Promise<Row> {
  const [row] = await interleave(times, [[what, work]])
  if (!row) throw new Error('Nothing was measured')
  return row
}

/**
 * Runs one of each work in turn. Each round begins with another one, so that other load on the machine affects all
 * alike.
 */
export async function interleave(times: number, works: readonly (readonly [string, Work])[]): Promise<Row[]> {
  const taken = works.map((): number[] => [])
  for (let n = -Math.min(10, Math.ceil(times / 10)); n < times; n++) {
    for (let turn = 0; turn < works.length; turn++) {
      const at = (turn + n + times) % works.length
      const [, work] = works[at] ?? []
      const ms = work ? await timeOf(work) : 0
      if (n >= 0) taken[at]?.push(ms)
    }
  }
  return works.map(([what], at) => rowOf(what, taken[at] ?? []))
}

export async function timeOf(work: Work): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

/** Returns the items one after the other, repeatedly. @throws Error if there is no item */
export function turns<T>(items: readonly T[]): () => T {
  let n = 0
  return () => {
    const item = items[n++ % items.length]
    if (item === undefined) throw new Error('There is nothing to take turns')
    return item
  }
}

export function rowOf(what: string, times: readonly number[]): Row {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { what, p50: at(0.5), p99: at(0.99) }
}

/** Returns Git's output. @throws Error with Git's own words */
export async function git(repo: string, ...args: string[]): Promise<string> {
  const { stdout } = await run('git', ['-C', repo, ...args], { maxBuffer: 1e9 })
  return stdout.trimEnd()
}
