/**
 * Puts pages into change sets by pushes. A new branch named `sets/7` becomes the source of an item of change set 7, and
 * `sets/new` opens a set.
 *
 * The branch, its pull request and the set move in one transaction, so no crash leaves a branch that has not joined. A
 * branch of such a name that exists is therefore an ordinary one, unless it is the source of an item.
 */

import { v7 as newId } from 'uuid'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { noOid, type Oid } from '../../../gitstore/repo.ts'
import type { RefCommand } from '../../../gitstore/transfer/proc-receive.ts'
import { findSetById, listSetItems } from '../../../index/derived/change-sets.ts'
import { isProposed } from '../../../index/derived/node-queries.ts'
import { findOrgRow } from '../../../index/derived/org-queries.ts'
import { listOpenPulls } from '../../../index/derived/pulls.ts'
import { AppError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import { plural } from '../../base/plural.ts'
import { branchPrefixOf, type Need, type NodeAccess, type OrgAccess, type Rights, requireRole } from '../access.ts'
import type { Person } from '../actor.ts'
import { PushRejectedError } from '../branches/push-context.ts'
import { checkLockedRef, checkRef } from '../branches/ref-rules.ts'
import { foreignCommits } from '../branches/ref-updates.ts'
import { findTree } from '../branches/revisions.ts'
import type { PullPage } from '../consent/wording.ts'
import { readContent } from '../format/node-format.ts'
import { nodeFile } from '../format/paths.ts'
import { printable } from '../format/text-rules.ts'
import { branchName, branchRef, main } from '../layout.ts'
import { changedBy } from '../ledger/changed-by.ts'
import { appendPushed, type PullRecord } from '../ledger/ledger.ts'
import { fromRow, openPullsAt, withHeads } from '../ledger/pull-ledger.ts'
import { nextSetNumber, setsOf } from '../ledger/set-ledger.ts'
import type { Ctx, Services } from '../services.ts'
import { type Into, openItem } from '../sets/adding.ts'
import { eventOf } from '../sets/changes.ts'
import { actOf } from '../sets/items.ts'
import { openedSet, refuseManySets } from '../sets/open.ts'
import { changeSet, type Part, readLocked, type SetChange } from '../sets/set-changes.ts'
import { findSet, settleSets } from '../sets/views.ts'

const pattern = /^refs\/heads\/((?:users\/[0-9a-f]{12}\/)?(?:agent\/)?sets\/)(new|[1-9]\d{0,8})$/

/** A branch that is named after a change set. */
interface SetBranch {
  /** Its name up to the number. */
  readonly folder: string
  /** Undefined: a set that is to be opened. */
  readonly number: number | undefined
}

/** Parses the full name of a ref. Undefined for other names. */
export function parseSetRef(ref: string): SetBranch | undefined {
  const [, folder, number] = pattern.exec(ref) ?? []
  if (folder === undefined) return undefined
  return { folder, number: number === 'new' ? undefined : Number(number) }
}

/** The branch that joins the same set, below the prefix of the caller. Undefined: the ref names none, or any will do. */
export function ownSetBranch(rights: Rights, ref: string): string | undefined {
  const named = parseSetRef(ref)
  const prefix = branchPrefixOf(rights)
  return named && prefix && `${prefix}sets/${named.number ?? 'new'}`
}

interface NewBranch extends RefCommand {
  readonly to: Oid
}

/** True if the command creates the branch of a new item. */
export function joinsSet(command: RefCommand): command is NewBranch {
  const { ref, from, to } = command
  return from === null && to !== null && parseSetRef(ref) !== undefined
}

/** The set that the branch joins. */
interface Target extends Into {
  readonly number: number
  readonly need: Need
  readonly decide: SetChange['decide']
}

/** Thrown if another set has the number that a new one was to get. */
class NumberTakenError extends Error {}

/** The most attempts to open a set. The name of the branch has its number. */
const maxTries = 10

/**
 * Creates a branch, and puts its pull request into the set.
 *
 * Returns the name of the branch, which has the number of a new set.
 *
 * @throws PushRejectedError, StaleRefError, the errors of checkRef and changeSet
 * @throws AppError item_exists, too_many_change_sets, too_many_items, busy
 */
export async function pushIntoSet(
  ctx: Ctx<Person>,
  access: NodeAccess,
  command: NewBranch,
): Promise<{ readonly ref: string; readonly number: number }> {
  const { folder = '', number } = parseSetRef(command.ref) ?? {}
  await checkRef({ deps: ctx, person: ctx.actor, access }, command)
  const commits = await foreignCommits(ctx.actor, access, [command])
  for (let tries = 0; tries < maxTries; tries++) {
    const set = number === undefined ? await newSet(ctx, access, command) : await openSet(ctx, access, number)
    const ref = branchRef(`${folder}${set.number}`)
    const parts = [await partOfPushed(ctx, set, access, { ...command, ref }, commits)]
    try {
      await changeSet(ctx, { orgId: access.org.id, need: set.need, parts, drafts: [], decide: set.decide })
      return { ref, number: set.number }
    } catch (error) {
      if (!(error instanceof NumberTakenError)) throw error
    }
  }
  throw new AppError('busy', 'Many change sets are being opened; push again in a moment')
}

/** Finds an open set that the caller can change. @throws PushRejectedError */
export async function findOpenSet(ctx: Ctx<Person>, access: OrgAccess, number: number): Promise<Into & { need: Need }> {
  await settleSets(ctx, access.org.id)
  try {
    const row = await findSet(ctx, { org_id: access.org.id, number })
    const need = { set: fromRow(row) }
    requireRole(access, need)
    if (row.status === 'open') return { id: row.id, title: row.title, is_draft: row.is_draft === 1, need }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
  }
  throw notOpenError(number)
}

function notOpenError(number: number): PushRejectedError {
  return new PushRejectedError(`there is no open change set ${number} that you can change`)
}

async function openSet(ctx: Ctx<Person>, access: NodeAccess, number: number): Promise<Target> {
  const set = await findOpenSet(ctx, access, number)
  return {
    ...{ ...set, number },
    decide: async (sets, items) => {
      const before = await readLocked(sets, number)
      if (before.status !== 'open') throw notOpenError(number)
      return eventOf(ctx, before, { add: {} }, { items, reviewers: undefined })
    },
  }
}

/** The most characters of a commit's subject in the title of a set. */
const titleCharacters = 200

async function newSet(ctx: Ctx<Person>, access: NodeAccess, { to }: NewBranch): Promise<Target> {
  const { org, node, repo } = access
  await refuseManySets(ctx, access)
  const [subject = ''] = (await readCommit(repo, to)).message.trim().split('\n')
  const title = [...subject].slice(0, titleCharacters).join('').trim() || `Change “${node.title}”`
  // A page that came by new.git names the set that proposes it.
  const id = (isProposed(node) && node.proposed_in) || newId()
  const own = setsOf(ctx, org.id)
  const number = await nextSetNumber(own.repo, readRef(own.repo, own.ref))
  return {
    ...{ id, number, title, is_draft: true, need: 'contributor' },
    decide: async (sets, items) => {
      if ((await nextSetNumber(sets.repo, sets.sets)) !== number) throw new NumberTakenError()
      return openedSet(ctx, sets, { id, title, description: '', is_draft: true, items })
    },
  }
}

/** @param commits those whose pushers the ledger records */
async function partOfPushed(
  ctx: Ctx<Person>,
  set: Into,
  access: NodeAccess,
  command: NewBranch,
  commits: readonly Oid[],
): Promise<Part> {
  const { org, node, repo, history } = access
  const { tree } = await readCommit(repo, command.to)
  if (isProposed(node) && (await readContent(repo, tree)).title === undefined)
    throw new PushRejectedError(`${nodeFile}: a new page needs this file, with its title`)
  return {
    access,
    refs: [{ repo, ref: command.ref }],
    decide: async ({ ledger, current, rights }) => {
      const open = await openPullsAt(ctx.index.read, { repo, nodeId: node.id }, ledger)
      const now = (await findOrgRow(ctx.index.read, org.id)) ?? org
      const locked = { deps: ctx, person: ctx.actor, access, rights, org: now, current, ledger, open }
      await checkLockedRef(locked, command)
      const pushed = { commits, userIds: [ctx.actor.id], ...changedBy(ctx, ctx.actor) }
      const after = await appendPushed(repo, ledger, pushed)
      const from = readRef(repo, main)
      const item = {
        branch: branchName(command.ref),
        head: command.to,
        act: actOf(await findTree(repo, from), tree),
        headsOf: (opened) => withHeads(history, opened, command.to, from ?? noOid),
      } satisfies Parameters<typeof openItem>[3]
      const opened = await openItem(ctx, set, access, item, { ledger }).catch((error) =>
        throwInSet(error, rights, open),
      )
      return { ...opened, ledger: after }
    },
  }
}

/** Names the branch of a page that is in a set already. The caller can push to it. */
function throwInSet(error: unknown, rights: Rights, open: readonly PullRecord[]): never {
  const branch = open.find(({ change_set }) => change_set !== undefined)?.source_branch
  const isInSet = error instanceof AppError && error.code === 'item_exists'
  if (!isInSet || !branch?.startsWith(branchPrefixOf(rights) ?? '')) throw error
  throw new PushRejectedError(`${error.message}; push to ${excerpt(branch)}`, { logged: 'sets: the page is in one' })
}

/** The branches of a push that are named after change sets. */
interface PushedSets {
  /** The sets that a new branch has joined. */
  readonly joined: ReadonlySet<number>
  /** The commands that were carried out. */
  readonly moved: readonly RefCommand[]
}

/**
 * Describes the sets of a push for the terminal. Warns of branches that are named after a set, but are in none.
 *
 * Failures are only logged, because the refs have moved.
 */
export async function describeSets(
  deps: Services,
  { org, node }: NodeAccess,
  { joined, moved }: PushedSets,
  pageOf: PullPage,
): Promise<readonly string[]> {
  const known = moved.filter(({ ref, from, to }) => from !== null && to !== null && parseSetRef(ref))
  if (joined.size + known.length === 0) return []
  try {
    const lines: string[] = []
    const numbers = new Set(joined)
    const open = known.length === 0 ? [] : await listOpenPulls(deps.index.read, node.id)
    for (const branch of known.map(({ ref }) => branchName(ref))) {
      const pull = open.find(({ source_branch, change_set }) => source_branch === branch && change_set !== null)
      const set = pull?.change_set ? await findSetById(deps.index.read, org.id, pull.change_set) : undefined
      if (set) numbers.add(set.number)
      else if (!pull)
        lines.push(`${excerpt(branch)} existed before, so it joined no change set; delete it and push it again to join`)
    }
    for (const number of numbers) lines.push(await describeSet(deps, org.id, number, pageOf))
    return lines.map(printable)
  } catch (error) {
    deps.log.warn({ err: error }, 'a push succeeded, but its change sets could not be described')
    return []
  }
}

/** Returns the line of one set. @throws AppError change_set_not_found */
export async function describeSet(deps: Services, orgId: string, number: number, pageOf: PullPage): Promise<string> {
  const { is_draft } = await findSet(deps, { org_id: orgId, number })
  const { length: pages } = await listSetItems(deps.index.read, orgId, [number])
  return `Change set ${number}${is_draft ? ' (draft)' : ''}, ${plural(pages, 'page')}: ${pageOf(number)}`
}
