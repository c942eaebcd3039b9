/** Follows of users: of nodes, of nodes with their descendants, and of organisations. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { lockAccount } from '../../../index/credentials/accounts.ts'
import type { Follow } from '../../../index/credentials/schema.ts'
import { readTitles } from '../../../index/derived/node-queries.ts'
import { findOrgRow, findRole } from '../../../index/derived/org-queries.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeNode, authorizeOrg, requireSignedIn, seesOf } from '../../domain/access.ts'
import type { Person } from '../../domain/actor.ts'
import { isClosed } from '../../domain/format/org-format.ts'
import { orgRepo } from '../../domain/layout.ts'
import { type Page, pageOf, slice } from '../../domain/pagination.ts'
import type { Ctx, Services } from '../../domain/services.ts'
import type { Body, NodeAt, OrgAt, Path, Query } from '../../domain/targets.ts'
import { groupedBy } from './grouped-by.ts'
import {
  deleteFollow,
  deleteFollowsOf,
  type FollowerOf,
  listFollowers,
  listFollows,
  putFollow,
} from './rows/follows.ts'
import { deleteInboxMark } from './rows/marks.ts'

export interface FollowView {
  readonly org_id: string
  /** Absent for a whole organisation. */
  readonly node_id?: string
  /** Absent for an organisation, and for a node that is deleted or in another cell. */
  readonly node_title?: string
  /** Absent for a whole organisation. */
  readonly scope?: Follow['scope']
  readonly created_at: string
}

/** Follows everything in an organisation. @throws errors of `authorizeOrg`; AppError too_many_follows */
export async function followOrg(ctx: Ctx<Person>, { path }: Path<OrgAt>): Promise<void> {
  await authorizeOrg(ctx, path, 'reader')
  await follow(ctx, { org_id: path.org_id, node_id: '', scope: 'tree' })
}

/** Follows a node, or with `tree` also its descendants. @throws errors of `authorizeNode`; AppError too_many_follows */
export async function followNode(
  ctx: Ctx<Person>,
  { path, body: { scope } }: Path<NodeAt> & Body<Pick<Follow, 'scope'>>,
): Promise<void> {
  await authorizeNode(ctx, path, 'reader')
  await follow(ctx, { org_id: path.org_id, node_id: path.node_id, scope })
}

async function follow(ctx: Ctx<Person>, what: Pick<Follow, 'org_id' | 'node_id' | 'scope'>): Promise<void> {
  const one: Follow = { ...what, account_id: ctx.actor.id, created_at: ctx.now().toISOString() }
  await ctx.credentials.write(async (trx) => {
    await lockAccount(trx, ctx.actor.id)
    await requireSignedIn(trx, ctx.actor)
    await putFollow(trx, one)
    // The transaction is undone.
    if ((await listFollows(trx, ctx.actor.id)).length > limits.follows)
      throw new AppError('too_many_follows', `You follow ${limits.follows} pages and organisations; unfollow one first`)
  })
}

/** Ends following an organisation. Its nodes that are followed stay so. */
export async function unfollowOrg(ctx: Ctx<Person>, { path }: Path<OrgAt>): Promise<void> {
  await authorizeOrg(ctx, path, 'reader')
  await ctx.credentials.write((trx) =>
    deleteFollow(trx, { account_id: ctx.actor.id, org_id: path.org_id, node_id: '' }),
  )
}

/** Ends following a node. It may be deleted. */
export async function unfollowNode(
  ctx: Ctx<Person>,
  { path: { org_id: orgId, node_id: nodeId } }: Path<NodeAt>,
): Promise<void> {
  await authorizeOrg(ctx, { org_id: orgId }, 'reader')
  await ctx.credentials.write((trx) => deleteFollow(trx, { account_id: ctx.actor.id, org_id: orgId, node_id: nodeId }))
}

export interface FollowsQuery extends Page {
  readonly org_id?: string
  readonly node_id?: string
}

/** Lists what the caller follows, the newest first. */
export async function listMyFollows(ctx: Ctx<Person>, { query: { org_id, node_id, ...page } }: Query<FollowsQuery>) {
  const all = await listFollows(ctx.credentials.read, ctx.actor.id, org_id, node_id)
  const rows = slice(all, page)
  const titles = await titlesOf(ctx, rows)
  const follows = rows.map((row): FollowView => {
    const { org_id, node_id, scope, created_at } = row
    const title = titles.get(node_id)
    const node = { node_id, ...(title !== undefined && { node_title: title }), scope }
    return { org_id, ...(node_id !== '' && node), created_at }
  })
  return { follows, ...pageOf(page, all.length) }
}

/** Reads the titles of nodes in organisations here, where the caller is still a member. */
async function titlesOf(ctx: Ctx<Person>, rows: readonly Follow[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  const orgs = groupedBy(
    rows.filter(({ node_id }) => node_id !== ''),
    ({ org_id }) => org_id,
  )
  for (const [orgId, some] of orgs) {
    if ((await findRole(ctx.index.read, orgId, ctx.actor.id)) === undefined) continue
    const titles = await readTitles(
      ctx.index.read,
      seesOf(orgId),
      some.map(({ node_id }) => node_id),
    )
    for (const [id, title] of titles) found.set(id, title)
  }
  return found
}

/** Users and organisations that one step of the job checks. */
const followersAtOnce = 200

const beginning: FollowerOf = { account_id: '', org_id: '' }

/** Returns a job that removes follows and marks of users who are no longer members. It returns false if more remain. */
export function createFollowsSweep(): (deps: Services) => Promise<boolean> {
  let after = beginning
  return async (deps) => {
    const some = await listFollowers(deps.credentials.read, after, followersAtOnce)
    for (const one of some) {
      if (await hasLeft(deps, one))
        await deps.credentials.write(async (trx) => {
          await deleteFollowsOf(trx, one)
          await deleteInboxMark(trx, one)
        })
      await nextTurn()
    }
    const isOver = some.length < followersAtOnce
    after = isOver ? beginning : (some.at(-1) ?? beginning)
    return isOver
  }
}

/** True if the organisation is gone, or no longer has this member. False if another cell may have it. */
async function hasLeft({ placement, store, index }: Services, { account_id, org_id }: FollowerOf): Promise<boolean> {
  if (!placement.isHere(org_id)) return false
  if (!repoExists(orgRepo(store, org_id))) return true
  // An index that is being rebuilt lacks rows, and a closed organisation its members.
  const row = await findOrgRow(index.read, org_id)
  if (row === undefined || isClosed(row)) return false
  return (await findRole(index.read, org_id, account_id)) === undefined
}
