/** Faults of the file system at a chosen call, in a service that runs as a child (faults.cc). */
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Faults {
  /** For `spawnGrove`. */
  readonly environment: Record<string, string>
  /** `SYNC 0`: every sync fails; `EIO n`, `KILL n`: so does the n-th sync, rename or link from now; `LOG 0`: each is written down. */
  ask(what: `${'EIO' | 'KILL' | 'LOG' | 'SYNC'} ${number}`): Promise<void>
  none(): Promise<void>
  /** What was written down since the last `LOG 0`. */
  logged(): Promise<string[]>
  remove(): Promise<void>
}

/** Compiles the library, with the C++ compiler that the installation of the service needs too. */
export function prepareFaults(): Faults {
  const folder = mkdtempSync(join(tmpdir(), 'grove-faults-'))
  const [library, file] = [join(folder, 'faults.so'), join(folder, 'ask')]
  const source = new URL('./faults.cc', import.meta.url).pathname
  execFileSync('g++', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'])
  return {
    environment: { LD_PRELOAD: library, GROVE_FAULTS: file },
    ask: async (what) => {
      await rm(`${file}.log`, { force: true })
      // The number of the question makes it another one, though it may ask the same.
      await writeFile(file, `${what} ${++questions}\n`)
    },
    none: () => rm(file, { force: true }),
    logged: async () => (await readFile(`${file}.log`, 'utf8').catch(() => '')).split('\n').filter(Boolean),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

let questions = 0
