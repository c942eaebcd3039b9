/**
 * Sets up one run of the tests with a folder for everything temporary. It is removed when the run ends. It is in memory
 * if there is room, because syncs cost nothing there. The 100,000 syncs take half of a run on a disk. Mocha loads this
 * file.
 */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { costHooks } from './costs.ts'
import { expectNothingLeft, lookBefore } from './isolation.ts'
import { endAll } from './processes.ts'
import { reseed, seed } from './seed.ts'
import { withVfork } from './vfork.ts'

const memory = '/dev/shm'
/** Twice the size of the largest files that tests have at the same time. */
const neededBytes = 4 * 1024 ** 3
const prefix = 'grove-run-'

/** Adds a method that mocha's types lack. */
type ParallelRunner = Mocha.Runner & { isParallelMode(): boolean }

/** Runs only in the first process. The workers that it starts inherit TMPDIR. */
export function mochaGlobalSetup(this: ParallelRunner): void {
  const base = process.env.GROVE_TEST_DISK === 'yes' || !hasRoom() ? tmpdir() : memory
  removeStale(base)
  const folder = join(base, `${prefix}${process.pid}`)
  mkdirSync(folder)
  keepTranspiled(folder)
  process.env.TMPDIR = folder
  process.env.GROVE_RUN_FOLDER = folder
  // Workers inherit it. The process that starts them runs no tests.
  if (this.isParallelMode()) Object.assign(process.env, withVfork())
  // This runs at every end of the run. If the run is killed, the next one removes the folder.
  process.once('exit', () => remove(folder))
}

fc.configureGlobal({ seed })

export const mochaHooks = {
  beforeAll: [lookBefore, costHooks.beforeAll],
  beforeEach: [costHooks.beforeEach, reseedTest],
  afterEach: costHooks.afterEach,
  afterAll: [endAll, costHooks.afterAll, expectNothingLeft],
}

function reseedTest(this: Mocha.Context): void {
  reseed(this.currentTest?.fullTitle() ?? '')
}

/** Keeps files that tsx transpiled in earlier runs. `tsx` searches them in the folder for everything temporary. */
function keepTranspiled(folder: string): void {
  const name = `tsx-${process.getuid?.()}`
  const kept = join(tmpdir(), name)
  if (existsSync(kept)) symlinkSync(kept, join(folder, name))
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize >= neededBytes
  } catch {
    return false
  }
}

/** Removes the folders of runs that were killed. */
function removeStale(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = Number(name.startsWith(prefix) ? name.slice(prefix.length) : NaN)
    if (pid > 0 && !isAlive(pid)) {
      unmountBelow(join(base, name))
      remove(join(base, name))
    }
  }
}

/** Ends what a killed test has mounted, because a mounted folder cannot be removed. Source: proc(5), `mounts`. */
function unmountBelow(folder: string): void {
  if (!existsSync('/proc/self/mounts')) return
  const places = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
  for (const place of places) if (place.startsWith(`${folder}/`)) execFileSync('umount', ['-l', place])
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Removes a folder. Retries, because a process that is being killed may still write. */
function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}
