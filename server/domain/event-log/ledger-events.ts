/** Describes a commit of a node's ledger as events: pull requests, comments, reviews and checks. */
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { diffTrees, type TreeChange } from '../../../gitstore/objects/diff.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import type { EventType } from '../../base/event-types.ts'
import { parseChecksFile, parseEntryFile, pullsFolder } from '../format/paths.ts'
import { timeOf } from '../format/signatures.ts'
import { ledgerIn, setsRef } from '../layout.ts'
import { parseChecks, readChecksText } from '../ledger/checks.ts'
import {
  type CommentRecord,
  type EntryUser,
  isFile,
  parseEntry,
  type ReadEntry,
  readEntryText,
} from '../ledger/entries.ts'
import { type PullRecord, pushedSubject } from '../ledger/ledger.ts'
import type { SetRecord } from '../ledger/set-ledger.ts'
import type { EventActor, EventFacts } from './event-facts.ts'

/** The most files of one commit that are compared. The service writes a few; a review has at most 101. */
const mostFiles = { entries: 200_000, characters: 2_000_000 }

/** Describes the difference between a ledger commit and its first parent. Only that of change sets begins with an act. */
export async function ledgerEvents(repo: Repo, commit: Oid): Promise<EventFacts[]> {
  const { tree, parents, committer, message } = await readCommit(repo, commit)
  const [parent] = parents
  const isOfSets = ledgerIn(repo).ref === setsRef
  if ((parent === undefined && !isOfSets) || message.trimEnd() === pushedSubject) return []
  const before = parent === undefined ? null : (await readCommit(repo, parent)).tree
  const changes = (await diffTrees(repo, before, tree, createYielder(), mostFiles)).map(withFilesOnly)
  const found: EventFacts[] = []
  const users = new Map<number, EntryUser>()
  for (const change of changes) {
    const at = parseEntryFile(change.path)
    if (!at || !change.new) continue
    const [old, now] = [await readSide(repo, change, 'old'), await readSide(repo, change, 'new')]
    if (now?.kind === 'event') users.set(at.number, now.by)
    else if (now) found.push(...entryEvents({ commit, ...at }, old, now))
  }
  for (const change of changes) {
    if (change.path.startsWith(`${pullsFolder}/`))
      found.push(...(await (isOfSets ? setEvents : pullEvents)(repo, commit, change, users)))
    const checked = parseChecksFile(change.path)
    if (checked !== undefined) found.push(...(await checkEvents(repo, commit, checked, change)))
  }
  return found.map((event) => ({ ...event, at: event.at || timeOf(committer) }))
}

/** Returns the change without sides that are not files. A ledger that was edited by hand may have submodules. */
function withFilesOnly({ path, old, new: now }: TreeChange): TreeChange {
  const fileOf = (side: TreeChange['new']) => (side && isFile(side.mode) ? side : null)
  return { path, old: fileOf(old), new: fileOf(now) }
}

async function readSide(repo: Repo, change: TreeChange, side: 'old' | 'new'): Promise<ReadEntry | undefined> {
  const file = change[side]
  return file ? parseEntry(await readEntryText(repo, file.oid)) : undefined
}

export function actorOf(user: EntryUser | { readonly id?: string; readonly name: string }): EventActor | undefined {
  if (user.name === '') return undefined
  return { kind: 'user', ...(user.id !== undefined && { id: user.id }), name: user.name }
}

interface EntryAt {
  readonly commit: Oid
  readonly number: number
  readonly entry: number
}

/** The events of one entry, whose file was `old` and is `now`. */
function entryEvents({ commit, number, entry }: EntryAt, old: ReadEntry | undefined, now: ReadEntry): EventFacts[] {
  const make = (
    type: EventType,
    act: { readonly by?: EntryUser; readonly at: string },
    data: object = {},
  ): EventFacts => {
    const actor = act.by && actorOf(act.by)
    return { type, key: `${commit}:${entry}`, at: act.at, ...(actor && { actor }), data: { number, entry, ...data } }
  }
  if (now.kind === 'verdict') {
    const before = old?.kind === 'verdict' ? old : undefined
    const found: EventFacts[] = []
    if (!before)
      found.push(make('review.submitted', now, { verdict: now.verdict, commit: now.head, comments: now.comments }))
    if (now.withdrawn && !before?.withdrawn) found.push(make('review.withdrawn', { by: now.by, at: now.withdrawn.at }))
    if (now.dismissed && !before?.dismissed) found.push(make('review.dismissed', now.dismissed))
    return found
  }
  if (now.kind !== 'comment') return []
  return commentEvents(make, old?.kind === 'comment' ? old : undefined, now, entry)
}

type Make = (type: EventType, act: { readonly by?: EntryUser; readonly at: string }, data?: object) => EventFacts

function commentEvents(make: Make, before: CommentRecord | undefined, now: CommentRecord, entry: number): EventFacts[] {
  const place = { thread: now.thread ?? entry, ...(now.anchor && { path: now.anchor.path }) }
  const found: EventFacts[] = []
  const { mentions = [], edited, deleted, applied, resolved } = now
  if (!before)
    found.push(make('comment.created', now, { ...place, mentions, has_suggestion: now.suggestion !== undefined }))
  if (edited && edited.at !== before?.edited?.at) found.push(make('comment.edited', edited, { ...place, mentions }))
  if (deleted && !before?.deleted) found.push(make('comment.deleted', deleted, place))
  if (applied && !before?.applied) found.push(make('suggestion.applied', applied, { ...place, commit: applied.commit }))
  if (resolved && !before?.resolved) found.push(make('thread.resolved', resolved, place))
  if (!resolved && before?.resolved) found.push(make('thread.reopened', { at: '' }, place))
  return found
}

/** The most pages that an event of a change set lists. */
const mostItems = 50

async function setEvents(
  repo: Repo,
  commit: Oid,
  { old, new: file }: TreeChange,
  users: ReadonlyMap<number, EntryUser>,
): Promise<EventFacts[]> {
  const now = file ? await readRecordFile<SetRecord>(repo, file.oid) : undefined
  if (!now) return []
  const before = old ? await readRecordFile<SetRecord>(repo, old.oid) : undefined
  const event = setEvent(commit, before, now, users.get(now.number))
  return [event, ...reviewRequests(event, before, now)]
}

function setEvent(commit: Oid, before: SetRecord | undefined, now: SetRecord, user: EntryUser | undefined): EventFacts {
  const { number, id, title, is_draft, status } = now
  const items = (now.items ?? []).slice(0, mostItems).map(({ node_id, number, act }) => ({ node_id, number, act }))
  const userId = user?.id ?? (before ? undefined : now.author_id)
  const actor = actorOf({ name: now.by.name, ...(userId !== undefined && { id: userId }) })
  const data = {
    ...{ number, id, title, is_draft, items },
    ...(status === 'merged' && now.overridden && { overridden: true }),
  }
  return { type: setType(before, now), key: commit, at: now.at, ...(actor && { actor }), data }
}

function setType(before: SetRecord | undefined, { status }: SetRecord): EventType {
  if (!before) return 'change_set.opened'
  if (before.status === status) return 'change_set.edited'
  return status === 'open' ? 'change_set.reopened' : `change_set.${status}`
}

async function pullEvents(
  repo: Repo,
  commit: Oid,
  change: TreeChange,
  users: ReadonlyMap<number, EntryUser>,
): Promise<EventFacts[]> {
  const now = change.new ? await readRecordFile(repo, change.new.oid) : undefined
  if (!now) return []
  const before = change.old ? await readRecordFile(repo, change.old.oid) : undefined
  const type = pullType(before, now)
  const { number, id, title, source_branch, target_branch, is_draft, source_commit, target_before } = now
  const known = users.get(number)
  const opener = type === 'pull_request.opened' ? now.author_id : undefined
  const userId = known?.id ?? opener
  const actor = actorOf({ name: now.by.name, ...(userId !== undefined && { id: userId }) })
  const facts = {
    ...{ number, id, title, source_branch, target_branch, is_draft, source_commit, target_commit: target_before },
    ...(type === 'pull_request.merged' && now.overridden && { overridden: true }),
  }
  const base = { key: commit, at: now.at, ...(actor && { actor }) }
  const found: EventFacts[] = []
  const mergedWith = type === 'pull_request.merged' && now.change_set
  if (type !== undefined) found.push({ ...base, type, data: facts, ...(mergedWith && { mergedWith }) })
  return [...found, ...reviewRequests(base, before, now)]
}

type Reviewed = Pick<PullRecord, 'number' | 'id' | 'title' | 'reviewers'>

/** The event for new reviewers, if there are any. */
function reviewRequests(
  { key, at, actor }: Pick<EventFacts, 'key' | 'at' | 'actor'>,
  before: Reviewed | undefined,
  { number, id, title, reviewers = [] }: Reviewed,
): EventFacts[] {
  const asked = reviewers.map((one) => one.id).filter((user) => !before?.reviewers?.some((one) => one.id === user))
  if (asked.length === 0) return []
  return [{ key, at, ...(actor && { actor }), type: 'review.requested', data: { number, id, title, reviewers: asked } }]
}

/** Undefined if only the reviewers differ, or nothing that an event shows. */
function pullType(before: PullRecord | undefined, now: PullRecord): EventType | undefined {
  if (!before) return 'pull_request.opened'
  if (before.status !== now.status)
    return now.status === 'open' ? 'pull_request.reopened' : `pull_request.${now.status}`
  const shown = ['title', 'description', 'target_branch', 'is_draft'] as const
  return shown.some((field) => before[field] !== now[field]) ? 'pull_request.edited' : undefined
}

async function readRecordFile<R extends Pick<PullRecord, 'number' | 'by'> = PullRecord>(
  repo: Repo,
  oid: Oid,
): Promise<R | undefined> {
  try {
    const record = JSON.parse((await readBlob(repo, oid)).toString()) as R | null // only the ledger writes it
    return record !== null && typeof record.number === 'number' && typeof record.by?.name === 'string'
      ? record
      : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

async function checkEvents(repo: Repo, commit: Oid, checked: string, change: TreeChange): Promise<EventFacts[]> {
  if (!change.new) return []
  const now = parseChecks(checked, await readChecksText(repo, change.new.oid))
  const before = change.old ? parseChecks(checked, await readChecksText(repo, change.old.oid)) : undefined
  const found: EventFacts[] = []
  for (const [name, check] of now.checks) {
    const same = JSON.stringify(before?.values[name]) === JSON.stringify(now.values[name])
    if (same || !('by' in check)) continue
    const actor = actorOf(check.by)
    found.push({
      type: 'check.reported',
      key: `${commit}:${name}`,
      at: check.at,
      ...(actor && { actor }),
      data: { commit: checked, name, state: check.state, ...(check.url !== undefined && { url: check.url }) },
    })
  }
  return found
}

/** The message of a commit that ends an erasure (review/erasure.ts). */
const seal = /^(erase[a-z-]*)(?: (\S+))?(?: (\S+))?\n\nErased-From: ([0-9a-f]{40})\n?$/

interface Seal {
  /** The last commit of the ledger before the erasure. */
  readonly from: Oid
  readonly facts: Pick<EventFacts, 'type' | 'data'>
  /** The number of the pull request whose title was erased. */
  readonly pull?: number
}

/** Parses the message of an erasure's last commit. Undefined for another commit. */
export function parseSeal(message: string): Seal | undefined {
  const [, what, one = '', other = '', from] = seal.exec(message) ?? []
  if (from === undefined) return undefined
  if (what === 'erase')
    return { from, facts: { type: 'comment.erased', data: { number: Number(one), entry: Number(other) } } }
  if (what === 'erase-pull')
    return { from, pull: Number(one), facts: { type: 'text.erased', data: { number: Number(one) } } }
  const data = what === 'erase-head' ? { head: one } : { user_id: one }
  return { from, facts: { type: 'text.erased', data } }
}
