/**
 * Compares costs with the budget. A test may cost a second of CPU time, and a file five. `test/costs.json` has the bounds of
 * those that cost more. It may only shrink.
 */

import { readFileSync } from 'node:fs'
import type { Cost } from './costs.ts'

/** Milliseconds of CPU time on the reference machine. */
const bounds = { test: 1_000, file: 5_000 } as const

/** Costs vary, because a cold process compiles the code that a test calls. */
const tolerance = 2

export type Bounds = Readonly<Record<string, number>>

export const readBounds = (path = 'test/costs.json'): Bounds => JSON.parse(readFileSync(path, 'utf8'))

/** Names a cost as `costs.json` does: `FILE` or `FILE: TITLE`. */
export const nameOf = ({ file, test }: Cost): string => (test === undefined ? file : `${file}: ${test}`)

export interface OverBudget {
  readonly cost: Cost
  readonly bound: number
  /** True: it costs more than twice its bound, times the load. If that happens twice, it is not chance. */
  readonly isRefused: boolean
}

/**
 * Returns the median ratio of listed files' costs to their bounds. It is at least 1. While the machine does other work,
 * tests wait longer for memory than the loop that is the unit.
 */
export function loadOf(costs: readonly Cost[], listed: Bounds = readBounds()): number {
  const ratios = costs.flatMap(({ file, test, ms }) => {
    const bound = listed[file]
    return test === undefined && bound !== undefined ? [ms / bound] : []
  })
  return Math.max(1, ratios.sort((one, other) => one - other)[Math.floor(ratios.length / 2)] ?? 1)
}

/** Returns the tests and files that cost more than their bounds, the dearest first. @param load as of `loadOf` */
export function overBudget(costs: readonly Cost[], load = 1, listed: Bounds = readBounds()): OverBudget[] {
  return costs
    .map((cost) => {
      const bound = listed[nameOf(cost)] ?? (cost.test === undefined ? bounds.file : bounds.test)
      return { cost, bound, isRefused: cost.ms > tolerance * load * bound }
    })
    .filter(({ cost, bound }) => cost.ms > bound)
    .sort((one, other) => other.cost.ms - one.cost.ms)
}

/** Returns the names whose bounds are new or larger than before. */
export function grown(before: Bounds, after: Bounds): string[] {
  return Object.keys(after).filter((name) => (after[name] ?? 0) > (before[name] ?? 0))
}
