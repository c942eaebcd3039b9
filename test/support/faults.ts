/** Faults of the file system at a chosen call, in a service that runs as a child (faults.cc says which calls are steps). */
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
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

/** Compiles the library, with the C++ compiler that the installation of the service needs too. */
export function prepareFaults(): Faults {
  const folder = mkdtempSync(join(tmpdir(), 'grove-faults-'))
  const [library, file] = [join(folder, 'faults.so'), join(folder, 'ask')]
  compile('faults.cc', library, '-shared', '-fPIC', '-ldl')
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

/** A file of C++ beside this one. */
export function compile(source: string, to: string, ...options: readonly string[]): void {
  execFileSync('g++', ['-O1', '-o', to, new URL(source, import.meta.url).pathname, ...options])
}
