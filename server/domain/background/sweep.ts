/** What a crash or a hand on the server left: looked for in the background, from the start on and ever after. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { isDamage } from '../../../gitstore/errors.ts'
import { namesIn } from '../../../gitstore/presence.ts'
import { recoverAll } from '../../../gitstore/refs/ref-transaction.ts'
import { isUnfinished } from '../../../gitstore/temporary-names.ts'
import { fileSystemTime, removeIfAbandoned } from '../../../gitstore/upkeep/stale-files.ts'
import { forgetLogs } from '../../../index/derived/chain-removal.ts'
import type { Deps } from '../../deps.ts'
import { type IndexOne, indexAll, indexOne, type UnreadableRepository } from '../indexing/reindex.ts'
import { listStoredRepositories } from '../indexing/stored-repositories.ts'
import { isId, orgFolder } from '../layout.ts'
import { repairRepository } from './repair.ts'

/** Something that is done again and again, one after the other. */
interface Chore {
  /** A sentence for the log, should it fail. */
  readonly failed: string
  /** Milliseconds from its end to its next beginning, at the least. */
  readonly every: number
  work(deps: Deps): Promise<void>
}

const minute = 60_000

/** In this order; the first time at the start. */
function choresOf(report: Report): readonly Chore[] {
  return [
    { every: minute, work: recoverDead, failed: 'the transactions of dead processes could not be looked through' },
    { every: minute, work: removeUnfinished, failed: 'folders that are half made could not be looked for' },
    {
      every: 60 * minute,
      work: repairAll,
      failed: 'the repositories could not be looked through for what crashes leave',
    },
    {
      every: minute,
      work: async (deps) => report((await indexAll(deps, undefined, repairAndIndex)).failed),
      failed: 'the repositories could not be followed',
    },
    { every: minute, work: forgetGone, failed: 'the histories of nodes that are gone could not be forgotten' },
  ]
}

/** A chore takes at most one part in this many of the time: 100,000 repositories are followed every quarter of an hour. */
const leisure = 20

/** Does every chore when it is due, until `deps.draining`; the promise ends then. */
export async function sweep(deps: Deps, report: Report): Promise<void> {
  const dueAt = new Map<Chore, number>()
  const chores = choresOf(report)
  while (!deps.draining.aborted) {
    for (const chore of chores) {
      const began = performance.now()
      if (deps.draining.aborted || began < (dueAt.get(chore) ?? 0)) continue
      await chore.work(deps).catch((error: unknown) => deps.log.error({ err: error }, `${chore.failed}; later again`))
      const ended = performance.now()
      dueAt.set(chore, ended + Math.max(chore.every, leisure * (ended - began)))
    }
    const next = Math.min(...dueAt.values()) - performance.now()
    await sleep(Math.max(next, 1), undefined, { signal: deps.draining, ref: false }).catch(() => {})
  }
}

/** Told of all repositories that cannot be read now. */
export type Report = (unreadable: readonly UnreadableRepository[]) => void

/** Says in the log once what cannot be read, and once that it can be again. */
export function reporter({ log }: Pick<Deps, 'log'>): Report {
  let known = new Map<string, string>()
  return (unreadable) => {
    for (const { path, reason, error } of unreadable)
      if (known.get(path) !== reason)
        log.error(
          { err: error, path },
          'a repository cannot be read; it answers 503 until it is mended, all others go on',
        )
    const now = new Map(unreadable.map(({ path, reason }) => [path, reason]))
    for (const path of known.keys()) if (!now.has(path)) log.warn({ path }, 'a repository can be read again')
    known = now
  }
}

/** Puts everything into an index that was made just now; false where the service stops before. */
export async function fillIndex(deps: Deps, report: Report): Promise<boolean> {
  const began = performance.now()
  const { orgs, nodes, failed } = await indexAll(deps)
  if (deps.draining.aborted) return false
  report(failed)
  const ms = Math.round(performance.now() - began)
  if (orgs > 0) deps.log.warn({ orgs, nodes, ms }, 'the index was made again from the repositories')
  return true
}

async function recoverDead(deps: Deps): Promise<void> {
  await recoverAll(deps.store, (error) =>
    deps.log.error({ err: error }, 'a transaction of a dead process could not be finished; the next sweep tries again'),
  )
}

/** Folders of creations, merges and deletions that never came to their end. */
async function removeUnfinished(deps: Deps): Promise<void> {
  const { root } = deps.store
  const now = await fileSystemTime(deps.store)
  const orgs = (await readdir(root)).filter(isId).map((org) => orgFolder(deps.store, org))
  for (const folder of [root, ...orgs]) {
    for (const name of await namesIn(folder)) {
      const path = join(folder, name)
      if (isUnfinished(name) && (await removeIfAbandoned(path, now)))
        deps.log.warn({ path }, 'removed a folder that was half made')
    }
  }
}

async function repairAll(deps: Deps): Promise<void> {
  const now = await fileSystemTime(deps.store)
  for (const { orgId, nodeId, path } of await listStoredRepositories(deps.store.root)) {
    if (deps.draining.aborted) return
    await repairRepository(deps, now, orgId, nodeId).catch((error: unknown) =>
      deps.log.error({ err: error, path }, 'a repository could not be looked through for what crashes leave'),
    )
    await nextTurn()
  }
}

/** What a crash damaged, perhaps, and can be mended, is followed once more. */
const repairAndIndex: IndexOne = async (deps, orgId, nodeId) => {
  await indexOne(deps, orgId, nodeId).catch(async (error: unknown) => {
    if (!isDamage(error)) throw error
    await repairRepository(deps, await fileSystemTime(deps.store), orgId, nodeId)
    await indexOne(deps, orgId, nodeId)
  })
}

/** The histories of nodes that are gone, a few rows at a time. */
async function forgetGone({ index, draining }: Deps): Promise<void> {
  while (!draining.aborted && !(await index.write(forgetLogs))) await nextTurn()
}
