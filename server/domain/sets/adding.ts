/** Puts built items into a set: opens their pull requests, or takes open ones in. */
import { readRef } from '../../../gitstore/refs/refs.ts'
import { noOid, type Oid } from '../../../gitstore/repo.ts'
import { findSetById } from '../../../index/derived/change-sets.ts'
import { AppError } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import { type NodeAccess, type OrgAccess, requireRole } from '../access.ts'
import type { Person } from '../actor.ts'
import { countRefRoom, tooManyRefsMessage } from '../branches/ref-rules.ts'
import { findTree } from '../branches/revisions.ts'
import { requireMaker } from '../consent/rule-checks.ts'
import { branchRef, main } from '../layout.ts'
import { changedBy } from '../ledger/changed-by.ts'
import { type PullAct, type PullRecord, readLastNumber, readPull } from '../ledger/ledger.ts'
import { openPullsAt, withHeads } from '../ledger/pull-ledger.ts'
import type { Act, SetRecord } from '../ledger/set-ledger.ts'
import { type CompleteNode, completeNode } from '../nodes/new-nodes.ts'
import { openedRecord } from '../pulls/pulls.ts'
import type { Ctx } from '../services.ts'
import { actOf, branchOfItem, type ChangeItem, isFreeIn, type JoinedItem, type NewItem } from './items.ts'
import type { LockedPage, Part, PartOutcome } from './set-changes.ts'

/** The set that items are put into. */
export type Into = Pick<SetRecord, 'id' | 'title' | 'is_draft'>

/** Returns the fields of an item's pull request. The set has the description. */
function pullOf({ id, title, is_draft }: Into, source_branch: string) {
  const about = { title, description: '', is_draft, reviewers: [] }
  return { ...about, source_branch, target_branch: 'main', change_set: id }
}

/** Completes a new page as one that the set proposes. */
export async function completeNew(
  ctx: Ctx<Person>,
  access: OrgAccess,
  set: Into,
  { node }: NewItem,
): Promise<CompleteNode> {
  const branch = branchOfItem(access, set.id, () => true)
  const pull = (head: Oid): PullRecord => ({
    ...openedRecord(ctx, 1, head, pullOf(set, branch)),
    target_before: noOid,
    commits_ahead: 1,
  })
  return completeNode(ctx, access.org.id, { ...node, proposed: { set: set.id, branch, pull } })
}

/** A change of a page: a new branch, and its pull request. */
export function partOfChange(ctx: Ctx<Person>, org: OrgAccess, set: Into, item: ChangeItem): Part {
  const { access, from, head, act } = item
  const { repo, history } = access
  const branch = branchOfItem(org, set.id, isFreeIn(access))
  const name = { repo, ref: branchRef(branch) }
  return {
    access,
    refs: [name],
    decide: async (locked) => {
      requireRole(locked.rights, { ref: name.ref })
      await requireMaker(ctx, access, { branch, to: head }, locked.rights)
      if (locked.current(name) !== null) throw new AppError('branch_exists', `A branch ${branch} has just been made`)
      // The head is not saved yet.
      const headsOf = async (opened: PullRecord) => {
        const record = await withHeads(history, opened, from, from)
        return { ...record, source_commit: head, commits_ahead: 1 }
      }
      return openItem(ctx, set, access, { branch, head, act, headsOf }, locked)
    },
  }
}

/** The branch of a new item. */
interface ItemBranch {
  readonly branch: string
  readonly head: Oid
  readonly act: Act
  /** Adds the commits to its pull request. */
  headsOf(opened: PullRecord): Promise<PullRecord>
}

/** Opens the pull request of a new branch. The caller has checked the branch. @throws AppError item_exists */
export async function openItem(
  ctx: Ctx<Person>,
  set: Into,
  access: NodeAccess,
  { branch, head, act, headsOf }: ItemBranch,
  { ledger }: Pick<LockedPage, 'ledger'>,
): Promise<PartOutcome> {
  const { repo, node } = access
  await refuseOtherSet(ctx, access, ledger)
  if (countRefRoom(repo, 'heads') <= 0)
    throw new AppError('too_many_branches', `The node ${tooManyRefsMessage('heads')}`)
  const number = (await readLastNumber(repo, ledger)) + 1
  const record = await headsOf(openedRecord(ctx, number, head, pullOf(set, branch)))
  return {
    acts: [{ event: 'open', record }],
    moves: [{ repo, ref: branchRef(branch), to: head }],
    item: { node_id: node.id, number, act },
  }
}

/** An open pull request that becomes an item. */
export function partOfJoined(ctx: Ctx<Person>, set: Into, { access, number }: JoinedItem): Part {
  const { repo } = access
  return {
    access,
    refs: [],
    decide: async ({ ledger, rights }) => {
      await refuseOtherSet(ctx, access, ledger)
      const before = await findRecord(access, ledger, number)
      requireRole(rights, { set: before })
      if (before.status !== 'open')
        throw new AppError('closed', `Pull request ${number} of a page is not open any more`)
      if (before.target_branch !== 'main')
        throw new AppError('item_gone', `Pull request ${number} of a page is for another branch than main`)
      const { is_draft } = set
      const record = { ...before, is_draft, change_set: set.id, ...changedBy(ctx, ctx.actor) }
      const act: PullAct = { event: 'edit', record, userId: ctx.actor.id, changes: draftChange(before, is_draft) }
      const treeOf = (ref: string) => findTree(repo, readRef(repo, ref))
      const kind = actOf(await treeOf(main), await treeOf(branchRef(before.source_branch)))
      return { acts: [act], moves: [], item: { node_id: access.node.id, number, act: kind } }
    },
  }
}

/** The change of `is_draft`, as a timeline shows it. */
export function draftChange(before: PullRecord, isDraft: boolean): NonNullable<PullAct['changes']> {
  return before.is_draft === isDraft ? {} : { is_draft: [before.is_draft, isDraft] }
}

/** @throws AppError pull_request_not_found */
async function findRecord({ repo }: NodeAccess, ledger: Oid, number: number): Promise<PullRecord> {
  if (number <= (await readLastNumber(repo, ledger))) return readPull(repo, ledger, number)
  throw new AppError('pull_request_not_found', `The page has no pull request ${number}`)
}

/** Refuses a page that is in an open set. The caller holds the ledger's lock. @throws AppError item_exists */
export async function refuseOtherSet(ctx: Ctx<Person>, { org, repo, node }: NodeAccess, ledger: Oid): Promise<void> {
  const open = await openPullsAt(ctx.index.read, { repo, nodeId: node.id }, ledger)
  const other = open.find(({ change_set }) => change_set !== undefined)
  if (other?.change_set === undefined) return
  const set = await findSetById(ctx.index.read, org.id, other.change_set)
  const named = set ? `change set ${set.number} (“${excerpt(set.title)}”)` : 'another open change set'
  const detail = `“${excerpt(node.title)}” is in ${named} already, and a page is in one at a time`
  throw new AppError('item_exists', detail, { number: other.number, ...(set && { change_set: set.number }) })
}
