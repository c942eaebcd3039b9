/**
 * Reviews of change sets. A verdict on a set is a verdict on each of its pages, written in one transaction. So each page
 * has its rules, and a verdict ends with a change of that page only. The text is in the set.
 */
import { v7 as newId } from 'uuid'
import { findCommit, readCommit } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { hasEntryOn } from '../../../index/derived/entries.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { authorizeOrg } from '../access.ts'
import type { Person } from '../actor.ts'
import { headMovedError } from '../branches/branch-commits.ts'
import { requireRoomFor } from '../byte-quota.ts'
import { isOpener } from '../format/ownership.ts'
import { readResult } from '../indexing/index-node.ts'
import { branchRef } from '../layout.ts'
import { changedBy } from '../ledger/changed-by.ts'
import { nextEntry, type VerdictRecord } from '../ledger/entries.ts'
import { type PullRecord, readPull } from '../ledger/ledger.ts'
import type { ChangedBy } from '../ledger/reconcile.ts'
import { readPresentChange } from '../pulls/present-change.ts'
import { refuseLongComment } from '../review/comments.ts'
import type { Ctx } from '../services.ts'
import type { Body, Path, SetAt } from '../targets.ts'
import { findShown } from './open.ts'
import { changeSet, type LockedSets, type Part, readLocked, type SetEntries } from './set-changes.ts'
import { judgeSet, type OpenItem } from './state.ts'
import { type ChangeSet, findSet, settleSets } from './views.ts'

interface NewSetReview {
  readonly verdict?: VerdictRecord['verdict']
  readonly text?: string
  /** Ids of the pages. Default: all that the caller has not proposed. */
  readonly items?: readonly string[]
  /** The version that was reviewed. */
  readonly expected_version: string
}

interface Reviewed {
  readonly change_set: ChangeSet
  /** The number of the review in the set. */
  readonly entry: number
}

/**
 * Submits a review of a set.
 *
 * @throws AppError change_set_not_found, head_moved, own_pull_request, merged, closed; ValidationError
 */
export async function submitSetReview(
  ctx: Ctx<Person>,
  { path, body }: Path<SetAt> & Body<NewSetReview>,
): Promise<Reviewed> {
  const access = await authorizeOrg(ctx, path, 'reader')
  const { verdict = 'comment', text = '', expected_version: expected } = body
  refuseLongComment(['body', 'text'], text)
  if (verdict !== 'approve' && text.trim() === '')
    throw invalid(['body', 'text'], 'The review says nothing; add a text')
  await settleSets(ctx, path.org_id)
  const row = await findSet(ctx, path)
  if (row.status !== 'open') throw new AppError(row.status, `The change set is ${row.status}`)
  const { open, version } = await judgeSet(ctx, access, row)
  if (version !== expected) throw movedError()
  const items = verdict === 'comment' ? [] : chosenItems(ctx.actor, row.author_id, open, body.items)
  await requireRoomFor(ctx, path.org_id, text)
  const id = newId()
  const event = changedBy(ctx, ctx.actor)
  let entry = 0
  await changeSet(ctx, {
    orgId: path.org_id,
    need: 'reader',
    parts: items.map((item) => partOf(ctx, item, { verdict, review: id, event })),
    drafts: [],
    decide: async (sets) => {
      const written = await setEntry(ctx, sets, path.number, { id, verdict, text, items, version, event })
      entry = written.entries.entries[0]?.entry ?? 0
      return written
    },
  })
  const change_set = await readResult(ctx, () => findShown(ctx, access, path))
  return { change_set, entry }
}

export function movedError(): AppError {
  return headMovedError('A page of the change set has changed since you read it; nothing was submitted', null)
}

/** The items that the verdict is for. @throws AppError own_pull_request; ValidationError */
function chosenItems(
  actor: Person,
  opener: string | null,
  open: readonly OpenItem[],
  ids: readonly string[] | undefined,
): readonly OpenItem[] {
  const known = new Set(open.map(({ row }) => row.node_id))
  const unknown = ids?.findIndex((id) => !known.has(id)) ?? -1
  if (unknown >= 0) throw invalid(['body', 'items', unknown], 'The change set has no such open page', ids?.[unknown])
  const chosen = ids === undefined ? open : open.filter(({ row }) => ids.includes(row.node_id))
  const isOwn = ({ pull }: OpenItem) => opener === actor.id || pull.author_id === actor.id
  const others = chosen.filter((item) => !isOwn(item))
  if (others.length === 0 || (ids !== undefined && others.length < chosen.length))
    throw new AppError('own_pull_request', 'You cannot give a verdict on pages that you proposed; write a comment')
  return others
}

interface Verdict {
  readonly verdict: VerdictRecord['verdict']
  readonly review: string
  readonly event: ChangedBy
}

/** The verdict on one page, in the ledger of its node. */
function partOf(ctx: Ctx<Person>, { access, pull, head }: OpenItem, { verdict, review, event }: Verdict): Part {
  const { repo, node } = access
  return {
    access,
    refs: [],
    decide: async ({ ledger }) => {
      const record = await readPull(repo, ledger, pull.number)
      requireReviewed(access.repo, record, head)
      if (isOpener(ctx.actor, record))
        throw new AppError('own_pull_request', 'You cannot give a verdict on your own page')
      const { base } = await readPresentChange(access, pull)
      const entry = await nextEntry(repo, (await readCommit(repo, ledger)).tree, pull.number)
      const user = { id: ctx.actor.id, ...event.by }
      const value: VerdictRecord = {
        ...{ kind: 'verdict', id: newId(), by: user, at: event.at, verdict, text: '', head, base },
        ...{ target_branch: record.target_branch, comments: [], review },
      }
      const keep = (await hasEntryOn(ctx.index.read, node.id, head)) ? undefined : await findCommit(repo, head)
      const message = `review ${pull.number} ${entry}`
      const entries = [{ entry, record: value }]
      return {
        moves: [],
        entries: { number: pull.number, message, entries, ...event, ...(keep && { keep: keep.oid }) },
      }
    },
  }
}

/** @throws AppError head_moved */
export function requireReviewed(
  repo: OpenItem['access']['repo'],
  { status, source_branch }: PullRecord,
  head: Oid,
): void {
  if (status !== 'open' || readRef(repo, branchRef(source_branch)) !== head) throw movedError()
}

interface Said extends Omit<Verdict, 'review'> {
  readonly id: string
  readonly text: string
  readonly items: readonly OpenItem[]
  readonly version: Oid
}

/** The review in the ledger of sets. Its head is the version of the set. */
async function setEntry(
  ctx: Ctx<Person>,
  locked: LockedSets,
  number: number,
  { id, verdict, text, items, version, event }: Said,
): Promise<SetEntries> {
  const record = await readLocked(locked, number)
  if (record.status !== 'open' || locked.sets === null) throw movedError()
  const { tree } = await readCommit(locked.repo, locked.sets)
  const entry = await nextEntry(locked.repo, tree, number)
  const value: VerdictRecord = {
    ...{ kind: 'verdict', id, by: { id: ctx.actor.id, ...event.by }, at: event.at, verdict, text, head: version },
    ...{ base: null, target_branch: 'main', comments: [], items: items.map(({ row }) => row.node_id) },
  }
  const message = `review ${number} ${entry}`
  return { record, entries: { number, message, entries: [{ entry, record: value }], ...event } }
}
