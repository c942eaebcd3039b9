/** `grove backup`: copies accounts and repositories to a folder. */
import { writeFile } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { lexists } from '../../../gitstore/fs-exists.ts'
import { postgresOf } from '../../base/config.ts'
import { backedUpFile } from '../../domain/layout.ts'
import { backUpData, findMistake } from '../../domain/operator/backup.ts'
import { readStamps } from '../../domain/operator/mirror-checks.ts'
import { type Call, printLine, printProblems, progressFor, requireFolder, UsageError, withDeps } from './command.ts'

interface BackupFlags {
  readonly jobs?: string
  readonly full?: boolean
}

/** Largest number of repositories copied at a time. Each needs a Git process on either side. */
const maxJobs = 64

/** Backs up accounts and repositories. Returns 1 if anything could not be copied, or a copy is damaged. */
export async function backup(call: Call, target: string, { jobs = '2', full = false }: BackupFlags): Promise<number> {
  const { config, signal } = call
  const atOnce = Number(jobs)
  if (!(Number.isInteger(atOnce) && atOnce >= 1 && atOnce <= maxJobs))
    throw new UsageError(`--jobs must be a whole number from 1 to ${maxJobs}`)
  const dir = resolve(target)
  await requireFolder(config.dataDir)
  if (`${dir}${sep}`.startsWith(`${config.dataDir}${sep}`) || `${config.dataDir}${sep}`.startsWith(`${dir}${sep}`))
    throw new UsageError(`${dir} and the data folder ${config.dataDir} must not contain each other`)
  if (lexists(dir)) await requireFolder(dir)
  const source = { root: config.dataDir, postgres: postgresOf(config) }
  const mistake = await findMistake(source, dir)
  if (mistake !== undefined) throw new UsageError(mistake)
  // Recovers dead processes' transactions. Even if that fails, the rest is backed up.
  const opened = await withDeps(call, readStamps).catch((error: unknown) => error)
  signal.throwIfAborted()
  const stamps = opened instanceof Map ? opened : new Map<string, number>()
  const progress = progressFor('Copying')
  const done = await backUpData(source, dir, { atOnce, full, stamps }, new Date(), signal, progress.at)
  progress.end()
  const since = done.isFirst
    ? 'the first backup in this folder'
    : `${done.fetched} of them changed since the last backup`
  printLine(`${done.repositories} repositories in ${dir}, ${since}`)
  for (const path of done.gone) printLine(`kept, although it was deleted: ${path}`)
  for (const path of done.again) printLine(`copied again, because its mirror was damaged: ${path}`)
  const problems = [
    ...(opened instanceof Error ? [{ path: config.dataDir, reason: opened.message }] : []),
    ...done.problems,
  ]
  const code = printProblems(problems)
  // A disk that is full must not make the backup fail. The metric then has the time of an earlier one.
  if (code === 0)
    await writeFile(join(config.dataDir, backedUpFile), new Date().toISOString()).catch((error: unknown) =>
      printLine(`the time of this backup could not be noted for the metrics: ${error}`),
    )
  return code
}
