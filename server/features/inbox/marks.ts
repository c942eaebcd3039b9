/** How far users have read their inboxes. */
import { createHash } from 'node:crypto'
import { lockAccount } from '../../../index/credentials/accounts.ts'
import type { InboxMark } from '../../../index/credentials/schema.ts'
import type { Position } from '../../../index/log/chain.ts'
import { findLog, type Log } from '../../../index/log/events.ts'
import { baseOf, findPosition, hasPosition } from '../../../index/log/positions.ts'
import { invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeOrg, requireSignedIn } from '../../domain/access.ts'
import type { Person } from '../../domain/actor.ts'
import type { Ctx, Services } from '../../domain/services.ts'
import type { Body, OrgAt, Path } from '../../domain/targets.ts'
import { endOf, type LogNumbers, parseInboxCursor } from './cursors.ts'
import { listInboxOrgs } from './inbox-orgs.ts'
import { listInboxMarks, putInboxMark } from './rows/marks.ts'

/** The events of one organisation that a user has read. */
export interface ReadUpTo {
  readonly seq: number
  /** The numbers up to which single subjects were read, by their hashes. */
  readonly items: ReadonlyMap<string, number>
}

const nothing: ReadUpTo = { seq: 0, items: new Map() }

/** The name of an item's subject in marks: 16 hex digits. */
export function hashOfSubject(subject: string): string {
  return createHash('sha256').update(subject).digest('hex').slice(0, 16)
}

export function encodeItemId(subject: string, seq: number): string {
  return `${seq}.${hashOfSubject(subject)}`
}

/** Reads what the user has read. If a log was lost or rolled back since, its current end counts, and stays. */
export async function readMarks(ctx: Ctx<Person>, logs: readonly Log[]): Promise<ReadonlyMap<string, ReadUpTo>> {
  const only = logs.length === 1 ? logs[0]?.org_id : undefined
  const marks = await listInboxMarks(ctx.credentials.read, ctx.actor.id, only)
  const byOrg = new Map(marks.map((mark) => [mark.org_id, mark]))
  const found = new Map<string, ReadUpTo>()
  for (const log of logs) {
    const mark = byOrg.get(log.org_id)
    if (mark === undefined) found.set(log.org_id, nothing)
    else if (await isOfLog(ctx, log, mark)) found.set(log.org_id, toReadUpTo(mark))
    else {
      found.set(log.org_id, { seq: log.seq, items: new Map() })
      await keepEnd(ctx, log, mark)
    }
  }
  return found
}

function toReadUpTo({ seq, read_items }: InboxMark): ReadUpTo {
  return { seq, items: new Map(parseItems(read_items)) }
}

/** Parses the items of a mark, which this file wrote. */
function parseItems(text: string): [string, number][] {
  return JSON.parse(text) as [string, number][]
}

/** True if the log contains what the mark says. Retention may have removed it. */
async function isOfLog({ events }: Services, log: Log, { seq, chain }: Position): Promise<boolean> {
  return seq < log.base_seq || hasPosition(events.read, log, { seq, chain })
}

/** Replaces a mark of a lost log, so that later events are unread. */
async function keepEnd(ctx: Ctx<Person>, { org_id, seq, chain }: Log, lost: InboxMark): Promise<void> {
  await change(ctx, org_id, (now) =>
    now && (now.seq !== lost.seq || now.chain !== lost.chain) ? undefined : { seq, chain, read_items: '[]' },
  )
}

/** Changes the mark of an organisation, if `next` returns one. */
async function change(
  ctx: Ctx<Person>,
  orgId: string,
  next: (now: InboxMark | undefined) => Pick<InboxMark, 'seq' | 'chain' | 'read_items'> | undefined,
): Promise<void> {
  await ctx.credentials.write(async (trx) => {
    await lockAccount(trx, ctx.actor.id)
    await requireSignedIn(trx, ctx.actor)
    const [now] = await listInboxMarks(trx, ctx.actor.id, orgId)
    const mark = next(now)
    if (mark) await putInboxMark(trx, { ...mark, account_id: ctx.actor.id, org_id: orgId, at: ctx.now().toISOString() })
  })
}

export interface InboxMarkInput {
  /** The `now` of a page: everything up to it is read. */
  readonly cursor?: string
  /** The id of an item: only this is read. */
  readonly item?: string
  /** The ids of several. */
  readonly items?: readonly string[]
}

/** Marks everything up to a position, or some items, as read. @throws errors of `authorizeOrg`; ValidationError */
export async function putOrgInboxMark(
  ctx: Ctx<Person>,
  { path, body }: Path<OrgAt> & Body<InboxMarkInput>,
): Promise<void> {
  const { cursor, item, items = item === undefined ? undefined : [item] } = body
  if (Object.keys(body).length !== 1)
    throw invalid(['body'], 'Send either the cursor up to which all is read, or the items that are read')
  const numbers = cursor === undefined ? undefined : parseInboxCursor(cursor, ['body', 'cursor'])
  await authorizeOrg(ctx, path, 'reader')
  const log = await findLog(ctx.events.read, path.org_id)
  if (log === undefined) return
  await readMarks(ctx, [log])
  if (numbers) await markAll(ctx, log, numbers)
  else if (items) await markItems(ctx, log, items)
}

/** Marks everything up to a position as read, in all organisations of the caller here. @throws ValidationError */
export async function putInboxMarks(
  ctx: Ctx<Person>,
  { body: { cursor } }: Body<{ readonly cursor: string }>,
): Promise<void> {
  const numbers = parseInboxCursor(cursor, ['body', 'cursor'])
  const { logs } = await listInboxOrgs(ctx)
  await readMarks(ctx, logs)
  for (const log of logs) await markAll(ctx, log, numbers)
}

/** Moves the mark to a position. It never goes back. Items below it need no mark any more. */
async function markAll(ctx: Ctx<Person>, log: Log, numbers: LogNumbers): Promise<void> {
  const seq = Math.min(numbers.get(endOf(log.org_id)) ?? 0, log.seq)
  const position = seq === log.seq ? log : await findPosition(ctx.events.read, log.org_id, seq)
  if (!position) return
  await change(ctx, log.org_id, (now) => {
    if (now && now.seq >= seq) return undefined
    const left = parseItems(now?.read_items ?? '[]').filter(([, last]) => last > seq)
    return { seq, chain: position.chain, read_items: JSON.stringify(left) }
  })
}

async function markItems(ctx: Ctx<Person>, log: Log, items: readonly string[]): Promise<void> {
  const read = items.map((item) => {
    const [, number = '', subject = ''] = /^([1-9][0-9]{0,14})\.([0-9a-f]{16})$/.exec(item) ?? []
    return [subject, Math.min(Number(number), log.seq)] as const
  })
  await change(ctx, log.org_id, (now) => {
    const mark = now ?? { ...baseOf(log), read_items: '[]' }
    const kept = new Map(parseItems(mark.read_items))
    for (const [subject, seq] of read) {
      if ((kept.get(subject) ?? mark.seq) >= seq) continue
      // The latest are at the end.
      kept.delete(subject)
      kept.set(subject, seq)
    }
    const read_items = JSON.stringify([...kept].slice(-limits.readItems))
    return read_items === mark.read_items ? undefined : { seq: mark.seq, chain: mark.chain, read_items }
  })
}
