/**
 * Opens, edits, closes and reopens pull requests. Every event is a commit of the ledger. When a pull request is opened,
 * its two branches exist and differ, and no other open pull request has the same pair.
 */
import { v7 as newId } from 'uuid'
import { createSemaphore } from '../../../gitstore/concurrency/semaphore.ts'
import { parseBranchName } from '../../../gitstore/names.ts'
import type { Move, RefName } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { noOid, type Oid, type Repo } from '../../../gitstore/repo.ts'
import { findPull, listPullRows, type PullRow } from '../../../index/derived/pulls.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import { authorizeNode, type NodeAccess, requireRole } from '../access.ts'
import type { Person } from '../actor.ts'
import { headMovedError } from '../branches/branch-commits.ts'
import { readCommits } from '../branches/commit-views.ts'
import { requireRoomFor } from '../byte-quota.ts'
import { readReviewFacts } from '../consent/verdicts.ts'
import { refuseLongText } from '../format/limits.ts'
import { reloadNode } from '../indexing/freshness.ts'
import { readResult } from '../indexing/index-node.ts'
import { branchRef, ledgerRef, pinRef } from '../layout.ts'
import { changedBy } from '../ledger/changed-by.ts'
import {
  appendPulls,
  type PullAct,
  type PullRecord,
  type Reviewer,
  readLastNumber,
  readPull,
} from '../ledger/ledger.ts'
import { endPull, freezePull, fromRow, openPullsAt, withHeads } from '../ledger/pull-ledger.ts'
import type { ChangedBy } from '../ledger/reconcile.ts'
import { type Page, pageOf, slice } from '../pagination.ts'
import type { Ctx, Services } from '../services.ts'
import type { Body, NodeAt, Path, PullAt, Query } from '../targets.ts'
import { changeLedger } from './ledger-changes.ts'
import { byAgentOf } from './provenance.ts'
import { headsOf, type PullRequest, requireMergeable, stateOf, toPull, toPullWith } from './pull-state.ts'
import { requireReviewers, withSince } from './reviewers.ts'

export interface PullInput {
  readonly source_branch: string
  readonly target_branch: string
  readonly title: string
  readonly description: string
  readonly is_draft: boolean
  /** Ids of members. */
  readonly reviewers?: readonly string[]
  /** Refuses a pull request that could not be merged. */
  readonly require_mergeable?: boolean
}

export interface PullPatch {
  readonly title?: string
  readonly description?: string
  readonly target_branch?: string
  readonly is_draft?: boolean
  /** Ids of members. They replace the reviewers. */
  readonly reviewers?: readonly string[]
  readonly status?: 'open' | 'closed'
}

/**
 * Opens a pull request.
 *
 * @throws AppError pull_request_exists (with the number of the first); with require_mergeable also its merge_reason,
 *   head_moved
 * @throws ValidationError a branch does not exist, or both are the same
 */
export async function openPull(ctx: Ctx<Person>, { path, body }: Path<NodeAt> & Body<PullInput>): Promise<PullRequest> {
  const need = { ref: branchRef(body.source_branch) }
  const access = await authorizeNode(ctx, path, need)
  const { repo } = access
  refuseLongText(['body', 'description'], body.description)
  await requireRoomFor(ctx, path.org_id, body.description)
  const reviewers = await requireReviewers(ctx, path, body.reviewers ?? [], ctx.actor.id)
  const judged = body.require_mergeable ? await mergeableHeads(ctx, access, body) : undefined
  const number = await changeLedger(ctx, access, need, async (ledger) => {
    const { source, target } = branchHeads(repo, body, ['source_branch', 'target_branch'])
    await refusePair(ctx, access, ledger, body)
    if (judged && (judged.to !== source || judged.from !== target))
      throw headMovedError(
        'A branch has moved since it was checked; nothing was opened',
        judged.from === target ? source : target,
      )
    const { append, number } = await appendOpened(ctx, access, ledger, {
      ...body,
      reviewers,
      source,
      target,
    })
    return { moves: [append], value: number }
  })
  return pullAfter(ctx, access, { ...path, number })
}

/** The fields of a new pull request, without its number and its commits. */
interface NewPull extends Omit<PullInput, 'require_mergeable' | 'reviewers'> {
  readonly reviewers: readonly Pick<Reviewer, 'id' | 'name'>[]
  /** The id of the change set that it is an item of. */
  readonly change_set?: string
}

interface Opening extends NewPull {
  /** The heads of both branches. */
  readonly source: Oid
  readonly target: Oid
}

/** Appends a new pull request to the ledger. The caller holds its lock, and has called `refusePair`. */
export async function appendOpened(
  ctx: Ctx<Person>,
  { repo, history }: NodeAccess,
  ledger: Oid,
  { source, target, ...input }: Opening,
): Promise<{ readonly append: Move; readonly number: number }> {
  const number = (await readLastNumber(repo, ledger)) + 1
  const record = await withHeads(history, openedRecord(ctx, number, source, input), source, target)
  return { append: { repo, ref: ledgerRef, to: await appendPulls(repo, ledger, [{ event: 'open', record }]) }, number }
}

/** Returns the record of a pull request that the caller opens. Its target and its counts are not filled in. */
export function openedRecord(
  ctx: Ctx<Person>,
  number: number,
  source: Oid,
  { reviewers, change_set, ...input }: NewPull,
): PullRecord {
  const event = changedBy(ctx, ctx.actor)
  return {
    id: newId(),
    number,
    ...pick(input),
    status: 'open',
    author: event.by,
    author_id: ctx.actor.id,
    created_at: event.at,
    ...event,
    ...(event.via && { opened_via: event.via }),
    ...(reviewers.length > 0 && { reviewers: withSince(reviewers, [], event.at) }),
    ...(change_set !== undefined && { change_set }),
    source_commit: source,
    target_before: '',
    commits_ahead: 0,
    commits_behind: 0,
  }
}

/**
 * Checks that a new pull request could be merged, and returns its heads.
 *
 * @throws the errors of branchHeads and requireMergeable
 */
async function mergeableHeads(deps: Services, access: NodeAccess, input: PullInput) {
  branchHeads(access.repo, input, ['source_branch', 'target_branch'])
  const { source_branch, target_branch } = input
  const none = { source_commit: '', target_commit: '', ahead: 0, behind: 0, recorded_at: '' }
  const facts = { ...none, source_branch, target_branch, status: 'open' as const, is_draft: input.is_draft ? 1 : 0 }
  return requireMergeable(await stateOf(deps, access, facts))
}

/** Limits rows built at once. Each may read the content of two commits. */
const semaphore = createSemaphore({ running: 8 })

/** Lists pull requests, newest first. */
export async function listPulls(
  ctx: Ctx<Person>,
  {
    path,
    query,
  }: Path<NodeAt> & Query<Page & { status?: 'open' | 'merged' | 'closed' | 'all'; via?: 'agent' | 'person' }>,
) {
  const access = await authorizeNode(ctx, path, 'reader')
  const { rows, total } = await listPullRows(
    ctx.index.read,
    path.node_id,
    { status: query.status ?? 'open', ...byAgentOf(query) },
    query,
  )
  if (rows.length === 0) return { pull_requests: [], ...pageOf(query, total) }
  const factsOf = await readReviewFacts(ctx, access, rows)
  const read = (row: PullRow) => toPullWith(ctx, access, row, factsOf(row.number))
  const pull_requests = await Promise.all(rows.map((row) => semaphore.run({}, () => read(row))))
  return { pull_requests, ...pageOf(query, total) }
}

export async function getPull(ctx: Ctx<Person>, { path }: Path<PullAt>): Promise<PullRequest> {
  const access = await authorizeNode(ctx, path, 'reader')
  return toPull(ctx, access, await findPullRow(ctx, path))
}

/** Reads the pull request after a change. @throws the errors of readResult */
export function pullAfter(deps: Services, access: NodeAccess, at: PullAt): Promise<PullRequest> {
  return readResult(deps, async () =>
    toPull(deps, await reloadNode(deps, access, 'reader'), await findPullRow(deps, at)),
  )
}

/**
 * Edits, closes or reopens a pull request.
 *
 * @throws AppError merged (a merged pull request cannot change), pull_request_exists, and as branchHeads;
 *   ValidationError
 */
export async function updatePull(
  ctx: Ctx<Person>,
  { path, body }: Path<PullAt> & Body<PullPatch>,
): Promise<PullRequest> {
  const access = await authorizeNode(ctx, path, 'contributor')
  const row = await findPullRow(ctx, path)
  const need = { opened: fromRow(row) }
  requireRole(access, need)
  const { title = '', description = '' } = body
  refuseLongText(['body', 'description'], description)
  // Closing and merging are always allowed. Each event repeats the description.
  if (title + description !== '' || body.status !== 'closed')
    await requireRoomFor(ctx, path.org_id, body.description ?? row.description)
  const pin = pinOf(access, row.number)
  await changeLedger(
    ctx,
    access,
    need,
    async (ledger) => {
      const { act, before: first, after } = await patchPull(ctx, access, ledger, row.number, body)
      if (!act) return { moves: [], value: undefined }
      const { target_branch: into, change_set } = act.record
      if (change_set !== undefined && (act.event === 'reopen' || into !== row.target_branch))
        throw inChangeSetError('reopen the change set, or take the page out of it first')
      const append: Move = { repo: access.repo, ref: ledgerRef, to: await appendPulls(access.repo, ledger, [act]) }
      return { moves: [...first, append, ...after], value: undefined }
    },
    [pin],
  )
  return pullAfter(ctx, access, path)
}

/**
 * Lists the commits of a pull request, in the order of `git log`. They are those that the target does not have; of a
 * merged pull request, those that it brought in.
 */
export async function listPullCommits(ctx: Ctx<Person>, { path, query }: Path<PullAt> & Query<Page>) {
  const access = await authorizeNode(ctx, path, 'reader')
  const { target_commit, source_commit } = headsOf(access, await findPullRow(ctx, path))
  const oids = await access.history.between(target_commit, source_commit)
  return { commits: await readCommits(access.repo, path.node_id, slice(oids, query)), ...pageOf(query, oids.length) }
}

/** @param instead what the caller can do */
export function inChangeSetError(instead: string): AppError {
  return new AppError('in_change_set', `This pull request is an item of a change set; ${instead}`)
}

/** The ref that keeps the head of a closed pull request. */
export function pinOf({ repo }: Pick<NodeAccess, 'repo'>, number: number): RefName {
  return { repo, ref: pinRef(number) }
}

/** A change of a pull request. The pin moves before the ledger when it closes, and after it when it is opened again. */
interface Patched {
  /** Undefined: nothing changes. */
  readonly act: PullAct | undefined
  readonly before: readonly Move[]
  readonly after: readonly Move[]
}

/**
 * Decides about a change of a pull request. The caller holds the locks of the ledger and of the pin.
 *
 * @throws AppError merged, pull_request_exists, and as branchHeads; ValidationError
 */
export async function patchPull(
  ctx: Ctx<Person>,
  access: NodeAccess,
  ledger: Oid,
  number: number,
  patch: PullPatch,
): Promise<Patched> {
  const pin = pinOf(access, number)
  const known = await readPull(access.repo, ledger, number)
  if (known.status === 'merged') throw new AppError('merged', 'A merged pull request cannot be changed')
  const change = await patched(ctx, access, ledger, known, patch, changedBy(ctx, ctx.actor))
  if (!change) return { act: undefined, before: [], after: [] }
  const isPinned = change.event === 'reopen' && readRef(access.repo, pin.ref) !== null
  return {
    act: { ...change, userId: ctx.actor.id },
    before: change.event === 'close' ? [{ ...pin, to: change.record.source_commit }] : [],
    after: isPinned ? [{ ...pin, to: null }] : [],
  }
}

/** Finds the row of a pull request. @throws AppError pull_request_not_found */
export async function findPullRow(deps: Services, { node_id: nodeId, number }: PullAt): Promise<PullRow> {
  const row = await findPull(deps.index.read, nodeId, number)
  if (!row) throw new AppError('pull_request_not_found', 'Pull request not found')
  return row
}

type LedgerChange = Pick<PullAct, 'event' | 'record' | 'changes'>

/** The event of the patch, with the record after it; undefined if nothing changes. */
async function patched(
  deps: Services,
  access: NodeAccess,
  ledger: Oid,
  before: PullRecord,
  patch: PullPatch,
  event: ChangedBy,
): Promise<LedgerChange | undefined> {
  const { repo, history } = access
  const asked = await withPatch(deps, access, before, patch, event.at)
  if (JSON.stringify(asked) === JSON.stringify(before)) return undefined
  const { status } = asked
  const changes = differencesOf(before, asked)
  const record = { ...asked, ...event }
  const retargeted = record.target_branch !== before.target_branch
  const target = retargeted ? newTargetHead(repo, record) : undefined
  if (status === 'closed') {
    if (before.status === 'open')
      return {
        event: 'close',
        record: endPull(await freezePull(access, record), 'closed', event),
        changes,
      }
    return {
      event: 'edit',
      changes,
      record: target ? await withHeads(history, record, record.source_commit, target) : record,
    }
  }
  const reopened = before.status === 'closed'
  const isRequest = Object.keys(changes).join() === 'reviewers'
  if (!retargeted && !reopened) return { event: isRequest ? 'request_review' : 'edit', record, changes }
  const heads = headsOfRecord(repo, record, patch)
  await refusePair(deps, access, ledger, record, before.number)
  const { ended: _, ...open } = await withHeads(history, record, heads.source, heads.target)
  return { event: reopened ? 'reopen' : 'edit', record: open, changes }
}

/** The record with the fields of the patch. */
async function withPatch(
  deps: Services,
  { org }: NodeAccess,
  before: PullRecord,
  { reviewers, ...fields }: PullPatch,
  at: string,
): Promise<PullRecord> {
  const asked = retargeted(before, fields)
  if (reviewers === undefined) return asked
  const { reviewers: known = [], ...rest } = asked
  const members = await requireReviewers(deps, { org_id: org.id }, reviewers, before.author_id)
  return members.length === 0 ? rest : { ...asked, reviewers: withSince(members, known, at) }
}

/** The record with the fields. With another target, approvals for a deleted one hold no more. */
function retargeted(before: PullRecord, fields: Omit<PullPatch, 'reviewers'>): PullRecord {
  const { stacked_on: _, ...rest } = before
  const isSame = fields.target_branch === undefined || fields.target_branch === before.target_branch
  return { ...(isSame ? before : rest), ...fields }
}

/** The values before and after of each field that a timeline shows. The description has only its name. */
function differencesOf(before: PullRecord, after: PullRecord): NonNullable<PullAct['changes']> {
  const changes: Record<string, unknown[]> = {}
  for (const field of ['title', 'target_branch', 'is_draft'] as const)
    if (before[field] !== after[field]) changes[field] = [before[field], after[field]]
  if (before.description !== after.description) changes.description = []
  const [asked, asking] = [before, after].map(({ reviewers = [] }) => reviewers.map(({ id }) => id))
  if (asked?.join() !== asking?.join()) changes.reviewers = [asked, asking]
  return changes
}

function pick({ source_branch, target_branch, title, description, is_draft }: Omit<NewPull, 'reviewers'>) {
  return { title, description, source_branch, target_branch, is_draft }
}

type Pair = Pick<PullRecord, 'source_branch' | 'target_branch'>

/** The heads of an open pull request. @param named the fields that the body has @throws the errors of headOf */
function branchHeads(repo: Repo, pair: Pair, named: readonly (keyof Pair)[]): { source: Oid; target: Oid } {
  refuseSame(pair)
  return { source: headOf(repo, pair, 'source_branch', named), target: headOf(repo, pair, 'target_branch', named) }
}

/** The heads of a pull request. The target of one that creates the node does not exist yet. */
function headsOfRecord(repo: Repo, record: PullRecord, patch: PullPatch): { source: Oid; target: Oid } {
  const isNew = record.target_before === noOid && readRef(repo, branchRef(record.target_branch)) === null
  if (isNew) return { source: headOf(repo, record, 'source_branch', []), target: noOid }
  return branchHeads(repo, record, patch.target_branch === undefined ? [] : ['target_branch'])
}

/** The head of a target branch that the body has. @throws the errors of headOf */
function newTargetHead(repo: Repo, pair: Pair): Oid {
  refuseSame(pair)
  return headOf(repo, pair, 'target_branch', ['target_branch'])
}

function refuseSame({ source_branch, target_branch }: Pair): void {
  if (source_branch === target_branch)
    throw invalid(['body', 'target_branch'], 'The source and the target must be different branches', target_branch)
}

/**
 * The head of a branch of the pull request.
 *
 * @throws ValidationError the branch is in the body and does not exist
 * @throws AppError source_branch_missing, target_branch_missing
 */
function headOf(repo: Repo, pair: Pair, field: keyof Pair, named: readonly (keyof Pair)[]): Oid {
  const branch = parseBranchName(pair[field])
  const head = branch ? readRef(repo, branchRef(branch)) : null
  if (head) return head
  if (named.includes(field)) throw invalid(['body', field], `There is no branch ${excerpt(pair[field])}`, pair[field])
  throw new AppError(`${field}_missing`, `The branch ${excerpt(pair[field])} no longer exists`)
}

/** Refuses a pair that is already open. The caller holds the ledger's lock. @throws AppError pull_request_exists */
export async function refusePair(
  deps: Services,
  { node, repo }: NodeAccess,
  ledger: Oid,
  pair: Pair,
  except?: number,
): Promise<void> {
  const open = await openPullsAt(deps.index.read, { repo, nodeId: node.id }, ledger)
  const first = open.find(
    (record) =>
      record.number !== except &&
      record.source_branch === pair.source_branch &&
      record.target_branch === pair.target_branch,
  )
  if (!first) return
  const detail = `Pull request ${first.number} is already open for ${excerpt(pair.source_branch)} → ${excerpt(pair.target_branch)}`
  throw new AppError('pull_request_exists', detail, { number: first.number })
}
