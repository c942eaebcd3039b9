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
  /** True: it costs more than twice its bound. If that happens twice, it is not chance. */
  readonly isRefused: boolean
}

/** Returns the tests and files that cost more than their bounds, the dearest first. */
export function overBudget(costs: readonly Cost[], listed: Bounds = readBounds()): OverBudget[] {
  return costs
    .map((cost) => {
      const bound = listed[nameOf(cost)] ?? (cost.test === undefined ? bounds.file : bounds.test)
      return { cost, bound, isRefused: cost.ms > tolerance * bound }
    })
    .filter(({ cost, bound }) => cost.ms > bound)
    .sort((one, other) => other.cost.ms - one.cost.ms)
}

/** Returns the names whose bounds are new or larger than before. */
export function grown(before: Bounds, after: Bounds): string[] {
  return Object.keys(after).filter((name) => (after[name] ?? 0) > (before[name] ?? 0))
}
