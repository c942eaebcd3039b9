/** A push: each ref is judged and moved by itself, or all together, by the transaction that REST uses (law 4). */
import { GitError } from '../../gitstore/errors.ts'
import { type Move, transact, withFaults } from '../../gitstore/ref-transaction.ts'
import type { Oid } from '../../gitstore/repo.ts'
import { type Push, type PushReport, type RefCommand, syncReceived } from '../../gitstore/transport.ts'
import type { Deps } from '../deps.ts'
import { Invalid, Refusal } from '../errors.ts'
import { type NodeAccess, nodeFor, requireStill } from './access.ts'
import type { Person } from './actor.ts'
import { addsParents, whileHeld } from './branch-moves.ts'
import { withoutBranch } from './branches.ts'
import { followSoon } from './follow.ts'
import { appendPull, type PullEvent, type PullRecord } from './ledger.ts'
import { ledgerRef, main, nodeRepo, pinRef } from './places.ts'
import { endedBy, fromRow, tookIn, withHeads } from './pulls/pull-ledger.ts'
import { judge, type PushPlace, printable, Rejected, refProblem, treeOf } from './push-rules.ts'

/** Refs of one push; a repository with more moves in by several. */
const mostRefs = 2_000
/** Problems that are told of one ref. */
const toldProblems = 20

/**
 * What the pusher's refs come to. `main` goes last: what else is pushed may be the head of a request that main takes in.
 * The index has followed when this returns. It throws only what is no fault of the push.
 */
export async function receivePush(
  deps: Deps,
  person: Person,
  orgId: string,
  nodeId: string,
  { commands, atomic }: Push,
): Promise<PushReport> {
  const repo = nodeRepo(deps.store, orgId, nodeId)
  try {
    await withFaults(deps.store, [{ repo }], () => syncReceived(repo))
  } catch (error) {
    const { reason, lines } = explain(deps, error)
    return { refused: new Map(commands.map(({ ref }) => [ref, reason])), lines }
  }
  const refused = refusedNames(commands)
  const lines: string[] = []
  if (atomic && refused.size > 0) {
    const [culprit = ''] = refused.keys()
    for (const { ref } of commands) if (!refused.has(ref)) refused.set(ref, allAreOne(culprit))
  }
  const named = commands.filter(({ ref }) => !refused.has(ref))
  const ordered = named.sort((a, b) => Number(a.ref === main) - Number(b.ref === main))
  for (const group of atomic ? [ordered] : ordered.map((command) => [command])) {
    try {
      lines.push(...(await moveRefs(deps, person, orgId, nodeId, group)))
    } catch (error) {
      const told = explain(deps, error)
      const culprit = error instanceof RefRejected ? error.ref : undefined
      for (const { ref } of group)
        refused.set(ref, culprit === undefined || ref === culprit ? told.reason : allAreOne(culprit))
      lines.push(...told.lines)
    }
  }
  return { refused, lines }
}

/** By name, before a lock's path is made of it. */
function refusedNames(commands: readonly RefCommand[]): Map<string, string> {
  const refused = new Map<string, string>()
  const seen = new Set<string>()
  for (const { ref } of commands) {
    const problem =
      commands.length > mostRefs
        ? `a push has at most ${mostRefs} refs`
        : seen.has(ref)
          ? 'named twice'
          : refProblem(ref)
    if (problem !== undefined) refused.set(ref, problem)
    seen.add(ref)
  }
  return refused
}

function allAreOne(culprit: string): string {
  return `${printable(culprit)} was refused, and the push is atomic`
}

/** Which ref of several it was. */
class RefRejected extends Error {
  readonly ref: string

  constructor(ref: string, cause: unknown) {
    super(ref, { cause })
    this.name = 'RefRejected'
    this.ref = ref
  }
}

interface Explanation {
  readonly reason: string
  readonly lines: readonly string[]
}

/** In words for the person who pushes; what is ours goes to the log. */
function explain(deps: Deps, error: unknown): Explanation {
  if (error instanceof RefRejected) {
    const { reason, lines } = explain(deps, error.cause)
    return { reason, lines: lines.map((line) => `${shortName(error.ref)}: ${line}`) }
  }
  if (error instanceof Rejected) {
    const told = error.problems.slice(0, toldProblems).map(({ path, reason }) => `${printable(path)}: ${reason}`)
    const more = error.problems.length - told.length
    return { reason: printable(error.message), lines: more > 0 ? [...told, `and ${more} more`] : told }
  }
  if (error instanceof Refusal) return { reason: error.message, lines: [] }
  if (error instanceof Invalid) return { reason: error.message, lines: [] }
  if (error instanceof GitError && faults.includes(error.code)) deps.log.error({ err: error }, 'a push met a fault')
  if (error instanceof GitError && error.code in sentences) return { reason: sentences[error.code] ?? '', lines: [] }
  deps.log.error({ err: error }, 'a ref of a push could not be moved')
  return { reason: `the service failed; ${look}`, lines: [] }
}

/** A fault may come after the ref has moved, and before that is durable. */
const look = 'fetch before you push again'

const sentences: Partial<Record<GitError['code'], string>> = {
  busy: 'others are writing; push again',
  ref_name_taken: 'another ref stands in the way of this name',
  limit_exceeded: 'it holds more than the service reads',
  object_missing: 'an object is missing',
  object_damaged: 'an object is damaged',
  ref_damaged: 'this repository is damaged',
  repo_missing: 'the repository was deleted meanwhile',
  storage_full: `the disk is full; ${look}`,
  storage_readonly: `the storage is read-only; ${look}`,
  storage_error: `the storage failed; ${look}`,
}

/** What the operator hears of, too. */
const faults: readonly GitError['code'][] = [
  'object_missing',
  'object_damaged',
  'ref_damaged',
  'storage_full',
  'storage_readonly',
  'storage_error',
]

/** Moves all of `group`, or none. The lines tell what else came of it. */
async function moveRefs(
  deps: Deps,
  person: Person,
  orgId: string,
  nodeId: string,
  group: readonly RefCommand[],
): Promise<string[]> {
  for (let held = false; ; ) {
    const access = await nodeFor(deps, person, orgId, nodeId, 'editor')
    const outcome = await whileHeld(deps, access, held, () => attempt(deps, person, access, group, held))
    await followSoon(deps, orgId, nodeId)
    if (outcome === 'hold the graph') held = true
    else if (outcome !== 'again') return outcome
  }
}

/** `again` where a request was opened or ended meanwhile. */
async function attempt(
  deps: Deps,
  person: Person,
  access: NodeAccess,
  group: readonly RefCommand[],
  held: boolean,
): Promise<string[] | 'again' | 'hold the graph'> {
  const { repo, node, org } = access
  const open = await openPulls(deps, access)
  const ledger = { repo, ref: ledgerRef }
  const pins = touchedBy(group, open).map(({ number }) => ({ repo, ref: pinRef(number) }))
  const names = [ledger, ...group.map(({ ref }) => ({ repo, ref })), ...pins]
  return transact<string[] | 'again' | 'hold the graph'>(deps.store, names, async (current) => {
    const before = current(ledger)
    if (!before || before !== node.ledger) return { moves: [], value: 'again' }
    await requireStill(deps, person, org.id, 'editor')
    const place: PushPlace = { deps, person, access, current, open }
    for (const command of group)
      await judge(place, command).catch((cause: unknown) => {
        throw new RefRejected(command.ref, cause)
      })
    if (!held && (await movesParents(access, group))) return { moves: [], value: 'hold the graph' }
    const settled = await settle(place, group, before)
    const moves: Move[] = [...settled.pins, ...group.map(({ ref, to }) => ({ repo, ref, to }))]
    if (settled.ledger !== before) moves.push({ ...ledger, to: settled.ledger })
    return { moves, value: settled.lines }
  })
}

async function openPulls({ index }: Deps, { node }: NodeAccess): Promise<PullRecord[]> {
  const rows = await index.read
    .selectFrom('pull')
    .selectAll()
    .where('node_id', '=', node.id)
    .where('status', '=', 'open')
    .orderBy('number')
    .execute()
  return rows.map(fromRow)
}

/** Requests from or into a branch that `group` deletes. */
function touchedBy(group: readonly RefCommand[], open: readonly PullRecord[]): PullRecord[] {
  const deleted = new Set(group.filter(({ to }) => to === null).map(({ ref }) => ref))
  return open.filter((record) => sides(record).some((ref) => deleted.has(ref)))
}

function sides({ source_branch, target_branch }: PullRecord): readonly [string, string] {
  return [`refs/heads/${source_branch}`, `refs/heads/${target_branch}`]
}

async function movesParents({ repo }: NodeAccess, group: readonly RefCommand[]): Promise<boolean> {
  const move = group.find(({ ref }) => ref === main)
  if (!move?.to) return false
  const after = await treeOf(repo, move.to)
  return after !== null && addsParents(repo, await treeOf(repo, move.from), after)
}

/** The ledger after the push: requests whose head a target took in are merged, those that lost a branch close or go to main. */
async function settle({ deps, person, access, current, open }: PushPlace, group: readonly RefCommand[], ledger: Oid) {
  const { repo, history } = access
  const by = { name: person.name, email: person.email }
  const at = deps.now().toISOString()
  const pins: Move[] = []
  const lines: string[] = []
  const moved = new Map(group.map((command) => [command.ref, command]))
  const left = new Map(open.map((record) => [record.number, record]))
  let tip = ledger
  const append = async (event: PullEvent, record: PullRecord) => {
    tip = await appendPull(repo, tip, event, record)
    if (record.status === 'open') left.set(record.number, record)
    else left.delete(record.number)
  }
  for (const record of open) {
    const [source, target] = sides(record)
    const head = moved.get(source)?.to ?? current({ repo, ref: source })
    const { from = null, to = null } = moved.get(target) ?? {}
    if (record.is_draft || !head || !from || !to || !(await tookIn(access, head, from, to))) continue
    await append('merge', endedBy(await withHeads(history, record, head, from), 'merged', by, at))
    lines.push(`Pull request ${record.number} is merged: ${record.title}`)
  }
  for (const { ref, to } of group) {
    if (to !== null) continue
    for (const record of [...left.values()].filter((one) => sides(one).includes(ref))) {
      const after = await withoutBranch(access, { ...record, by, at }, shortName(ref), [...left.values()])
      await append(after.status === 'closed' ? 'close' : 'edit', after)
      if (after.status !== 'closed') continue
      pins.push({ repo, ref: pinRef(record.number), to: after.source_commit })
      lines.push(`Pull request ${record.number} is closed: ${record.title}`)
    }
  }
  return { pins, lines: lines.map(printable), ledger: tip }
}

function shortName(ref: string): string {
  return ref.replace(/^refs\/(heads|tags)\//, '')
}
