/** The threads of a pull request, placed on its current head. */
import { findEntryRow, listAnswers, listThreadRows, type ThreadState } from '../../../index/derived/entries.ts'
import type { PullRow } from '../../../index/derived/pulls.ts'
import { AppError } from '../../base/errors.ts'
import { type LedgerAccess, recheckAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { type Placed, placeAnchors } from '../anchors/place-anchors.ts'
import { isOpener } from '../format/ownership.ts'
import { readResult } from '../indexing/index-node.ts'
import type { CommentRecord } from '../ledger/entries.ts'
import { type Page, pageOf } from '../pagination.ts'
import { readPresentChange } from '../pulls/present-change.ts'
import { findPullRow } from '../pulls/pulls.ts'
import type { Ctx, Services } from '../services.ts'
import type { Body, EntryAt, Path, PullAt, Query } from '../targets.ts'
import { authorizeOwner, reloadOwner } from './conversations.ts'
import { type Comment, commentOf } from './entry-views.ts'
import { entryAt, writeEntries } from './write-entries.ts'

type Place = Extract<Placed, { outdated: false }>['place']

export interface Thread {
  /** The entry of the first comment. */
  readonly thread: number
  readonly is_resolved: boolean
  readonly resolved_at?: string
  readonly resolved_by?: string
  /** True if the content that it is about is gone. False without an anchor. */
  readonly is_outdated: boolean
  /** The current place of the anchor. For removed content it is on the merge base. */
  readonly place?: Place
  /** For an outdated thread, where a page shows it. */
  readonly near?: Place
  /** The first comment and the first answers. */
  readonly comments: readonly Comment[]
  readonly num_comments: number
}

interface ThreadQuery extends Page {
  readonly state?: ThreadState
  readonly path?: string
}

/** Comments per thread in a list. */
const listedComments = 100

/** Lists the threads by their first comments. */
export async function listThreads(ctx: Ctx<Person>, { path: at, query }: Path<PullAt> & Query<ThreadQuery>) {
  const access = await authorizeOwner(ctx, at, 'reader')
  const pull = await findPullRow(ctx, at)
  const { state = 'all', path } = query
  const filter = { state, ...(path !== undefined && { path }) }
  const { read } = ctx.index
  const { rows, total } = await listThreadRows(read, at.node_id, at.number, filter, query)
  const firsts = rows.flatMap((row) => {
    const first = commentOf(row)
    return first ? [{ first, count: row.num_comments }] : []
  })
  const ids = firsts.map(({ first }) => first.entry)
  const answers = await listAnswers(read, at.node_id, at.number, ids, listedComments - 1)
  const byThread = new Map<number, Comment[]>()
  for (const row of answers) {
    const comment = commentOf(row)
    const known = byThread.get(row.thread)
    if (comment && known) known.push(comment)
    else if (comment) byThread.set(row.thread, [comment])
  }
  const places = await placeOn(
    access,
    pull,
    firsts.map(({ first }) => first),
  )
  const threads = firsts.map(({ first, count }, n): Thread => {
    const others = byThread.get(first.entry) ?? []
    const { resolved_at, resolved_by } = first
    return {
      ...{ thread: first.entry, is_resolved: resolved_at !== undefined },
      ...(resolved_at !== undefined && { resolved_at }),
      ...(resolved_by !== undefined && { resolved_by }),
      ...toPlace(places[n]),
      ...{ comments: [first, ...others], num_comments: count },
    }
  })
  return { threads, ...pageOf(query, total) }
}

/** Places the anchors of these comments; undefined for those that have none. */
async function placeOn(
  access: LedgerAccess,
  pull: PullRow,
  comments: readonly Comment[],
): Promise<readonly (Placed | undefined)[]> {
  const anchored = comments.filter(({ anchor }) => anchor !== undefined)
  if (anchored.length === 0) return []
  const { repo, history } = access
  const { base, head } = await readPresentChange(access, pull)
  const anchors = anchored.flatMap(({ anchor }) => anchor ?? [])
  const isInBase = async (commit: string) => base !== null && (await history.contains(base, commit))
  const places = await placeAnchors(repo, { head, base, isInBase }, anchors)
  const placeOf = new Map(anchored.map((comment, n) => [comment, places[n]]))
  return comments.map((comment) => placeOf.get(comment))
}

function toPlace(placed: Placed | undefined) {
  if (placed === undefined) return { is_outdated: false }
  if (!placed.outdated) return { is_outdated: false, place: placed.place }
  return { is_outdated: true, ...(placed.near && { near: placed.near }) }
}

/**
 * Resolves or reopens a thread. Its author, the author of the pull request and editors may.
 *
 * @throws AppError thread_not_found, forbidden
 */
export async function updateThread(
  ctx: Ctx<Person>,
  { path, body: { resolved } }: Path<EntryAt> & Body<{ readonly resolved: boolean }>,
): Promise<Comment> {
  const access = await authorizeOwner(ctx, path, 'reader')
  await findPullRow(ctx, path)
  await writeEntries(ctx, access, path, async (ledger) => {
    const before = await entryAt(access, ledger, path.entry)
    if (before?.kind !== 'comment' || (before.thread ?? path.entry) !== path.entry) throw threadNotFoundError()
    const isOwn = before.by.id === ctx.actor.id || isOpener(ctx.actor, ledger.pull)
    if (!isOwn) await recheckAccess(ctx, path.org_id, 'editor')
    if ((before.resolved !== undefined) === resolved) return { value: undefined }
    const { resolved: _, ...open } = before
    const record: CommentRecord = resolved ? { ...open, resolved: { by: ledger.user, at: ledger.at } } : open
    const message = `${resolved ? 'resolve' : 'reopen-thread'} ${path.number} ${path.entry}`
    return { value: undefined, message, entries: [{ entry: path.entry, record }] }
  })
  return readResult(ctx, async () => {
    await reloadOwner(ctx, access)
    return findFirst(ctx, path)
  })
}

async function findFirst(deps: Services, { node_id: nodeId, number, entry }: EntryAt): Promise<Comment> {
  const row = await findEntryRow(deps.index.read, nodeId, number, entry)
  const comment = row && commentOf(row)
  if (!comment) throw threadNotFoundError()
  return comment
}

function threadNotFoundError(): AppError {
  return new AppError('thread_not_found', 'Thread not found')
}
