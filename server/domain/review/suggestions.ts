/** Applies suggestions of comments to the source of a pull request, in one commit. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { newObjectBatch, type ObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { applyChanges } from '../../../gitstore/objects/tree-changes.ts'
import { type Decision, withRefLock } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { createYielder, entriesPerTurn } from '../../../gitstore/yielder.ts'
import type { PullRow } from '../../../index/derived/pulls.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { authorizeNode, type NodeAccess, requireRole } from '../access.ts'
import type { Person } from '../actor.ts'
import { findFile, readExactText } from '../anchors/anchored-files.ts'
import { type PlacedEdit, placeEdits } from '../anchors/suggested-edits.ts'
import { addsParents, headMovedError, problemsOf, refuseProblems, withGraphLockIf } from '../branches/branch-commits.ts'
import { readTree } from '../branches/revisions.ts'
import { type TakeRoom, withByteRoom } from '../byte-quota.ts'
import { requireFreeBranch } from '../consent/rule-checks.ts'
import { refuseLongText } from '../format/limits.ts'
import { signature } from '../format/signatures.ts'
import { applyEdits, overlapsIn, type TextEdit } from '../format/text-edits.ts'
import { refuseOwnVia, withVia } from '../format/trailers.ts'
import { branchRef, ledgerRef, main } from '../layout.ts'
import { changedBy } from '../ledger/changed-by.ts'
import { type CommentRecord, readEntry } from '../ledger/entries.ts'
import { appendEntries, readPull } from '../ledger/ledger.ts'
import { changeLedger } from '../pulls/ledger-changes.ts'
import { type PullRequest, sentence } from '../pulls/pull-state.ts'
import { findPullRow, pullAfter } from '../pulls/pulls.ts'
import type { Ctx, Services } from '../services.ts'
import type { Body, Path, PullAt } from '../targets.ts'
import { trailerOf } from '../via.ts'
import { commentNotFoundError } from './comments.ts'
import { messageOf } from './suggestion-message.ts'

export interface SuggestionsInput {
  /** The comments whose suggestions to apply. */
  readonly comments: readonly number[]
  /** The head that the caller has read. */
  readonly expected_source_commit: string
  readonly message?: string
}

export interface Applied {
  readonly pr: PullRequest
  /** The commit that has the suggestions. */
  readonly commit_id: string
}

/** Suggestions read between two turns of the event loop. */
const suggestionsPerTurn = 10

/** A suggestion, with the first comment of its thread. */
interface Suggestion {
  readonly entry: number
  readonly record: CommentRecord & { readonly suggestion: string }
  readonly thread: number
  readonly first: CommentRecord
}

/**
 * Applies suggestions on top of the expected head, in one commit by the caller. Resolves their threads in the same
 * transaction. If one commit has all of them already, returns that commit.
 *
 * @throws AppError applied, suggestion_outdated, suggestions_overlap (with `comments`), comment_not_found, merged,
 *   closed, head_moved, no_changes, pull_request_required, source_branch_missing, forbidden, quota_exceeded
 * @throws ValidationError a comment has no suggestion, or the resulting content breaks a rule
 */
export async function applySuggestions(
  ctx: Ctx<Person>,
  { path, body }: Path<PullAt> & Body<SuggestionsInput>,
): Promise<Applied> {
  const access = await authorizeNode(ctx, path, 'contributor')
  const row = await findPullRow(ctx, path)
  requireRole(access, { ref: branchRef(row.source_branch) })
  if (body.message !== undefined) {
    refuseLongText(['body', 'message'], body.message)
    refuseOwnVia(['body', 'message'], body.message)
  }
  for (let ledger = access.node.ledger; ; ) {
    const chosen = await readChosen(access.repo, ledger, row.number, body.comments)
    const known = appliedCommit(chosen)
    const outcome =
      known === undefined ? await attempt(ctx, access, { row, ledger, chosen, input: body }) : { commit: known }
    if ('commit' in outcome) return { pr: await pullAfter(ctx, access, path), commit_id: outcome.commit }
    ledger = outcome.ledger
  }
}

/**
 * Reads suggestions at a ledger commit, by their numbers.
 *
 * @throws AppError comment_not_found; ValidationError a comment has no suggestion
 */
async function readChosen(repo: Repo, ledger: Oid, number: number, comments: readonly number[]): Promise<Suggestion[]> {
  const { tree } = await readCommit(repo, ledger)
  const pace = createYielder()
  const chosen: Suggestion[] = []
  for (const [n, entry] of comments.entries()) {
    const record = await readEntry(repo, tree, number, entry)
    if (record?.kind !== 'comment') throw commentNotFoundError(entry)
    const { suggestion, thread = entry } = record
    const first = thread === entry ? record : await readEntry(repo, tree, number, thread)
    if (suggestion === undefined || first?.kind !== 'comment')
      throw invalid(['body', 'comments', n], `Comment ${entry} has no suggestion`, entry)
    chosen.push({ entry, record: { ...record, suggestion }, thread, first })
    if (pace.shouldYield(entriesPerTurn / suggestionsPerTurn)) await pace.yieldToEventLoop()
  }
  return chosen.sort((a, b) => a.entry - b.entry)
}

/**
 * Returns the commit that has all suggestions. Undefined if none is applied.
 *
 * @throws AppError applied: some are, or by several commits
 */
function appliedCommit(chosen: readonly Suggestion[]): Oid | undefined {
  const applied = chosen.filter(({ record }) => record.applied !== undefined)
  const commits = new Set(applied.map(({ record }) => record.applied?.commit))
  const [commit] = commits
  if (commit === undefined || (commits.size === 1 && applied.length === chosen.length)) return commit
  throw refusal('applied', 'Some of these suggestions are applied already; leave them out', applied)
}

function refusal(
  code: 'applied' | 'suggestion_outdated' | 'suggestions_overlap',
  detail: string,
  some: readonly Suggestion[],
): AppError {
  return new AppError(code, detail, { comments: some.map(({ entry }) => entry) })
}

interface Attempt {
  readonly row: PullRow
  readonly input: SuggestionsInput
  /** The ledger commit that the suggestions were read from. */
  readonly ledger: Oid
  readonly chosen: readonly Suggestion[]
}

/** The commit. If the suggestions have changed, the ledger commit with which to try again. */
type Outcome = { readonly commit: Oid } | { readonly ledger: Oid }

async function attempt(ctx: Ctx<Person>, access: NodeAccess, asked: Attempt): Promise<Outcome> {
  const { row, input, chosen } = asked
  const { repo } = access
  const source = { repo, ref: branchRef(row.source_branch) }
  if (readRef(repo, source.ref) !== input.expected_source_commit) {
    const ledger = await recoveredLedger(ctx, repo)
    if (ledger !== asked.ledger) return { ledger }
  }
  await requireMovable(ctx, access, row, input)
  const head: Oid = input.expected_source_commit
  const { edits, paths } = await readEdits(repo, head, chosen)
  const draft = newObjectBatch(repo)
  const before = await readTree(repo, head)
  const tree = await editTree(draft, before, edits)
  if (tree === before) throw new AppError('no_changes', 'The branch already has exactly this content')
  const check = async () =>
    refuseProblems(await problemsOf(ctx, access, draft.repo, source.ref, before, tree), (path) =>
      locate(paths, path, input),
    )
  await check()
  const adds = source.ref === main && (await addsParents(draft.repo, before, tree))
  const message = await messageOf(ctx, ctx.actor, { ...input, number: row.number }, chosen)
  const decide = async (take: TakeRoom, ledger: Oid): Promise<Decision<Outcome>> => {
    if (ledger !== asked.ledger && !(await isSame(repo, ledger, row.number, chosen)))
      return { moves: [], value: { ledger } }
    await requireMovable(ctx, access, await readPull(repo, ledger, row.number), input)
    await check()
    const { by, at } = changedBy(ctx, ctx.actor)
    const person = signature(ctx.actor, at)
    const signed = withVia(message, trailerOf(ctx, ctx.actor))
    const commit = await draft.commit({ tree, parents: [head], author: person, committer: person, message: signed })
    const entries = entriesOf(chosen, { by: { id: ctx.actor.id, ...by }, at, commit })
    const subject = `apply ${row.number} ${chosen.map(({ entry }) => entry).join(' ')}`
    await take(draft.unsaved())
    await draft.save()
    const act = { number: row.number, message: subject, entries, by, at, keep: commit }
    const to = await appendEntries(repo, ledger, act)
    return {
      moves: [
        { ...source, to: commit },
        { repo, ref: ledgerRef, to },
      ],
      value: { commit },
    }
  }
  return withGraphLockIf(ctx, access, adds, () =>
    withByteRoom(ctx, access.org.id, (take) =>
      changeLedger(ctx, access, { ref: source.ref }, (ledger) => decide(take, ledger), [source]),
    ),
  )
}

/** Reads the ledger under its lock. If a process has died after it moved the branch, this first finishes its work. */
async function recoveredLedger({ store }: Services, repo: Repo): Promise<Oid> {
  const ledger = await withRefLock(store, { repo, ref: ledgerRef }, '', async () => readRef(repo, ledgerRef))
  if (ledger === null) throw new AppError('node_not_found', 'Node not found')
  return ledger
}

/** Checks the branch, before its lock and under it. @throws AppError */
async function requireMovable(
  deps: Services,
  { repo, org, node }: NodeAccess,
  pull: Pick<PullRow, 'status' | 'source_branch'>,
  input: SuggestionsInput,
): Promise<void> {
  const { status } = pull
  if (status !== 'open') throw new AppError(status, `The pull request is ${status}; its suggestions stay as they are`)
  const ref = branchRef(pull.source_branch)
  const head = readRef(repo, ref)
  if (head === null) throw new AppError('source_branch_missing', sentence.source_branch_missing)
  if (head !== input.expected_source_commit)
    throw headMovedError(`The source branch has moved since you read it (now at ${head}); nothing was changed`, head)
  await requireFreeBranch(deps, { org_id: org.id, node_id: node.id }, { ref, head })
}

/** True if the suggestions and their places are the same at another ledger commit. */
async function isSame(repo: Repo, ledger: Oid, number: number, chosen: readonly Suggestion[]): Promise<boolean> {
  const now = await readChosen(
    repo,
    ledger,
    number,
    chosen.map(({ entry }) => entry),
  )
  return JSON.stringify(now) === JSON.stringify(chosen)
}

/** The edits by path, and the paths of the suggestions by entry. */
interface Edits {
  readonly edits: ReadonlyMap<string, readonly TextEdit[]>
  readonly paths: ReadonlyMap<number, string>
}

/** @throws AppError suggestion_outdated, suggestions_overlap */
async function readEdits(repo: Repo, head: Oid, chosen: readonly Suggestion[]): Promise<Edits> {
  const suggested = chosen.flatMap(({ record, first: { anchor, deleted } }) =>
    anchor && !deleted ? [{ anchor, text: record.suggestion }] : [],
  )
  const isPlaceable = ({ first }: Suggestion) => first.anchor !== undefined && !first.deleted
  const placed = await placeEdits(repo, head, suggested)
  const found = new Map<Suggestion, PlacedEdit | undefined>(
    chosen.filter(isPlaceable).map((one, n) => [one, placed[n]]),
  )
  const edits = new Map<string, { readonly by: Suggestion; readonly edit: TextEdit }[]>()
  const outdated: Suggestion[] = []
  for (const one of chosen) {
    const edit = found.get(one)
    if (edit && 'edit' in edit) edits.set(edit.path, [...(edits.get(edit.path) ?? []), { by: one, edit: edit.edit }])
    else outdated.push(one)
  }
  if (outdated.length > 0)
    throw refusal(
      'suggestion_outdated',
      'The text that these suggestions replace is gone, or is there several times',
      outdated,
    )
  const overlapping = [...edits.values()].flatMap((some) =>
    [...overlapsIn(some.map(({ edit }) => edit))].flatMap((n) => some[n]?.by ?? []),
  )
  if (overlapping.length > 0)
    throw refusal(
      'suggestions_overlap',
      'Some of these suggestions replace the same text; apply one of them',
      overlapping.sort((a, b) => a.entry - b.entry),
    )
  return {
    edits: new Map([...edits].map(([path, some]) => [path, some.map(({ edit }) => edit)])),
    paths: new Map([...edits].flatMap(([path, some]) => some.map(({ by }) => [by.entry, path] as const))),
  }
}

/** Builds the tree with the edited files on the draft. */
async function editTree(draft: ObjectBatch, tree: Oid, edits: Edits['edits']): Promise<Oid> {
  const changes = []
  for (const [path, some] of edits) {
    const file = await findFile(draft.repo, tree, path)
    const text = file && (await readExactText(draft.repo, file.oid))
    if (!text || !('text' in text)) throw new Error(`The file ${path} had text a moment ago`)
    changes.push({ path, blob: await draft.blob(Buffer.from(applyEdits(text.text, some))) })
    await nextTurn()
  }
  return applyChanges(draft, tree, changes)
}

/** The part of the request that changed the file. */
function locate(paths: Edits['paths'], path: string, { comments }: SuggestionsInput): (string | number)[] {
  const at = comments.findIndex((entry) => paths.get(entry) === path)
  return at < 0 ? ['body', 'comments'] : ['body', 'comments', at]
}

/** The records of applied comments, and of the resolved first comments of their threads. */
function entriesOf(chosen: readonly Suggestion[], applied: NonNullable<CommentRecord['applied']>) {
  const { by, at } = applied
  const records = new Map<number, CommentRecord>()
  for (const { thread, first } of chosen)
    records.set(thread, first.resolved ? first : { ...first, resolved: { by, at } })
  for (const { entry, record } of chosen) records.set(entry, { ...(records.get(entry) ?? record), applied })
  return [...records].map(([entry, record]) => ({ entry, record }))
}
