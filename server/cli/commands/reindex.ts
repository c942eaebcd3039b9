/** `grove reindex`: rebuilds the index from the repositories. */
import { plural } from '../../base/plural.ts'
import { reindex } from '../../domain/indexing/reindex.ts'
import { type Call, printLine, progressFor, requireFolder, withDeps } from './command.ts'

/** Rebuilds the index. Returns 1 if a repository could not be read. */
export async function rebuildIndex(call: Call): Promise<number> {
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const progress = progressFor('Indexing')
    const done = await reindex(deps, progress.at)
    call.signal.throwIfAborted()
    progress.end()
    printLine(`${plural(done.orgs, 'organisation')} and ${plural(done.nodes, 'node')} indexed`)
    for (const { path, reason } of done.failed) printLine(`  cannot be read, not reindexed: ${path}: ${reason}`)
    return done.failed.length > 0 ? 1 : 0
  })
}
