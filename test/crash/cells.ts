/** Cells of one database, each of which is killed and started again on its folder. */

import { newDataDir } from '../support/data-folder.ts'
import { faultsIn } from '../support/log.ts'
import { freePort } from '../support/servers.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'

export interface CrashingCell {
  readonly name: string
  readonly dataDir: string
  /** For services and commands over its folder. */
  readonly environment: Readonly<Record<string, string>>
  /** While it lives. */
  grove: SpawnedGrove | undefined
  /** The standard error of processes that have ended. */
  written: string
}

export interface Cells {
  readonly all: readonly CrashingCell[]
  /** Those that live. */
  doors(): SpawnedGrove[]
  /** SIGKILL. */
  kill(cell: CrashingCell): Promise<void>
  /** Once the lease of the one before has ended. */
  start(cell: CrashingCell): Promise<void>
  /** SIGTERM to all. @throws Error for an exit code other than 0 */
  stop(): Promise<void>
  /** Whatever lives is killed. */
  end(): Promise<void>
  /** Lines of the log that tell of a fault. */
  errors(): string[]
}

export async function startCells(names: readonly string[], database: Readonly<Record<string, string>>): Promise<Cells> {
  const all: CrashingCell[] = []
  const start = async (cell: CrashingCell) => {
    cell.grove = await spawnGrove(cell.dataDir, cell.environment)
  }
  const leave = (cell: CrashingCell) => {
    const { grove } = cell
    cell.grove = undefined
    return grove
  }
  const gone = (cell: CrashingCell, grove: SpawnedGrove) => {
    cell.written += grove.output().stderr
  }
  const kill = async (cell: CrashingCell) => {
    const grove = leave(cell)
    await grove?.kill()
    if (grove) gone(cell, grove)
  }
  for (const name of names) {
    const port = await freePort()
    const own = { CELL: name, CELL_URL: `http://127.0.0.1:${port}`, PORT: String(port) }
    const cell = {
      name,
      dataDir: await newDataDir(),
      environment: { ...database, ...own },
      grove: undefined,
      written: '',
    }
    all.push(cell)
    await start(cell)
  }
  return {
    all,
    doors: () => all.flatMap(({ grove }) => (grove ? [grove] : [])),
    kill,
    start,
    stop: async () => {
      for (const cell of all) {
        const grove = leave(cell)
        const code = await grove?.stop()
        if (grove) gone(cell, grove)
        if (grove && code !== 0) throw new Error(`A cell ended with ${code}: ${cell.written}`)
      }
    },
    end: async () => {
      for (const cell of all) await kill(cell)
    },
    errors: () =>
      all.flatMap(({ written, grove }) =>
        faultsIn(`${written}${grove?.output().stderr ?? ''}`).filter((line) => /"level":[56]0/.test(line)),
      ),
  }
}
