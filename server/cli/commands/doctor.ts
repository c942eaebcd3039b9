/** `grove doctor`: checks repositories, databases and the index. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresOf } from '../../base/config.ts'
import { plural } from '../../base/plural.ts'
import { examine, type Step } from '../../domain/operator/doctor.ts'
import type { Progress } from '../progress.ts'
import { type Call, printLine, problemsFound, progressFor, requireFolder, withDeps } from './command.ts'

/** Checks the data folder and changes nothing. Returns 1 for faults; notes do not count. */
export async function checkHealth({ config, signal }: Call, options: { readonly json?: boolean }): Promise<number> {
  await requireFolder(config.dataDir)
  const folder = await mkdtemp(join(tmpdir(), 'grove-doctor-'))
  try {
    const { databaseUrl: _, cell: __, ...own } = config
    const scratch = { ...own, dataDir: folder, logLevel: 'silent' as const }
    const source = { root: config.dataDir, postgres: postgresOf(config), cell: config.cell?.name }
    const { orgs, nodes, schemas, findings } = await withDeps({ config: scratch, signal }, async (deps) => {
      const progress = new Map<Step, Progress>()
      const done = await examine(source, deps, (step, at, total) => {
        if (!progress.has(step)) for (const before of progress.values()) before.end()
        const bar = progress.get(step) ?? progressFor(step)
        progress.set(step, bar)
        bar.at(at, total)
      })
      ;[...progress.values()].at(-1)?.end()
      return done
    })
    const faults = findings.filter(({ kind }) => kind === 'fault')
    const lines = findings.map(({ kind, path, reason }) => `  ${kind === 'note' ? '(note) ' : ''}${path}: ${reason}`)
    if (options.json === true) {
      printLine(
        JSON.stringify({
          data_dir: config.dataDir,
          organisations: orgs,
          nodes,
          schemas,
          healthy: faults.length === 0,
          findings,
        }),
      )
    } else {
      printLine(`${config.dataDir}: ${plural(orgs, 'organisation')} and ${plural(nodes, 'node')}`)
      for (const [name, migration] of Object.entries(schemas)) printLine(`${name}: schema ${migration}`)
      printLine(problemsFound(faults.length))
      for (const line of lines) printLine(line)
    }
    return faults.length === 0 ? 0 : 1
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
