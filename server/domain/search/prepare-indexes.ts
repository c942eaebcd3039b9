/**
 * Builds search indexes before the first search of an organisation. They are due after a start, and after many changes,
 * such as an import. One process of a data folder does so, and the others read its files.
 *
 * The organisations take turns, the most recently used first. The thread rests after each slice (search-worker.ts).
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from '../../../gitstore/fs-exists.ts'
import { type ChangedOrg, type OrgState, orgStates } from '../../../index/derived/changed-nodes.ts'
import { untilDraining } from '../../base/rounds.ts'
import { orgFolder, searchFolder } from '../layout.ts'
import type { Services } from '../services.ts'
import { fewestPrepared } from './open-indexes.ts'
import { unusedMs } from './segment-files.ts'

type PrepareDeps = Pick<Services, 'index' | 'search' | 'store' | 'log' | 'draining' | 'rounds'>

/** Milliseconds between two looks at the versions. */
const lookMs = 5_000

/** The states up to which organisations were prepared. */
type Prepared = Map<string, OrgState>

/** Builds indexes until the service is draining. @param deps with an index that is whole */
export function prepareIndexes(deps: PrepareDeps): Promise<void> {
  const prepared: Prepared = new Map()
  return untilDraining(deps, {
    name: 'the search indexes',
    everyMs: lookMs,
    work: () => prepareDue(deps, prepared),
    failed: (error) => deps.log.warn({ err: error }, 'search indexes could not be prepared; it will be retried'),
  })
}

/** Gives each organisation a turn until nothing is due. Returns true if nothing was. */
async function prepareDue(deps: PrepareDeps, prepared: Prepared): Promise<boolean> {
  for (let isIdle = true; ; isIdle = false) {
    const due = await listDue(deps, prepared)
    if (due.length === 0 || deps.draining.aborted) return isIdle
    for (const org of due) {
      // An organisation that fails has its next turn after more changes.
      const before = prepared.get(org.id)
      prepared.set(org.id, org)
      if (!(await deps.search.prepare(org.id, deps.draining))) continue
      if (before) prepared.set(org.id, before)
      else prepared.delete(org.id)
    }
  }
}

/** Lists organisations with many changes since they were prepared, the most recently used first. */
async function listDue(deps: PrepareDeps, prepared: Prepared): Promise<ChangedOrg[]> {
  const due: { readonly org: ChangedOrg; readonly usedMs: number }[] = []
  const present = new Set<string>()
  for await (const some of orgStates(deps.index.read))
    for (const org of some) {
      present.add(org.id)
      const known = prepared.get(org.id)
      if (org.version - (known?.epoch === org.epoch ? known.version : 0) < fewestPrepared) continue
      const usedMs = await lastUse(deps, org.id)
      // A start does not build again what nobody has used for long.
      if (known === undefined && Date.now() - usedMs > unusedMs) prepared.set(org.id, org)
      else due.push({ org, usedMs })
    }
  for (const id of prepared.keys()) if (!present.has(id)) prepared.delete(id)
  return due.sort((a, b) => b.usedMs - a.usedMs).map(({ org }) => org)
}

/** Returns when a node was created, or the first search after a start ran. The later one, by the file system. */
async function lastUse({ store }: PrepareDeps, orgId: string): Promise<number> {
  const folders = [join(searchFolder(store.root), orgId), orgFolder(store, orgId)]
  const found = await Promise.all(folders.map((folder) => ignoreMissing(stat(folder))))
  return Math.max(...found.map((one) => one?.mtimeMs ?? 0))
}
