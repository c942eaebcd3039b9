/** `grove doctor`: checks repositories, databases and the index. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresOf } from '../../base/config.ts'
import { plural } from '../../base/plural.ts'
import type { Bounds } from '../../domain/operator/bounds.ts'
import { type AccountsCheck, examine, type Step } from '../../domain/operator/doctor.ts'
import type { Progress } from '../progress.ts'
import {
  type Call,
  printLine,
  problemsFound,
  progressFor,
  requireFolder,
  requireSince,
  UsageError,
  withDeps,
} from './command.ts'

export interface DoctorOptions {
  readonly json?: boolean
  /** The share of the repositories in percent, or true for all. */
  readonly secondReader?: string | true
  /** Checks only a share of the repositories in percent. */
  readonly sample?: string
  /** Checks only repositories that may have changed since this time. */
  readonly since?: string
}

/**
 * Checks the data folder and changes nothing. Returns 1 for faults; notes do not count.
 *
 * @param checks those of features
 *
 * @throws UsageError
 */
export async function checkHealth(
  { config, signal }: Call,
  options: DoctorOptions,
  checks: readonly AccountsCheck[],
): Promise<number> {
  const secondShare = options.secondReader === true ? '100' : options.secondReader
  const percent = requireShare('--second-reader', secondShare)
  const bounds = {
    sinceMs: options.since === undefined ? undefined : requireSince(options.since),
    sample: requireShare('--sample', options.sample),
  }
  await requireFolder(config.dataDir)
  const folder = await mkdtemp(join(tmpdir(), 'grove-doctor-'))
  try {
    const { databaseUrl: _, cell: __, ...own } = config
    const scratch = { ...own, dataDir: folder, logLevel: 'silent' as const }
    const source = { root: config.dataDir, postgres: postgresOf(config), cell: config.cell?.name, checks, bounds }
    const { orgs, nodes, schemas, findings, checked, second } = await withDeps(
      { config: scratch, signal },
      async (deps) => {
        const progress = new Map<Step, Progress>()
        const onProgress = (step: Step, at: number, total: number) => {
          if (!progress.has(step)) for (const before of progress.values()) before.end()
          const bar = progress.get(step) ?? progressFor(step)
          progress.set(step, bar)
          bar.at(at, total)
        }
        const done = await examine(source, deps, onProgress, percent)
        ;[...progress.values()].at(-1)?.end()
        return done
      },
    )
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
          ...(checked && { checked, not_checked: orgs + nodes - checked.length }),
          ...(second && { second_reader: { repositories: second.repositories, objects: second.objects } }),
        }),
      )
    } else {
      printLine(`${config.dataDir}: ${plural(orgs, 'organisation')} and ${plural(nodes, 'node')}`)
      for (const [name, migration] of Object.entries(schemas)) printLine(`${name}: schema ${migration}`)
      if (checked) printBounds(bounds, checked.length, orgs + nodes)
      if (second) {
        const read = `${plural(second.objects, 'object')} of ${plural(second.repositories, 'repository', 'repositories')}`
        printLine(`isomorphic-git: read ${read}`)
      }
      printLine(problemsFound(faults.length))
      for (const line of lines) printLine(line)
    }
    return faults.length === 0 ? 0 : 1
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @throws UsageError */
function requireShare(option: string, text: string | undefined): number | undefined {
  const percent = Number(text ?? 100)
  if (!(percent > 0 && percent <= 100))
    throw new UsageError(`${option} takes a share in percent, above 0 and up to 100, not ${text}`)
  return text === undefined ? undefined : percent
}

/** Prints what was checked, and what was not. */
function printBounds({ sinceMs, sample }: Bounds, count: number, total: number): void {
  const changed = sinceMs !== undefined && `those that may have changed since ${new Date(sinceMs).toISOString()}`
  const share = sample !== undefined && `${sample} % of ${changed ? 'the others' : 'all'}, drawn at random`
  const which = [changed, share].filter(Boolean).join(', and ')
  printLine(`checked ${count} of ${plural(total, 'repository', 'repositories')}: ${which}`)
  const others = `${plural(total - count, 'other repository', 'other repositories')} and their rows in the index`
  printLine(`not checked: ${others}; cycles of parents, counts of tags, and creations that rules would have refused`)
}
