/**
 * Merged change sets whose pages were copied before they moved. Mirrors of several repositories are of different
 * moments. So a set can have merged in that of `org.git`, and not in that of a page. The set records each base and head, and
 * the mirror has the head as a branch.
 */
import { findCommit } from '../../../gitstore/objects/commits.ts'
import { newObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { noOid, type Oid, type Repo } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { findTree } from '../branches/revisions.ts'
import { readContent } from '../format/node-format.ts'
import { nodeFile } from '../format/paths.ts'
import { historyOf } from '../history.ts'
import { ledgerRef, main, nodeRepo } from '../layout.ts'
import { addEvents, changedPulls, diffLedgers, readLastNumber, readNodeRecord, readPull } from '../ledger/ledger.ts'
import { endPull, withHeads } from '../ledger/pull-ledger.ts'
import { type SetItem, type SetRecord, setsOf } from '../ledger/set-ledger.ts'
import type { Services } from '../services.ts'
import { nodeAfter } from './merge.ts'

/** A page that does not have the change of a merged set. */
export interface Unfinished {
  readonly set: SetRecord
  readonly item: SetItem & { readonly head: Oid }
  readonly repo: Repo
  /** True if it has the head, and its `main` is at the base or there. */
  readonly isBehind: boolean
}

/** Finds such pages of an organisation. Reads refs and ledgers, and no rows. */
export async function findUnfinished(deps: Services, orgId: string): Promise<Unfinished[]> {
  const own = setsOf(deps, orgId)
  const sets = repoExists(own.repo) ? readRef(own.repo, own.ref) : null
  if (sets === null) return []
  const { records } = await changedPulls<SetRecord>(own.repo, await diffLedgers(own.repo, null, sets), [])
  const found: Unfinished[] = []
  for (const set of records.filter(({ status }) => status === 'merged'))
    for (const item of set.items) {
      const one = await examine(deps, orgId, set, item)
      if (one) found.push(one)
    }
  return found
}

/** Undefined if the page has the change, or is gone. */
async function examine(deps: Services, orgId: string, set: SetRecord, item: SetItem): Promise<Unfinished | undefined> {
  const { node_id: id, number, head, base = null } = item
  const repo = nodeRepo(deps.store, orgId, id)
  const ledger = head !== undefined && repoExists(repo) ? readRef(repo, ledgerRef) : null
  if (head === undefined || ledger === null) return undefined
  // A node with its id that was created later has nothing to do with the set.
  if ((await readNodeRecord(repo, ledger)).created_at > (set.ended?.at ?? set.at)) return undefined
  const [now, isThere] = [readRef(repo, main), (await findCommit(repo, head)) !== undefined]
  const hasChange = isThere && now !== null && (await historyOf(deps, id, repo).contains(now, head))
  const hasRecord = number <= (await readLastNumber(repo, ledger))
  if (hasChange && hasRecord && (await readPull(repo, ledger, number)).status === 'merged') return undefined
  const isBehind = isThere && hasRecord && (now === base || now === head)
  return { set, item: { ...item, head }, repo, isBehind }
}

/** Moves the page to the head that the set has recorded, with its ledger. */
export async function finishMerge(deps: Services, { set, item, repo }: Unfinished): Promise<void> {
  const { node_id: id, number, act, head } = item
  const event = set.ended ?? { by: set.by, at: set.at }
  const names = [
    { repo, ref: main },
    { repo, ref: ledgerRef },
  ] as const
  await updateRefs(deps.store, names, async (current) => {
    const [now, ledger] = [current(names[0]), current(names[1])]
    const before = ledger === null ? undefined : await readPull(repo, ledger, number)
    if (ledger === null || before === undefined || before.status === 'merged') return { moves: [], value: undefined }
    const record = endPull(
      await withHeads(historyOf(deps, id, repo), before, head, item.base ?? noOid),
      'merged',
      event,
    )
    const title = (await readContent(repo, await findTree(repo, head))).title
    const node = await readNodeRecord(repo, ledger)
    const after = nodeAfter(node, { act, title: title ?? node.title }, set.id, event.at)
    const draft = newObjectBatch(repo)
    const to = await addEvents(draft, ledger, [{ event: 'merge', record }], () =>
      act === 'change' ? [] : [{ path: nodeFile, value: after }],
    )
    const moves = [...(now === head ? [] : [{ ...names[0], to: head }]), { ...names[1], to }]
    return { moves, value: undefined, save: draft.save }
  })
}

/** The words of a finding about the page. */
export function lacksMerge({ set, item, isBehind }: Unfinished): string {
  const lacks = `lacks the change of change set ${set.number}, which has merged`
  if (isBehind) return `${lacks}; restore the mirrors into an empty folder, which moves it forward`
  return `${lacks}, and its \`main\` is not where it began (${item.base ?? 'nowhere'}); compare it with ${item.head} by hand`
}
