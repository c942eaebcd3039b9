/** Describes how a node differs from what its events say, as the next events. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { GitError } from '../../../gitstore/errors.ts'
import { listNames } from '../../../gitstore/fs-exists.ts'
import type { History } from '../../../gitstore/history/history.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { awaitMoves } from '../../../gitstore/refs/await-moves.ts'
import { listRefs, readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { listOpenPulls } from '../../../index/derived/pulls.ts'
import { hasEvent, type Log } from '../../../index/log/events.ts'
import type { RecordedRepo, RecordedStep } from '../../../index/log/recorded.ts'
import { timeOf } from '../format/signatures.ts'
import {
  branchName,
  branchRefs,
  deletionRef,
  ledgerIn,
  ledgerRef,
  main,
  parseTrashedNode,
  setsRef,
  tagRefs,
  trashedNodeRepo,
  trashFolder,
} from '../layout.ts'
import { readDeletion } from '../ledger/deletions.ts'
import { isHidden, readNodeRecord } from '../ledger/ledger.ts'
import type { Services } from '../services.ts'
import type { NodeAt } from '../targets.ts'
import { contentChange } from './content-events.ts'
import type { EventFacts } from './event-facts.ts'
import { encodeEvent } from './event-json.ts'
import { type How, howOf, readIntents } from './intents.ts'
import { actorOf, ledgerEvents, parseSeal } from './ledger-events.ts'
import { listNewCommits } from './ledger-walk.ts'
import { readRecordedRefs } from './recorded-refs.ts'
import { type RefMove, refFacts } from './ref-events.ts'

/** The most refs and ledger commits that one transaction records. More follow in the next. */
const atOnce = { refs: 500, commits: 200 } as const

/** The next events of a repository, and its state after them. */
export interface Described {
  readonly step: RecordedStep
  readonly events: readonly EventFacts[]
  /** False if more must follow at once. */
  readonly isWhole: boolean
  /** Nodes of edges that were added. Their events come first. */
  readonly linked: readonly string[]
  /** Pull requests whose titles earlier events must not show. */
  readonly erasedPulls?: readonly number[]
}

export interface DescribedNode {
  readonly at: NodeAt
  readonly repo: Repo
  readonly history: History
  readonly state: RecordedRepo | undefined
  readonly log: Log
  /** Refs that were read after `state`. Undefined: they are read now. */
  readonly refs?: NodeRefs | undefined
}

/** The refs of a node, except its tags. */
export interface NodeRefs {
  readonly ledger: Oid
  readonly branches: ReadonlyMap<string, Oid>
}

/** True if the log has the events of these refs. False if that takes more than their digest. */
export function isDescribed(repo: Repo, state: RecordedRepo | undefined, { ledger, branches }: NodeRefs): boolean {
  const digest = digestOf(ledger, [branches, listRefs(repo, tagRefs)])
  return state?.gone === 0 && state.digest === digest && !isCoarse(digest)
}

/** Returns the next events of a node; undefined if the log has all of them. @throws GitError if it is damaged */
export async function describeNode(deps: Services, node: DescribedNode): Promise<Described | undefined> {
  const { repo, state } = node
  const found = node.refs ?? (await readNodeRefs(deps, repo, state))
  if (found === undefined) return state && state.gone === 0 ? describeGone(deps, node, state) : undefined
  const { ledger, branches } = found
  const refs = [branches, listRefs(repo, tagRefs)]
  const digest = digestOf(ledger, refs)
  const isSame = state?.gone === 0 && state.digest === digest
  if (isSame && !isCoarse(digest)) return undefined
  const older = state === undefined ? await describeOlder(deps, node, ledger) : undefined
  if (older !== undefined) {
    const putRefs = new Map(refs.flatMap((some) => [...some]))
    const step = { ...stepOf(node), ledger, digest, gone: 0, putRefs, removedRefs: [] }
    return { step, events: older, isWhole: true, linked: [] }
  }
  const recorded = state ? await readRecordedRefs(deps, state) : new Map<string, Oid>()
  const all = movesBetween(recorded, refs)
  if (isSame && all.length === 0) return undefined
  const moves = all.slice(0, atOnce.refs)
  const { commits, isReset, erased } = await listNewCommits(repo, state?.ledger ?? null, ledger)
  const some = isReset ? [] : commits.slice(0, atOnce.commits)
  const isWhole = moves.length === all.length && (isReset || some.length === commits.length)
  const seen = { ...node, ledger, moves, commits: some, isReset }
  const { events, linked } = await describeMoves(deps, seen)
  const putRefs = new Map(moves.flatMap(({ ref, after }): [string, Oid][] => (after === null ? [] : [[ref, after]])))
  const step: RecordedStep = {
    ...stepOf(node),
    ledger: isReset ? ledger : (some.at(-1) ?? state?.ledger ?? ledger),
    digest: isWhole ? digest : '',
    gone: 0,
    putRefs,
    removedRefs: moves.flatMap(({ ref, after }) => (after === null ? [ref] : [])),
  }
  const seals = isReset ? commits : some
  const erasedPulls = seals.flatMap((oid) => erased.get(oid) ?? [])
  return { step, events, isWhole, linked, erasedPulls }
}

/**
 * Reads the ledger before the branches. Undefined without a repository, or if the node is hidden.
 *
 * @throws GitError ref_damaged, object_damaged
 */
async function readNodeRefs(
  { store }: Pick<Services, 'store'>,
  repo: Repo,
  state: RecordedRepo | undefined,
): Promise<NodeRefs | undefined> {
  if (!repoExists(repo)) return undefined
  await awaitMoves(store, { repo, ref: main })
  const ledger = readRef(repo, ledgerRef)
  if (ledger === null) throw new GitError('ref_damaged', `${ledgerRef} is missing`, { ref: ledgerRef })
  const isKnown = state?.gone === 0 && state.ledger === ledger
  if (!isKnown && (await isHidden(repo, ledger))) return undefined
  return { ledger, branches: listRefs(repo, branchRefs) }
}

/** The refs of which a digest is taken at each change. With more, the refs themselves are compared. */
const digestedRefs = 200
const coarse = 'ledger '

/** The digest of all refs that events describe. A coarse one is only of the ledger. */
export function digestOf(ledger: Oid, refs: readonly ReadonlyMap<string, Oid>[]): string {
  if (refs.reduce((sum, { size }) => sum + size, 0) > digestedRefs) return `${coarse}${ledger}`
  const hash = createHash('sha256').update(ledger)
  for (const some of refs) for (const [ref, oid] of some) hash.update(`\n${oid} ${ref}`)
  return hash.digest('hex')
}

function isCoarse(digest: string): boolean {
  return digest.startsWith(coarse)
}

function stepOf({ at, state }: DescribedNode) {
  return { node_id: at.node_id, org_id: at.org_id, before: state?.version ?? null }
}

/**
 * Describes a node that is older than the log and not recorded. It is taken as it is, or came out of the trash. Undefined
 * if all of it is news, because the log has every node.
 */
async function describeOlder(deps: Services, { at, log, repo }: DescribedNode, ledger: Oid) {
  if ((await readNodeRecord(repo, ledger)).created_at >= log.began_at) return undefined
  const intentOf = await readIntents(deps, at.node_id, [ledger])
  // A restored node keeps the record of its deletion, and its ledger is not moved.
  if (readRef(repo, deletionRef) !== null && intentOf(ledgerRef, ledger) !== undefined)
    return [await describeReturn({ repo, ledger }, { key: `${log.log_id}:1`, now: deps.now().toISOString(), intentOf })]
  return log.whole === 1 ? undefined : []
}

/** Lists the moves between two sets of refs: deletions first, and main last. */
function movesBetween(before: ReadonlyMap<string, Oid>, after: readonly ReadonlyMap<string, Oid>[]): RefMove[] {
  const gone: RefMove[] = []
  const moved: RefMove[] = []
  let kept = 0
  for (const some of after)
    for (const [ref, oid] of some) {
      const old = before.get(ref)
      if (old !== undefined) kept++
      if (old !== oid) moved.push({ ref, before: old ?? null, after: oid })
    }
  if (kept < before.size)
    for (const [ref, oid] of before)
      if (!after.some((some) => some.has(ref))) gone.push({ ref, before: oid, after: null })
  return [...gone, ...moved.sort((a, b) => Number(a.ref === main) - Number(b.ref === main))]
}

async function describeGone(deps: Services, node: DescribedNode, state: RecordedRepo): Promise<Described> {
  const { at, log, repo } = node
  const ledger = repoExists(repo) ? readRef(repo, ledgerRef) : null
  const deletion = ledger === null ? await findDeletion(deps, at) : await readMergedDeletion(repo, ledger)
  const intent = (await readIntents(deps, at.node_id, [ledger]))(ledgerRef, ledger)
  const actor =
    intent?.actor ?? (deletion?.deleted_by === undefined ? undefined : actorOf({ name: deletion.deleted_by }))
  const event: EventFacts = {
    type: 'node.deleted',
    key: `${log.log_id}:${state.version + 1}`,
    at: new Date(deletion?.ms ?? deps.now()).toISOString(),
    ...(actor && { actor }),
    ...howOf(intent, 'path'),
    ...(deletion?.mergedWith !== undefined && { mergedWith: deletion.mergedWith }),
    data: { ...(deletion?.title !== undefined && { title: deletion.title }) },
  }
  const step = { ...stepOf(node), ledger: state.ledger, digest: '', gone: 1, putRefs: new Map(), removedRefs: [] }
  return { step, events: [event], isWhole: true, linked: [] }
}

/** Reads a deletion that a change set has merged. The repository is not in the trash yet. */
async function readMergedDeletion(repo: Repo, ledger: Oid) {
  const { committer } = await readCommit(repo, ledger)
  const { title, proposed_in: mergedWith } = await readNodeRecord(repo, ledger)
  return { ms: committer.timestamp * 1000, title, deleted_by: committer.name, mergedWith }
}

/** Reads the record of the newest copy in the trash. Undefined if there is no copy. */
async function findDeletion({ store }: Pick<Services, 'store'>, { org_id: orgId, node_id: nodeId }: NodeAt) {
  const names = (await listNames(join(trashFolder(store), orgId))).filter((name) => name.startsWith(nodeId))
  const times = names.map((name) => parseTrashedNode(name.replace(/\.git$/, ''))?.deletedMs ?? 0)
  const ms = Math.max(0, ...times)
  if (ms === 0) return undefined
  const repo = trashedNodeRepo(store, orgId, nodeId, new Date(ms))
  const deletion = await readDeletion(repo, ms).catch(() => undefined)
  const ledger = readRef(repo, ledgerRef)
  const { state, proposed_in } = ledger === null ? {} : await readNodeRecord(repo, ledger)
  return { ms, ...deletion, mergedWith: state === 'deleted' ? proposed_in : undefined }
}

interface Seen extends DescribedNode {
  readonly ledger: Oid
  readonly moves: readonly RefMove[]
  /** New commits of the ledger, oldest first. */
  readonly commits: readonly Oid[]
  readonly isReset: boolean
}

async function describeMoves(deps: Services, seen: Seen): Promise<Pick<Described, 'events' | 'linked'>> {
  const { at, repo, state, log, ledger, moves, commits, isReset } = seen
  const key = `${log.log_id}:${(state?.version ?? 0) + 1}`
  const oids = [...moves.map(({ after }) => after), ...commits, ledger]
  const intentOf = await readIntents(deps, at.node_id, oids)
  const now = deps.now().toISOString()
  const events: EventFacts[] = []
  const linked: string[] = []
  if (state?.gone === 1) events.push(await describeReturn(seen, { key, now, intentOf }))
  const root = state === undefined ? commits[0] : undefined
  const later = root === undefined ? commits : commits.slice(1)
  if (root !== undefined) {
    const created = await describeCreation(seen, root, intentOf)
    // A purged node came back, from a backup or by hand.
    const isBack = await hasEvent(deps.events.read, encodeEvent(at.org_id, at.node_id, created.event).id)
    events.push(isBack ? await describeReturn(seen, { key, now, intentOf }) : created.event)
    linked.push(...created.linked)
  }
  for (const move of moves) {
    // The creation includes the first head of main.
    if (root !== undefined && move.ref === main) continue
    const { events: some, linked: more } = await describeMove(deps, seen, move, { key, now, intentOf })
    events.push(...some)
    linked.push(...more)
  }
  if (isReset)
    events.push({
      type: 'node.reset',
      key: `${key}:${ledger}`,
      at: now,
      data: { before: state?.ledger, after: ledger },
    })
  else events.push(...(await describeLedger(repo, later, intentOf)))
  return { events, linked }
}

type IntentOf = Awaited<ReturnType<typeof readIntents>>

async function titleOf(repo: Repo, ledger: Oid): Promise<{ readonly title: string; readonly head?: Oid }> {
  const { title } = await readNodeRecord(repo, ledger)
  const head = readRef(repo, main)
  return { title, ...(head !== null && { head }) }
}

/** Returns the ledger commit that made the node. This is the first one, or the merge of its proposal. */
export async function creationOf(repo: Repo, root: Oid, ledger: Oid): Promise<Oid> {
  if ((await readNodeRecord(repo, root)).state === undefined) return root
  const { commits } = await listNewCommits(repo, root, ledger)
  for (const oid of commits) if (!(await isHidden(repo, oid))) return oid
  return root
}

async function describeCreation({ repo, moves, ledger }: Seen, root: Oid, intentOf: IntentOf) {
  const made = await creationOf(repo, root, ledger)
  const { committer } = await readCommit(repo, made)
  const { title, created_at } = await readNodeRecord(repo, made)
  const { proposed_in: set } = await readNodeRecord(repo, root)
  const head = moves.find(({ ref }) => ref === main)?.after ?? null
  const { edges_added } = await contentChange(repo, null, head)
  const intent = intentOf(ledgerRef, made)
  const actor = intent?.actor ?? actorOf({ name: committer.name })
  const event: EventFacts = {
    type: 'node.created',
    key: root,
    at: created_at,
    ...(actor && { actor }),
    ...howOf(intent),
    data: { title, ...(head !== null && { head }), edges_added, ...(set !== undefined && { change_set: set }) },
  }
  return { event, linked: edges_added.map(({ node_id }) => node_id) }
}

async function describeReturn(
  { repo, ledger }: Pick<Seen, 'repo' | 'ledger'>,
  { key, now, intentOf }: MoveContext,
): Promise<EventFacts> {
  const intent = intentOf(ledgerRef, ledger)
  const actor = intent?.actor && { actor: intent.actor }
  const made = { key: `${key}:${ledger}`, at: now, ...howOf(intent, 'path'), ...actor }
  return { type: 'node.restored', ...made, data: await titleOf(repo, ledger) }
}

interface MoveContext {
  /**
   * The key of everything that is recorded together. Objects are added to it: after a copy of the data folder was
   * restored, other moves have the same version.
   */
  readonly key: string
  readonly now: string
  readonly intentOf: IntentOf
}

async function describeMove(
  deps: Services,
  { at, repo, history, state }: Seen,
  move: RefMove,
  { key, now, intentOf }: MoveContext,
): Promise<Pick<Described, 'events' | 'linked'>> {
  const { ref, before, after } = move
  const intent = intentOf(ref, after)
  const who = { at: now, ...(intent?.actor && { actor: intent.actor }), ...howOf(intent, 'path') }
  const events: EventFacts[] = [{ ...who, key: `${key}:${ref}:${after}`, ...(await refFacts(repo, history, move)) }]
  if (ref === main) {
    const change = await contentChange(repo, before, after)
    events.push({ ...who, type: 'node.updated', key: `${key}:${after}`, data: { before, after, ...change } })
    return { events, linked: change.edges_added.map(({ node_id }) => node_id) }
  }
  if (state && ref.startsWith(branchRefs) && before !== null && after !== null)
    for (const { number, id, title } of await openFrom(deps, at, branchName(ref)))
      events.push({
        ...who,
        type: 'pull_request.updated',
        key: `${key}:${number}:${after}`,
        data: { number, id, title, before, after },
      })
  return { events, linked: [] }
}

async function openFrom({ index }: Services, { node_id: nodeId }: NodeAt, branch: string) {
  return (await listOpenPulls(index.read, nodeId)).filter(({ source_branch }) => source_branch === branch)
}

/** The change set that an event of their ledger is about. An erasure of a user is about none. */
function setOf({ data: { number } }: EventFacts): Pick<EventFacts, 'set'> {
  return typeof number === 'number' ? { set: number } : {}
}

/** Describes commits of a ledger, oldest first. */
export async function describeLedger(repo: Repo, commits: readonly Oid[], intentOf: IntentOf): Promise<EventFacts[]> {
  const { ref } = ledgerIn(repo)
  const isOfSets = ref === setsRef
  const described: EventFacts[][] = []
  let how: How = {}
  let identity = ''
  for (const oid of [...commits].reverse()) {
    const { committer, message } = await readCommit(repo, oid)
    const { name, email, timestamp } = committer
    const intent = intentOf(ref, oid)
    const own = [name, email, timestamp].join('\n')
    // A move of several commits has its intent at the last of them.
    if (intent) how = howOf(intent)
    else if (own !== identity) how = {}
    identity = own
    const sealed = parseSeal(message)
    const actor = actorOf({ name })
    const facts = sealed
      ? [{ ...sealed.facts, key: oid, at: timeOf(committer), ...(actor && { actor }) }]
      : await ledgerEvents(repo, oid)
    const came = how
    described.push(facts.map((event) => ({ ...event, ...came, ...(isOfSets && setOf(event)) })))
  }
  return described.reverse().flat()
}
