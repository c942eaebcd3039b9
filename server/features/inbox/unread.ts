/** The unread items of an inbox, without their words. Each page of a signed-in user shows their number. */
import { createHash } from 'node:crypto'
import { type Cache, createCache } from '../../../gitstore/caching/caches.ts'
import { findActiveProfile } from '../../../index/credentials/accounts.ts'
import { listMuted } from '../../../index/credentials/read-marks.ts'
import type { Log } from '../../../index/log/events.ts'
import type { Person } from '../../domain/actor.ts'
import type { Ctx, Services } from '../../domain/services.ts'
import { endsOf, readItems } from './inbox.ts'
import { listInboxOrgs } from './inbox-orgs.ts'
import { listFollows } from './rows/follows.ts'
import { listInboxMarks } from './rows/marks.ts'

/** The most items that are listed. */
const mostItems = 100

/** Rows that one response reads at most, in an organisation and in all. */
const rowsOfCount = { ofOrg: 1_000, rows: 5_000 } as const

export interface UnreadView {
  readonly items: readonly UnreadItem[]
  /** The ends of the logs. */
  readonly now: string
  /** True if there may be more. */
  readonly more: boolean
}

interface UnreadItem {
  readonly id: string
  readonly org_id: string
  readonly node_id?: string
  readonly number?: number
}

interface Known {
  readonly basis: string
  readonly answer: UnreadView
}

/** Answers by user. The size of one is the number of its items, and one. */
const known = new WeakMap<Services['credentials'], Cache<Known>>()

/** Lists what is unread in the organisations of the caller here, the newest first. */
export async function listUnread(ctx: Ctx<Person>): Promise<UnreadView> {
  const { logs } = await listInboxOrgs(ctx)
  const basis = await basisOf(ctx, logs)
  const all = known.get(ctx.credentials) ?? createCache<Known>('unread_items', { sizeCalculation: sizeOf })
  known.set(ctx.credentials, all)
  const before = all.get(ctx.actor.id)
  if (before?.basis === basis) return before.answer
  const { found, streams } = await readItems(ctx, { logs, query: { limit: mostItems, unread: true } }, rowsOfCount)
  const items = found.map(({ id, orgId, nodeId, number }) => ({
    ...{ id, org_id: orgId },
    ...(nodeId !== null && { node_id: nodeId }),
    ...(number !== undefined && { number }),
  }))
  const answer = { items, now: endsOf(logs), more: streams.some(({ isOver }) => !isOver) }
  all.set(ctx.actor.id, { basis, answer })
  return answer
}

function sizeOf({ answer }: Known): number {
  return answer.items.length + 1
}

/** Returns a hash of all rows that decide what is unread. Conversations follow from the log. */
async function basisOf({ credentials: { read }, actor: { id } }: Ctx<Person>, logs: readonly Log[]): Promise<string> {
  const rows = await Promise.all([
    findActiveProfile(read, id).then((profile) => profile?.notifications),
    listInboxMarks(read, id),
    listFollows(read, id),
    listMuted(read, id),
  ])
  const all = JSON.stringify([logs, rows])
  return createHash('sha256').update(all).digest('base64')
}
