/** Injects faults of the file system at a chosen call of a spawned service. `faults.cc` says which calls are steps. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Fault =
  | `${'EIO' | 'KILL' | 'LOG' | 'SYNC' | 'FULL' | 'READONLY'} ${number}`
  | `${'EIO' | 'KILL' | 'LOG'} ${number} ${string}`

export interface Faults {
  /** The environment for `spawnGrove`. */
  readonly environment: Record<string, string>
  /**
   * Requests a fault.
   * - `EIO n`, `KILL n`: the n-th step from now fails, or kills the process.
   * - `… between`: counts only the second and further moves of a ref transaction.
   * - `… <node id>`: does not count steps in the repositories of other nodes.
   * - `SYNC 0`: every sync fails.
   * - `FULL 0`: the disk is full.
   * - `READONLY 0`: nothing can be changed.
   * - `LOG 0`: records the steps.
   */
  ask(what: Fault): Promise<void>
  none(): Promise<void>
  /** Returns the steps recorded since the last `ask`. After `EIO n` that is the step that failed. */
  logged(): Promise<string[]>
  remove(): Promise<void>
}

/** Compiles the library. It uses the C++ compiler that the installation of the service also needs. */
export function prepareFaults(): Faults {
  const folder = mkdtempSync(join(tmpdir(), 'grove-faults-'))
  const library = compiled('faults.cc', '-shared', '-fPIC', '-ldl')
  const file = join(folder, 'ask')
  return {
    environment: { LD_PRELOAD: library, GROVE_FAULTS: file },
    ask: async (what) => {
      await rm(`${file}.log`, { force: true })
      // The number makes each fault distinct, even if it repeats the last one. The rename makes sure that it is never
      // half read.
      await writeFile(`${file}.next`, `${what} ${what.split(' ').length < 3 ? '*' : ''} ${++questions}\n`)
      await rename(`${file}.next`, file)
    },
    none: () => rm(file, { force: true }),
    logged: async () => (await readFile(`${file}.log`, 'utf8').catch(() => '')).split('\n').filter(Boolean),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

let questions = 0

/**
 * Compiles a C++ file of this folder and returns the path of the result. Compiles once for each run of the tests, or
 * once for this process.
 */
export function compiled(source: string, ...options: readonly string[]): string {
  const made = join(runFolder(), `${source}.built`)
  if (!existsSync(made)) {
    const fresh = `${made}.${process.pid}`
    execFileSync('g++', ['-O1', '-o', fresh, new URL(source, import.meta.url).pathname, ...options])
    renameSync(fresh, made)
  }
  return made
}

let ownFolder: string | undefined

/** Returns the run's folder. If mocha has made none, this process makes one. */
function runFolder(): string {
  if (process.env.GROVE_RUN_FOLDER !== undefined) return process.env.GROVE_RUN_FOLDER
  if (ownFolder === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'grove-built-'))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    ownFolder = folder
  }
  return ownFolder
}
