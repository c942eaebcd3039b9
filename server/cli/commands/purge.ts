/** `grove purge`: removes for good what was deleted long ago. */
import { purge, type Trashed } from '../../domain/operator/trash.ts'
import { type Call, printLine, progressFor, requireFolder, UsageError, withDeps } from './command.ts'

export interface PurgeOptions {
  readonly olderThan: string
  readonly force?: boolean
}

/** Days for which deleted data is kept, unless `--force`. */
const shortestTrash = 14

export async function purgeTrash(call: Call, { olderThan, force = false }: PurgeOptions): Promise<number> {
  const days = /^\d{1,5}$/.test(olderThan) ? Number(olderThan) : undefined
  if (days === undefined) throw new UsageError(`${olderThan} is not a number of days`)
  if (days < shortestTrash && !force)
    throw new UsageError(`What was deleted less than ${shortestTrash} days ago is purged with --force only`)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const progress = progressFor('Removing')
    const { removed, kept } = await purge(deps, new Date(deps.now().getTime() - days * 24 * 3_600_000), progress.at)
    progress.end()
    for (const one of removed) printLine(`removed ${nameOf(one)}, deleted ${one.deleted_at}`)
    printLine(`${removed.length} removed, ${kept.length} kept that were deleted less than ${days} days ago`)
    return 0
  })
}

function nameOf({ orgId, nodeId }: Trashed): string {
  return nodeId === undefined ? `organisation ${orgId}` : `${orgId}/${nodeId}`
}
