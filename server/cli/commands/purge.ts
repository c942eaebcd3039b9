/** `grove purge`: permanently deletes old items from the trash. */
import { purge, type Trashed } from '../../domain/operator/trash.ts'
import { type Call, printLine, progressFor, requireFolder, UsageError, withDeps } from './command.ts'

export interface PurgeOptions {
  /** Default: TRASH_DAYS. */
  readonly olderThan?: string
  readonly force?: boolean
}

/** Days for which deleted data is kept without `--force`. */
const shortestTrash = 14

export async function purgeTrash(call: Call, options: PurgeOptions): Promise<number> {
  const { olderThan = String(call.config.trashDays), force = false } = options
  const days = /^\d{1,5}$/.test(olderThan) ? Number(olderThan) : undefined
  if (days === undefined) throw new UsageError(`--older-than must be a number of days: ${olderThan}`)
  if (days < shortestTrash && !force)
    throw new UsageError(`Use --force to purge items deleted less than ${shortestTrash} days ago`)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const progress = progressFor('Removing')
    const { removed, kept } = await purge(deps, new Date(deps.now().getTime() - days * 24 * 3_600_000), progress.at)
    progress.end()
    for (const one of removed) printLine(`removed ${nameOf(one)}, deleted ${one.deleted_at}`)
    printLine(`${removed.length} removed, ${kept.length} kept (deleted less than ${days} days ago)`)
    return 0
  })
}

function nameOf({ orgId, nodeId }: Trashed): string {
  return nodeId === undefined ? `organisation ${orgId}` : `${orgId}/${nodeId}`
}
