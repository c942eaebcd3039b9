/** Reads the interests of a user: follows, and conversations. */

import { findActiveProfile } from '../../../index/credentials/accounts.ts'
import { listMuted } from '../../../index/credentials/read-marks.ts'
import { listInvolved } from '../../../index/derived/involved.ts'
import * as limits from '../../base/limits.ts'
import { parseNotifications } from '../../domain/accounts/notifications.ts'
import type { Person } from '../../domain/actor.ts'
import type { Ctx } from '../../domain/services.ts'
import { groupedBy } from './grouped-by.ts'
import { type Interests, keyOfPull } from './reasons.ts'
import { listFollows } from './rows/follows.ts'

interface Wanted {
  /** Undefined: all organisations. */
  readonly orgId: string | undefined
  /** True for only those that come by mail. */
  readonly mailed: boolean
}

/** Reads the interests of a user, by organisation. */
export async function readInterests(
  ctx: Ctx<Person>,
  { orgId, mailed }: Wanted,
): Promise<(orgId: string) => Interests> {
  const { read } = ctx.credentials
  const follows = await listFollows(read, ctx.actor.id, orgId)
  const pulls = await listInvolved(ctx.index.read, { userId: ctx.actor.id, orgId, limit: limits.inboxPulls })
  const muted = new Set((await listMuted(read, ctx.actor.id)).map(({ node_id, number }) => keyOfPull(node_id, number)))
  const off = await readOff(ctx, mailed)
  const followsBy = groupedBy(follows, ({ org_id }) => org_id)
  const pullsBy = groupedBy(pulls, ({ org_id }) => org_id)
  return (one) => {
    const all = (followsBy.get(one) ?? []).map((row) => ({ ...row, since: Date.parse(row.created_at) }))
    const those = (scope: string) =>
      new Map(all.filter((row) => row.node_id !== '' && row.scope === scope).map((row) => [row.node_id, row.since]))
    return {
      userId: ctx.actor.id,
      orgSince: all.find(({ node_id }) => node_id === '')?.since,
      nodes: those('node'),
      trees: those('tree'),
      involved: new Set((pullsBy.get(one) ?? []).map(({ node_id, number }) => keyOfPull(node_id, number))),
      muted,
      off,
    }
  }
}

/** Reads the reasons that the user has turned off, or for mails. A reason that comes by mail has no entry. */
async function readOff({ credentials, actor }: Ctx<Person>, mailed: boolean): Promise<ReadonlySet<string>> {
  const profile = await findActiveProfile(credentials.read, actor.id)
  const all = Object.entries(parseNotifications(profile?.notifications))
  return new Set(all.flatMap(([reason, channel]) => (channel === 'none' || mailed ? [reason] : [])))
}
