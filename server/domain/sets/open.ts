/** Opens change sets. A set is made whole or not at all. */
import { v7 as newId } from 'uuid'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { countOpenSets } from '../../../index/derived/change-sets.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeOrg, type OrgAccess } from '../access.ts'
import { callerOf, type Person } from '../actor.ts'
import { requireRoomFor, type TakeRoom, withByteRoom } from '../byte-quota.ts'
import { refuseLongText } from '../format/limits.ts'
import { readResult } from '../indexing/index-node.ts'
import { changedBy } from '../ledger/changed-by.ts'
import {
  findSetNumber,
  nextSetNumber,
  readSetById,
  type SetAct,
  type SetItem,
  type SetRecord,
  setsOf,
} from '../ledger/set-ledger.ts'
import { semaphore } from '../nodes/batch-input.ts'
import { type CompleteNode, createOrder } from '../nodes/new-nodes.ts'
import { requireReviewers, withSince } from '../pulls/reviewers.ts'
import { withRoomForNodes } from '../quotas.ts'
import type { Ctx, RequestCtx } from '../services.ts'
import type { Body, OrgAt, Path } from '../targets.ts'
import { completeNew, partOfChange, partOfJoined } from './adding.ts'
import { type BuiltItems, buildItems, type ChangeItem, type ItemsInput, type Outcome } from './items.ts'
import { withRestored } from './restorations.ts'
import { changeSet, type LockedSets, type SetChange } from './set-changes.ts'
import { type ChangeSet, findSet, settleSets, toChangeSet } from './views.ts'

export interface NewSet extends ItemsInput {
  /** The caller's own id. */
  readonly id?: string
  readonly title: string
  readonly description: string
  readonly is_draft: boolean
  /** Ids of members. */
  readonly reviewers?: readonly string[]
}

interface Opened {
  readonly change_set: ChangeSet
  /** What became of `nodes`. Absent if the set existed already. */
  readonly nodes?: readonly Outcome[]
}

/**
 * Opens a change set with its items. A repeated id answers the set that has it.
 *
 * @throws AppError as buildItems, item_exists, no_changes, too_many_change_sets, quota_exceeded, busy; ValidationError
 */
export async function openChangeSet(
  ctx: RequestCtx<Person>,
  { path, body }: Path<OrgAt> & Body<NewSet>,
): Promise<Opened> {
  const access = await authorizeOrg(ctx, path, 'contributor')
  const id = body.id?.toLowerCase() ?? newId()
  const known = body.id === undefined ? undefined : await findKnown(ctx, access, id)
  if (known) return { change_set: known }
  if (body.title.trim() === '')
    throw invalid(['body', 'title'], 'Say in a few words what the change set does', body.title)
  refuseLongText(['body', 'description'], body.description)
  await requireRoomFor(ctx, path.org_id, body.description)
  const { signal } = ctx.request
  return semaphore.run({ caller: callerOf(ctx), signal }, async () => {
    const built = await buildItems(ctx, access, body, { list: ['body'], title: body.title })
    const reviewers = await requireReviewers(ctx, path, body.reviewers ?? [], ctx.actor.id)
    const change_set = await openBuilt(ctx, access, { ...body, id, reviewers }, built)
    return { change_set, nodes: built.outcomes }
  })
}

/** Returns the event that opens a set. The caller holds the lock of the ledger. */
export async function openedSet(
  ctx: Ctx<Person>,
  { repo, sets }: LockedSets,
  { id, title, description, is_draft, items }: Pick<SetRecord, 'id' | 'title' | 'description' | 'is_draft' | 'items'>,
  reviewers: Parameters<typeof withSince>[0] = [],
): Promise<SetAct> {
  const event = changedBy(ctx, ctx.actor)
  return {
    event: 'open',
    record: {
      ...{ id, number: await nextSetNumber(repo, sets), title, description, status: 'open', is_draft },
      ...{ author: event.by, author_id: ctx.actor.id, created_at: event.at, ...event },
      ...(event.via && { opened_via: event.via }),
      ...(reviewers.length > 0 && { reviewers: withSince(reviewers, [], event.at) }),
      items,
    },
  }
}

interface Opening extends Pick<SetRecord, 'id' | 'title' | 'description' | 'is_draft'> {
  readonly reviewers: Parameters<typeof withSince>[0]
}

/** Opens a set with built items. @throws AppError no_changes, too_many_change_sets; errors of write */
export async function openBuilt(
  ctx: Ctx<Person>,
  access: OrgAccess,
  { id, title, description, is_draft, reviewers }: Opening,
  built: BuiltItems,
): Promise<ChangeSet> {
  await refuseManySets(ctx, access)
  const record = await write(ctx, access, { id, is_draft, title }, built, (sets, items) => {
    if (items.length === 0) throw new AppError('no_changes', 'Every page has exactly this content already')
    return openedSet(ctx, sets, { id, title, description, is_draft, items }, reviewers)
  })
  if (record === undefined) throw new Error('The set was not written')
  return readResult(ctx, () => findShown(ctx, access, record))
}

async function findKnown(ctx: Ctx<Person>, access: OrgAccess, id: string): Promise<ChangeSet | undefined> {
  const { repo, ref } = setsOf(ctx, access.org.id)
  const number = await findSetNumber(repo, readRef(repo, ref), id)
  if (number === undefined) return undefined
  await settleSets(ctx, access.org.id)
  return toChangeSet(ctx, access, await findSet(ctx, { org_id: access.org.id, number }))
}

export async function findShown(
  ctx: Ctx<Person>,
  access: OrgAccess,
  { number }: Pick<SetRecord, 'number'>,
): Promise<ChangeSet> {
  await settleSets(ctx, access.org.id)
  return toChangeSet(ctx, access, await findSet(ctx, { org_id: access.org.id, number }))
}

/** @throws AppError too_many_change_sets */
export async function refuseManySets(ctx: Ctx<Person>, { org }: OrgAccess): Promise<void> {
  const { all, own } = await countOpenSets(ctx.index.read, org.id, ctx.actor.id)
  const most = 'Merge or close some of them first'
  if (all >= limits.openChangeSets)
    throw new AppError('too_many_change_sets', `The organisation has ${all} open change sets. ${most}`)
  if (own >= limits.ownChangeSets)
    throw new AppError('too_many_change_sets', `You have ${own} open change sets in this organisation. ${most}`)
}

/** @param added the new pages that a set gets @throws AppError too_many_change_sets */
export async function refuseManyPages(ctx: Ctx<Person>, orgId: string, added: number): Promise<void> {
  const proposed = (await countOpenSets(ctx.index.read, orgId, ctx.actor.id)).proposed + added
  if (proposed <= limits.proposedPages) return
  const detail = `You can propose ${limits.proposedPages} new pages at a time, and this would make ${proposed}. Merge or close some of your change sets first`
  throw new AppError('too_many_change_sets', detail)
}

/**
 * Writes the items and the event of the set. New pages have their names before the set names them. If the set cannot be
 * written, they are removed.
 *
 * @throws errors of changeSet and createOrder
 */
export async function write(
  ctx: Ctx<Person>,
  access: OrgAccess,
  set: Pick<SetRecord, 'id' | 'title' | 'is_draft'>,
  { created, changed, joined, restored }: BuiltItems,
  decide: SetChange['decide'],
  { need = 'contributor', parts: more = [] }: Partial<Pick<SetChange, 'need' | 'parts'>> = {},
): Promise<SetRecord | undefined> {
  const orgId = access.org.id
  const make = async (take: TakeRoom, returned: readonly ChangeItem[]): Promise<SetRecord | undefined> => {
    const nodes: CompleteNode[] = []
    for (const item of created) nodes.push(await completeNew(ctx, access, set, item))
    const all = [...changed, ...returned]
    const drafts = all.map(({ draft }) => draft)
    await take([...nodes.flatMap(({ objects }) => [...objects.values()]), ...drafts.flatMap((one) => one.unsaved())])
    const fresh = nodes.map(({ id }): SetItem => ({ node_id: id, number: 1, act: 'create' }))
    const parts = [
      ...all.map((item) => partOfChange(ctx, access, set, item)),
      ...joined.map((item) => partOfJoined(ctx, set, item)),
      ...more,
    ]
    let record: SetRecord | undefined
    const whole = {
      make: async () => {
        const items = (some: readonly SetItem[]) => [...some, ...fresh]
        const change = {
          orgId,
          need,
          parts,
          drafts,
          decide: (sets, some) => decide(sets, items(some)),
        } satisfies SetChange
        record = await changeSet(ctx, change)
      },
      isMade: async () => {
        const { repo, ref } = setsOf(ctx, orgId)
        const written = await readSetById(repo, readRef(repo, ref), set.id)
        return written?.items.some((item) => item.node_id === nodes[0]?.id) === true
      },
    }
    if (nodes.length === 0) await whole.make()
    else await createOrder(orgId, { deps: ctx, actor: ctx.actor, nodes, judge: async () => {}, need, whole })
    return record
  }
  const added = created.length + restored.length
  if (added > 0) await refuseManyPages(ctx, orgId, added)
  return withRestored(ctx, access, set, restored, (returned) =>
    withRoomForNodes(ctx, orgId, created.length, () => withByteRoom(ctx, orgId, (take) => make(take, returned))),
  )
}
