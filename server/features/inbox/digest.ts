/** The inbox by mail, once a day or a week. Each has what is new since the last one. */

import { emailKey, findActiveProfile, setAccount } from '../../../index/credentials/accounts.ts'
import {
  type DueDigest,
  deleteDigestTurn,
  hasDigestWork,
  insertDigestTurns,
  listCellsOfUser,
  lockDueDigests,
  setDigestTurn,
} from '../../../index/credentials/digests.ts'
import { findEmailToken, insertEmailToken } from '../../../index/credentials/email-tokens.ts'
import type { CredentialsDb, Mail } from '../../../index/credentials/schema.ts'
import { AppError } from '../../base/errors.ts'
import { hashOf, mailedToken } from '../../domain/accounts/tokens.ts'
import { personOf } from '../../domain/accounts/user-view.ts'
import type { Letter } from '../../domain/mail/letter.ts'
import { hasMail, queueMail } from '../../domain/mail/outbox.ts'
import { shownName } from '../../domain/mail/shown-name.ts'
import type { Services } from '../../domain/services.ts'
import type { Body } from '../../domain/targets.ts'
import { listInbox } from './inbox.ts'

const dayMs = 24 * 3_600_000
const periodMs = { daily: dayMs, weekly: 7 * dayMs } as const
/** Milliseconds that a link to end digests works. */
const tokenMs = 60 * dayMs
/** The most items of a digest, and the most digests that one transaction queues. */
const [mostItems, mostDue] = [50, 100]

/**
 * Queues the digests that are due. The same transaction begins the next period, so that each is queued once, by one
 * process. A process that was away for several periods queues one.
 */
export async function queueDigests(deps: Services): Promise<void> {
  const { credentials, now, draining } = deps
  if (!hasMail(deps) || !(await hasDigestWork(credentials.read, now()))) return
  await credentials.write((trx) => insertDigestTurns(trx, now(), periodMs))
  for (let queued = mostDue; queued === mostDue && !draining.aborted; )
    queued = await credentials.write(async (trx) => {
      const due = await lockDueDigests(trx, now(), mostDue)
      for (const digest of due) await queueDigest(deps, trx, digest)
      return due.length
    })
}

/** Each cell mails what its own organisations have, because only it has their events. */
async function queueDigest(deps: Services, trx: CredentialsDb, { id, email, digest, since }: DueDigest): Promise<void> {
  if (digest === null) return deleteDigestTurn(trx, id)
  await setDigestTurn(trx, id, deps.now(), periodMs[digest])
  const mail = { kind: 'digest', accountId: id, address: email, fields: { since } } as const
  const cells = deps.config.cell === undefined ? [undefined] : await listCellsOfUser(trx, id)
  for (const cell of cells) await queueMail(deps, trx, { ...mail, ...(cell !== undefined && { cell }) })
}

/** Undefined: nothing is new, or the user wants no digest. An unconfirmed address also gets none. */
export async function writeDigest(deps: Services, mail: Mail): Promise<Letter | undefined> {
  const { credentials, config } = deps
  const profile = mail.account_id === null ? undefined : await findActiveProfile(credentials.read, mail.account_id)
  if (profile === undefined || profile.digest === null || config.publicUrl === undefined) return undefined
  if (profile.email !== mail.address || profile.email_verified_at === null) return undefined
  const { since = '' }: Readonly<Record<string, string>> = JSON.parse(mail.fields)
  const { items } = await listInbox(
    { ...deps, actor: personOf(profile) },
    { query: { limit: mostItems, unread: true, mailed: true } },
  )
  const lines = items.filter(({ last_event }) => last_event.at > since).map(lineOf)
  if (lines.length === 0) return undefined
  const token = await issueToken(deps, mail, profile.id)
  const end = `${config.publicUrl}/unsubscribe?token=${token}`
  return {
    subject: `Your inbox on Grove: ${counted(lines.length, 'item')}`,
    paragraphs: [`New in your inbox since ${since.slice(0, 10)} (UTC):`],
    lines,
    link: { label: 'Open the inbox', url: `${config.publicUrl}/me/inbox` },
    otherwise: `You get this mail ${profile.digest === 'daily' ? 'once a day' : 'once a week'}. The page Notifications changes that.`,
    headers: { 'List-Unsubscribe': `<${end}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
  }
}

type Item = Awaited<ReturnType<typeof listInbox>>['items'][number]

/** Says in plain text what happened to a subject, and who did it. */
function lineOf({ org_id, org_name, node_id, node_title, number, title, count, actors }: Item): string {
  const page = node_id === undefined ? undefined : named(node_title, 'a deleted page')
  const pages = node_id === org_id ? 'several pages' : page
  const subject = number === undefined ? page : `proposal ${number}, ${named(title, 'without a title')}, of ${pages}`
  const org = named(org_name, 'an organisation')
  const names = actors.map(({ name }) => shownName(name)).filter((name) => name !== '')
  const by = names.length === 0 ? '' : `, by ${names.join(', ')}`
  return `${subject === undefined ? org : `${subject} in ${org}`}: ${counted(count, 'event')}${by}`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function named(name: string | null | undefined, otherwise: string): string {
  return name == null || name === '' ? otherwise : `“${shownName(name)}”`
}

/** The token of the mail ends digests, and does nothing else. */
async function issueToken(deps: Services, mail: Mail, account_id: string): Promise<string> {
  const token = await mailedToken(deps, 'digest', mail.id)
  const expires_at = new Date(deps.now().getTime() + tokenMs).toISOString()
  const address = { email: mail.address, email_key: emailKey(mail.address) }
  const row = { hash: hashOf(token), account_id, kind: 'digest' as const, ...address, expires_at, used_at: null }
  await deps.credentials.write((trx) => insertEmailToken(trx, row))
  return token
}

/** Ends the digests of the token's user. A repetition has the same answer. @throws AppError invalid_token */
export async function stopDigest(deps: Services, { body: { token } }: Body<{ readonly token: string }>): Promise<void> {
  const { read, write } = deps.credentials
  const row = await findEmailToken(read, hashOf(token), deps.now().toISOString())
  if (row?.kind !== 'digest') throw new AppError('invalid_token', 'The link is unknown or expired')
  await write(async (trx) => {
    await setAccount(trx, row.account_id, { digest: null })
    await deleteDigestTurn(trx, row.account_id)
  })
}
