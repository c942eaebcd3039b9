/** `grove backup`: copies accounts and repositories to a folder. */
import { resolve, sep } from 'node:path'
import { isTaken } from '../../gitstore/presence.ts'
import { backUp, findMistake } from '../domain/operator/backup.ts'
import { type Call, progressFor, requireFolder, say, sayProblems, UsageError, withDeps } from './command.ts'

/** Exit code 1 if anything could not be copied, or is not sound where it was copied to. */
export async function backUpTo(call: Call, target: string): Promise<number> {
  const { config, signal } = call
  const dir = resolve(target)
  await requireFolder(config.dataDir)
  if (`${dir}${sep}`.startsWith(`${config.dataDir}${sep}`) || `${config.dataDir}${sep}`.startsWith(`${dir}${sep}`))
    throw new UsageError(`${dir} and the data folder ${config.dataDir} must lie beside each other`)
  if (isTaken(dir)) await requireFolder(dir)
  const mistake = await findMistake(config.dataDir, dir)
  if (mistake !== undefined) throw new UsageError(mistake)
  // Finishes what dead processes have begun. Where even that is damaged, a backup of the rest is wanted all the more.
  const sick = await withDeps(call, async () => undefined).catch((error: unknown) => error)
  signal.throwIfAborted()
  const progress = progressFor('Copying')
  const done = await backUp(config.dataDir, dir, new Date(), signal, progress.at)
  progress.end()
  say(`${done.repositories} repositories in ${dir}, ${done.fetched} of them changed since the last backup`)
  for (const path of done.gone) say(`kept, though it is deleted: ${path}`)
  const problems = [
    ...(sick instanceof Error ? [{ path: config.dataDir, reason: sick.message }] : []),
    ...done.problems,
  ]
  return sayProblems(problems)
}
