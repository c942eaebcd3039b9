/**
 * The seed of all random tests: the hash of HEAD's tree. A commit is judged by the same draws each time. The deep
 * run sets a fresh one in GROVE_TEST_SEED, which also repeats a run.
 */

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { randomFrom } from './random.ts'
import { shared } from './shared.ts'

/** True in the deep run and in that of a landing. They draw all cases. */
export const isDeep = process.env.GROVE_TEST_DEEP === 'yes'

// Workers inherit it from the process that starts the run.
process.env.GROVE_TEST_SEED ??= String(seedOfTree())

/** A 31-bit integer. */
export const seed = Number(process.env.GROVE_TEST_SEED)

function seedOfTree(): number {
  try {
    return Number.parseInt(treeOf('HEAD').slice(0, 8), 16) >>> 1
  } catch {
    return 1 // The source came without its repository.
  }
}

/** The id of a commit's tree. @throws Error if this is not a Git repository */
export function treeOf(commit: string): string {
  return execFileSync('git', ['rev-parse', `${commit}^{tree}`], { encoding: 'utf8', stdio: 'pipe' }).trim()
}

/** Returns how many cases to draw. It is `all` in the deep run, otherwise an eighth and at least five. */
export function runs(all: number): number {
  return isDeep ? all : Math.min(all, Math.max(5, Math.ceil(all / 8)))
}

const hashOf = (title: string) => createHash('sha256').update(`${seed}\n${title}`).digest().readInt32LE()

/**
 * Chooses the cells of a table's row to try, in their order. They are both sides of each boundary between two results, and
 * one that is drawn. The other cells repeat the mechanism of their neighbours. The deep run tries all.
 */
export function atBoundaries<C>(title: string, cells: readonly C[], resultOf: (cell: C) => unknown): C[] {
  if (isDeep) return [...cells]
  const drawn = (hashOf(title) >>> 1) % cells.length
  const result = (at: number) => (cells[at] === undefined ? undefined : resultOf(cells[at]))
  const isEdge = (at: number, next: number) => cells[next] !== undefined && result(at) !== result(next)
  return cells.filter((_, at) => at === drawn || isEdge(at, at - 1) || isEdge(at, at + 1))
}

const draws = shared('draws', () => ({ next: randomFrom(seed) }))

/** Begins the draws of a test. They depend only on the seed and its title, not on other tests. */
export function reseed(title: string): void {
  draws.next = randomFrom(hashOf(title))
}

/** Draws a number from 0 up to 1, exclusive. */
export function chance(): number {
  return draws.next()
}
