/** Moves several refs of a node in one transaction, and settles its pull requests. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isGitError } from '../../../gitstore/errors.ts'
import { type Current, type Decision, type Move, updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { RefCommand } from '../../../gitstore/transfer/proc-receive.ts'
import { newCommits } from '../../../gitstore/transfer/reachability.ts'
import { isProposed } from '../../../index/derived/node-queries.ts'
import { findOrgRow } from '../../../index/derived/org-queries.ts'
import { listOpenPulls } from '../../../index/derived/pulls.ts'
import * as limits from '../../base/limits.ts'
import { type NodeAccess, recheckAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { withIntent } from '../event-log/note-intents.ts'
import { hiddenEmail } from '../format/hidden-emails.ts'
import { reloadNode } from '../indexing/freshness.ts'
import { branchName, branchRef, branchRefs, ledgerRef, main, pinRef } from '../layout.ts'
import { changedBy } from '../ledger/changed-by.ts'
import { appendPushed } from '../ledger/ledger.ts'
import { pinMoves, reconcileMoves, writeEvents } from '../ledger/moved-branches.ts'
import { openPullsAt } from '../ledger/pull-ledger.ts'
import type { BranchMove, Reconciled } from '../ledger/reconcile.ts'
import type { Ctx, Services } from '../services.ts'
import { refuseMerges } from './agent-moves.ts'
import { addsParents, withGraphLockIf } from './branch-commits.ts'
import { PushRejectedError } from './push-context.ts'
import { checkLockedRef, checkRef, countRefRoom, tooManyRefsMessage } from './ref-rules.ts'
import { findTree } from './revisions.ts'

export interface Moved {
  /** The errors of refs that were not moved, by ref name. */
  readonly refused: ReadonlyMap<string, unknown>
  /** The events of pull requests that follow from the moves. */
  readonly events: readonly Reconciled[]
}

/** A refused ref either leaves the others unaffected or prevents all moves. */
export type Atomicity = 'each that may' | 'all or none'

/** The most locked refs that are skipped. With one more, the rest is not tried. */
const maxBusyRefs = 5
/** Refs checked between two turns of the event loop. */
const refsAtOnce = 200

/**
 * Moves the refs of `commands`. Each must have a valid name (`findRefProblem`), and no ref may be a folder of another.
 * The caller updates the index. Errors of a single ref are returned.
 *
 * @param access must be current; it is reloaded for each further attempt
 * @throws AppError as reloadNode; GitError busy, repo_missing, storage_*
 */
export async function applyRefUpdates(
  ctx: Ctx<Person>,
  access: NodeAccess,
  commands: readonly RefCommand[],
  atomicity: Atomicity,
): Promise<Moved> {
  const refused = new Map<string, unknown>()
  const checked = new Set<RefCommand>()
  for (let round = 0, busy = 0; ; round++) {
    const rest = commands.filter(({ ref }) => !refused.has(ref))
    if (rest.length === 0 || (atomicity === 'all or none' && refused.size > 0)) return { refused, events: [] }
    const now = round === 0 ? access : await reloadNode(ctx, access, 'contributor')
    try {
      const events = await withGraphLockIf(ctx, now, await addsParentsToMain(now, rest), async () => {
        await checkAll({ deps: ctx, person: ctx.actor, access: now }, rest, { refused, checked, atomicity })
        return attempt(ctx, now, commands, { refused, atomicity })
      })
      if (events !== 'again') return { refused, events }
    } catch (error) {
      const culprit = culpritOf(error, rest)
      if (culprit === undefined) throw error
      if (isGitError(error, 'busy') && ++busy > maxBusyRefs) throw error
      refused.set(culprit, error)
    }
  }
}

/** The ref that could not be locked or created; undefined for other errors. */
function culpritOf(error: unknown, commands: readonly RefCommand[]): string | undefined {
  if (!isGitError(error, 'busy', 'ref_name_taken')) return undefined
  return commands.find(({ ref }) => ref === error.facts.ref)?.ref
}

interface Verdicts {
  readonly refused: Map<string, unknown>
  readonly atomicity: Atomicity
}

async function checkAll(
  context: Parameters<typeof checkRef>[0],
  commands: readonly RefCommand[],
  { refused, checked, atomicity }: Verdicts & { readonly checked: Set<RefCommand> },
): Promise<void> {
  for (const command of commands) {
    if (checked.has(command)) continue
    await checkRef(context, command).catch((error: unknown) => refused.set(command.ref, error))
    if (refused.size > 0 && atomicity === 'all or none') return
    // The rules of main depend on the graph, which is locked only for this attempt.
    if (command.ref !== main) checked.add(command)
    if (checked.size % refsAtOnce === 0) await nextTurn()
  }
}

/**
 * Tries once. Returns `again` if a pull request was opened in the meantime whose head must be pinned. Also returns
 * `again` if it has refused a ref because of the events that the ref would cause.
 */
async function attempt(
  ctx: Ctx<Person>,
  access: NodeAccess,
  commands: readonly RefCommand[],
  { refused, atomicity }: Verdicts,
): Promise<readonly Reconciled[] | 'again'> {
  const { repo, node, org, history } = access
  const allowed = () => (atomicity === 'all or none' && refused.size > 0 ? [] : commands.filter(isLeft))
  const isLeft = ({ ref }: RefCommand) => !refused.has(ref)
  const group = allowed()
  if (group.length === 0) return []
  const ledger = { repo, ref: ledgerRef }
  const numbers = await touchedBy(ctx, node.id, group)
  const commits = await foreignCommits(ctx.actor, access, group)
  const names = [ledger, ...group.map(({ ref }) => ({ repo, ref })), ...numbers.map((n) => ({ repo, ref: pinRef(n) }))]
  const decide = async (read: Current): Promise<Decision<readonly Reconciled[] | 'again'>> => {
    const current = readOnce(read)
    const before = current(ledger)
    if (!before) return { moves: [], value: 'again' }
    const rights = await recheckAccess(ctx, org.id, 'contributor')
    const open = await openPullsAt(ctx.index.read, { repo, nodeId: node.id }, before)
    const now = (await findOrgRow(ctx.index.read, org.id)) ?? org
    const locked = { deps: ctx, person: ctx.actor, access, rights, org: now, current, ledger: before, open }
    for (const [at, command] of group.entries()) {
      await checkLockedRef(locked, command).catch((error: unknown) => refused.set(command.ref, error))
      if (at % refsAtOnce === refsAtOnce - 1) await nextTurn()
    }
    refuseBeyondLimit(repo, allowed(), refused)
    const left = allowed()
    const headOf = (branch: string): Oid | null => current({ repo, ref: branchRef(branch) })
    const situation = { open, moves: branchMoves(left), headOf }
    const { events, pins } = await reconcileMoves(access, situation, changedBy(ctx, ctx.actor))
    if (refuseMerges(ctx.actor, events, left, refused)) return { moves: [], value: 'again' }
    if (pins.some(({ number }) => !numbers.includes(number))) return { moves: [], value: 'again' }
    const settled = await writeEvents({ repo, history }, before, events, ctx.actor.id)
    const pushed = { commits: left.some(({ to }) => to !== null) ? commits : [], userIds: [ctx.actor.id] }
    const to = await appendPushed(repo, settled, { ...pushed, ...changedBy(ctx, ctx.actor) })
    const moves: Move[] = [...(await pinMoves(repo, pins)), ...left.map((command) => ({ repo, ...command }))]
    if (to !== before) moves.push({ ...ledger, to })
    return withIntent(ctx, ctx.actor, { moves, value: events })
  }
  return updateRefs(ctx.store, names, decide)
}

/**
 * Lists the commits that the refs bring in and whose author is not the user. Git believes any author. Lists none before
 * `main` has a commit, because a repository from elsewhere then moves in. A proposed node is judged as others are.
 *
 * @throws PushRejectedError
 */
export async function foreignCommits(
  person: Person,
  { repo, node }: NodeAccess,
  commands: readonly RefCommand[],
): Promise<readonly Oid[]> {
  const tips = commands.flatMap(({ to }) => to ?? [])
  if (tips.length === 0 || (readRef(repo, main) === null && !isProposed(node))) return []
  const own = [person.email.toLowerCase(), hiddenEmail(person.id)]
  const foreign = (await newCommits(repo, tips)).filter(({ email }) => !own.includes(email.toLowerCase()))
  if (foreign.length > limits.pushedAuthorCommits)
    throw new PushRejectedError(
      `a push brings at most ${limits.pushedAuthorCommits} commits of other authors; push them in parts`,
    )
  return foreign.map(({ oid }) => oid)
}

/**
 * Reads each ref once. Sources of pull requests are not locked: if one moved after its head was judged, the push would
 * not be recorded as a merge.
 */
function readOnce(read: Current): Current {
  const known = new Map<string, Oid | null>()
  return (name) => {
    const key = `${name.repo.dir} ${name.ref}`
    const oid = known.get(key)
    if (oid !== undefined) return oid
    const found = read(name)
    known.set(key, found)
    return found
  }
}

/** Refuses the last new refs if they exceed the limit of branches or tags. */
function refuseBeyondLimit(repo: Repo, commands: readonly RefCommand[], refused: Map<string, unknown>): void {
  for (const kind of ['heads', 'tags'] as const) {
    const made = commands.filter(({ ref, from, to }) => ref.startsWith(`refs/${kind}/`) && from === null && to !== null)
    if (made.length === 0) continue
    const gone = commands.filter(({ ref, to }) => ref.startsWith(`refs/${kind}/`) && to === null).length
    for (const { ref } of made.slice(Math.max(countRefRoom(repo, kind) + gone, 0)))
      refused.set(ref, new PushRejectedError(`the node ${tooManyRefsMessage(kind)}`))
  }
}

function branchMoves(commands: readonly RefCommand[]): Map<string, BranchMove> {
  const branches = commands.filter(({ ref }) => ref.startsWith(branchRefs))
  return new Map(branches.map(({ ref, from, to }) => [branchName(ref), { before: from, after: to }]))
}

/** The numbers of open pull requests from or into a deleted branch. */
async function touchedBy({ index }: Services, nodeId: string, commands: readonly RefCommand[]): Promise<number[]> {
  const deleted = new Set(commands.flatMap(({ ref, to }) => (to === null ? ref : [])))
  if (deleted.size === 0) return []
  const open = await listOpenPulls(index.read, nodeId)
  const isTouched = (branch: string) => deleted.has(branchRef(branch))
  return open
    .filter(({ source_branch, target_branch }) => isTouched(source_branch) || isTouched(target_branch))
    .map(({ number }) => number)
}

async function addsParentsToMain({ repo }: NodeAccess, commands: readonly RefCommand[]): Promise<boolean> {
  const move = commands.find(({ ref }) => ref === main)
  if (!move?.to) return false
  const after = await findTree(repo, move.to)
  return after !== null && addsParents(repo, await findTree(repo, move.from), after)
}
