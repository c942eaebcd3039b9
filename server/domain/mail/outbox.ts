/** The outbox: mails that the transactions of their causes write. `sender.ts` sends them. */
import { v7 as newId } from 'uuid'
import { deleteFailedMailsBefore, insertMail } from '../../../index/credentials/mail.ts'
import type { CredentialsDb } from '../../../index/credentials/schema.ts'
import type { Services } from '../services.ts'

/** Milliseconds for which mails that failed are kept. */
const failedMs = 7 * 24 * 3_600_000

export type MailKind =
  | 'reset'
  | 'verify'
  | 'new_address'
  | 'address_changed'
  | 'invitation'
  | 'signed_in'
  | 'connected'
  | 'reused'
  | 'linked'
  | 'taken_over'
  | 'digest'

export interface QueuedMail {
  /** Default: a new one. */
  readonly id?: string
  readonly kind: MailKind
  /** Absent: it is found by the address when the mail is sent. */
  readonly accountId?: string
  readonly address: string
  /** Values for the text, such as names. Never a secret. */
  readonly fields?: Readonly<Record<string, string>>
  /** The only cell that may send it. */
  readonly cell?: string
}

/** True if the service sends mail. */
export function hasMail({ config }: Pick<Services, 'config'>): boolean {
  return config.mail !== undefined
}

/** Writes a mail that is sent after the transaction. Does nothing if the service sends none. */
export async function queueMail(
  deps: Pick<Services, 'config' | 'now'>,
  trx: CredentialsDb,
  { id = newId(), kind, accountId, address, fields = {}, cell }: QueuedMail,
): Promise<void> {
  if (!hasMail(deps)) return
  const now = deps.now()
  const row = { id, kind, account_id: accountId ?? null, address, created_at: now.toISOString() }
  await insertMail(trx, { ...row, fields: JSON.stringify(fields), cell: cell ?? null }, now)
}

/** Deletes mails that failed long ago. */
export async function forgetMails({ credentials, now }: Services): Promise<void> {
  const before = new Date(now().getTime() - failedMs).toISOString()
  await credentials.write((trx) => deleteFailedMailsBefore(trx, before))
}
