/** Sends the mails of the outbox. */
import { claimMails, deleteMails, hasDueMail, recordMailFailure, releaseMail } from '../../../index/credentials/mail.ts'
import type { Mail } from '../../../index/credentials/schema.ts'
import { claimMs, type Ended, sendOutbox } from '../outbox.ts'
import type { Services } from '../services.ts'
import { type Letter, mailContent } from './letter.ts'
import type { MailKind } from './outbox.ts'
import { MailError, sendMail } from './transport.ts'

/** Mails that one process sends at once. */
const most = 4

const minute = 60_000
const hour = 60 * minute
/** Milliseconds after the nth attempt that failed for a while. There are ten attempts, in less than a day. */
const delays = [minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, hour, 2 * hour, 4 * hour, 8 * hour] as const

/** Makes the letter of a mail when it is sent. Undefined: nobody needs it any more. */
type WriteLetter = (deps: Services, mail: Mail) => Promise<Letter | undefined>

/** The writers of all kinds. */
export type Letters = Readonly<Record<MailKind, WriteLetter>>

/** Undefined: it was sent, or nobody needs it. */
interface Outcome {
  readonly failure?: Failure
}

interface Failure {
  readonly error: string
  /** Milliseconds until the next attempt. Undefined: there is none. */
  readonly waitMs: number | undefined
}

/** Sends mails until `deps.draining`. */
export function sendMails(deps: Services, letters: Letters): Promise<void> {
  const { credentials, now } = deps
  const cell = deps.config.cell?.name ?? null
  const folder = `${cell ?? ''}/`
  const claim = { by: folder + deps.store.process, cell, ms: claimMs, limit: most }
  return sendOutbox<Mail, Outcome>(deps, {
    ...{ name: 'mails', everyMs: 500, failedMs: 5_000, database: credentials, table: 'mail', folder },
    failed: 'the outbox of mails could not be read; it will be retried',
    claim: async (sending) => {
      // Otherwise a mail could overtake an earlier one to the same mailbox.
      if (sending.length > 0 || !(await hasDueMail(credentials.read, cell, now()))) return []
      return credentials.write((trx) => claimMails(trx, { ...claim, now: now() }))
    },
    send: (mail) => send(deps, letters, mail),
    record: (ended) => record(deps, ended),
  })
}

/** Returns undefined if there are too many mails now. */
async function send(deps: Services, letters: Letters, mail: Mail): Promise<Outcome | undefined> {
  const { config, limitMail } = deps
  if (config.mail === undefined) return undefined
  try {
    const letter = await letterOf(deps, letters, mail)
    if (letter === undefined) return {}
    if (!(await limitMail('all'))) return undefined
    await sendMail(config.mail, { ...mailContent(letter), id: mail.id, to: mail.address })
    return {}
  } catch (error) {
    const isTemporary = !(error instanceof MailError) || error.isTemporary
    const text = error instanceof MailError ? error.message : `The mail could not be written: ${nameOf(error)}`
    return { failure: { error: text, waitMs: isTemporary ? delays[mail.attempts - 1] : undefined } }
  }
}

/** A kind of a newer version has no writer here. A process of that version sends it. */
async function letterOf(deps: Services, letters: Letters, mail: Mail): Promise<Letter | undefined> {
  const write = Object.entries(letters).find(([kind]) => kind === mail.kind)?.[1]
  if (write === undefined) throw new MailError(`This version of Grove does not know the mail ${mail.kind}`, true)
  return write(deps, mail)
}

async function record(deps: Services, ended: readonly Ended<Mail, Outcome>[]): Promise<void> {
  const { credentials, now } = deps
  const over = ended.filter(({ outcome }) => outcome !== undefined && outcome.failure === undefined)
  await credentials.write(async (trx) => {
    await deleteMails(
      trx,
      over.map(({ row }) => row.id),
    )
    for (const { row, outcome } of ended)
      if (outcome === undefined) await releaseMail(trx, row)
      else if (outcome.failure) await recordMailFailure(trx, row, { ...outcome.failure, now: now() })
  })
  for (const { row, outcome } of ended) if (outcome?.failure) logFailure(deps, row, outcome.failure)
}

function logFailure({ metrics, log }: Services, { id, kind, attempts }: Mail, { error, waitMs }: Failure): void {
  const facts = { mailId: id, kind, attempts, reason: error }
  if (waitMs !== undefined) {
    log.warn(facts, 'a mail could not be sent; it will be retried')
    return
  }
  metrics.mailFailed.inc()
  log.error(facts, 'a mail could not be sent and was given up; grove mail retry sends it again')
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}
