/** Faults of the file system at a chosen call, in a service that runs as a child (faults.cc says which calls are steps). */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Fault =
  | `${'EIO' | 'KILL' | 'LOG' | 'SYNC' | 'FULL' | 'READONLY'} ${number}`
  | `${'EIO' | 'KILL' | 'LOG'} ${number} ${string}`

export interface Faults {
  /** For `spawnGrove`. */
  readonly environment: Record<string, string>
  /**
   * `EIO n`, `KILL n`: the n-th step from now fails, or kills the process; with `between` only the second and further moves
   * of a ref transaction count, with a node's id nothing in the repositories of others. `SYNC 0`: every sync fails; `FULL 0`: there is no room; `READONLY 0`: nothing may change;
   * `LOG 0`: steps are written down.
   */
  ask(what: Fault): Promise<void>
  none(): Promise<void>
  /** The steps that were written down since the last question: with `EIO n` the one that failed. */
  logged(): Promise<string[]>
  remove(): Promise<void>
}

/** The library is compiled with the C++ compiler that the installation of the service needs too. */
export function prepareFaults(): Faults {
  const folder = mkdtempSync(join(tmpdir(), 'grove-faults-'))
  const library = compiled('faults.cc', '-shared', '-fPIC', '-ldl')
  const file = join(folder, 'ask')
  return {
    environment: { LD_PRELOAD: library, GROVE_FAULTS: file },
    ask: async (what) => {
      await rm(`${file}.log`, { force: true })
      // The number of the question makes it another one, though it may ask the same; in place at once, so that none is half read.
      await writeFile(`${file}.next`, `${what} ${what.split(' ').length < 3 ? '*' : ''} ${++questions}\n`)
      await rename(`${file}.next`, file)
    },
    none: () => rm(file, { force: true }),
    logged: async () => (await readFile(`${file}.log`, 'utf8').catch(() => '')).split('\n').filter(Boolean),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

let questions = 0

/** The path of what a file of C++ beside this one compiles to, once for each run of the tests, or of this process. */
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

/** Where no run of mocha has made one, this process has one of its own. */
function runFolder(): string {
  if (process.env.GROVE_RUN_FOLDER !== undefined) return process.env.GROVE_RUN_FOLDER
  if (ownFolder === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'grove-built-'))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    ownFolder = folder
  }
  return ownFolder
}
