/**
 * Sends the mails of the outbox. Each is claimed in the database first, so several processes may send. A process that
 * dies after the server has accepted a mail leaves a claim. Another process then sends it again, under the same id.
 */
import {
  claimMails,
  deleteMail,
  endMailClaimsOf,
  hasDueMail,
  listMailClaimers,
  recordMailFailure,
  releaseMail,
} from '../../../index/credentials/mail.ts'
import type { Mail } from '../../../index/credentials/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { Pauses } from '../../base/rounds.ts'
import { isLiveProcess } from '../live-processes.ts'
import { type Letter, mailContent } from './letter.ts'
import type { MailKind } from './outbox.ts'
import { MailError, sendMail } from './transport.ts'

/** Mails that one round sends at once. */
const most = 4
/** Milliseconds after which a claim of a live process ends. */
const claimMs = 60_000
/** Milliseconds between two checks of the outbox, and after a failure of the database. */
const [pollMs, failedMs] = [500, 5_000]
/** Milliseconds between two searches for dead processes. */
const deadMs = 1_000

const minute = 60_000
const hour = 60 * minute
/** Milliseconds after the nth attempt that failed for a while. There are ten attempts, in less than a day. */
const delays = [minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, hour, 2 * hour, 4 * hour, 8 * hour] as const

/** Makes the letter of a mail when it is sent. Undefined: nobody needs it any more. */
type WriteLetter = (deps: Deps, mail: Mail) => Promise<Letter | undefined>

/** The writers of all kinds. */
export type Letters = Readonly<Record<MailKind, WriteLetter>>

/** Sends mails until `deps.draining`. */
export async function sendMails(deps: Deps, letters: Letters): Promise<void> {
  const sender = new Sender(deps, letters)
  const pauses = new Pauses('mails', deps.draining)
  deps.rounds.add(pauses)
  let failure = ''
  while (!deps.draining.aborted) {
    let pause = pollMs
    let isIdle = false
    try {
      isIdle = !deps.placement.lease.isHeld() || (await sender.round())
      failure = ''
    } catch (error) {
      pause = failedMs
      const message = String(error)
      if (message !== failure)
        deps.log.warn({ err: error }, 'the outbox of mails could not be read; it will be retried')
      failure = message
    }
    await pauses.rest(pause, isIdle)
  }
}

class Sender {
  readonly #deps: Deps
  readonly #letters: Letters
  readonly #cell: string | null
  /** The name of this data folder in claims. */
  readonly #folder: string
  #deadAt = 0

  constructor(deps: Deps, letters: Letters) {
    this.#deps = deps
    this.#letters = letters
    this.#cell = deps.config.cell?.name ?? null
    this.#folder = `${this.#cell ?? ''}/`
  }

  /** Sends what is due. Returns true if there was nothing that may be sent. */
  async round(): Promise<boolean> {
    const { credentials, store, now, draining } = this.#deps
    let isIdle = true
    if (performance.now() >= this.#deadAt) {
      this.#deadAt = performance.now() + deadMs
      await this.#releaseDead()
    }
    while (!draining.aborted && (await hasDueMail(credentials.read, this.#cell, now()))) {
      const claim = { by: this.#folder + store.process, cell: this.#cell, now: now(), ms: claimMs, limit: most }
      const mails = await credentials.write((trx) => claimMails(trx, claim))
      const sent = await Promise.all(mails.map((mail) => this.#send(mail)))
      isIdle &&= !sent.includes(true)
      if (mails.length === 0 || sent.includes(false)) break
    }
    return isIdle
  }

  /** Ends the claims of dead processes of this folder. */
  async #releaseDead(): Promise<void> {
    const { credentials, store } = this.#deps
    for (const by of await listMailClaimers(credentials.read)) {
      const process = by.startsWith(this.#folder) ? by.slice(this.#folder.length) : store.process
      if (process !== store.process && !isLiveProcess(store.run, process))
        await credentials.write((trx) => endMailClaimsOf(trx, by))
    }
  }

  /** Returns false if there are too many mails now. */
  async #send(mail: Mail): Promise<boolean> {
    const { credentials, config, limitMail } = this.#deps
    if (config.mail === undefined) return false
    try {
      const letter = await this.#letterOf(mail)
      if (letter === undefined) {
        await credentials.write((trx) => deleteMail(trx, mail.id))
        return true
      }
      if (!(await limitMail('all'))) {
        await credentials.write((trx) => releaseMail(trx, mail))
        return false
      }
      await sendMail(config.mail, { ...mailContent(letter), id: mail.id, to: mail.address })
    } catch (error) {
      await this.#fail(mail, error)
      return true
    }
    await credentials.write((trx) => deleteMail(trx, mail.id))
    return true
  }

  /** A kind of a newer version has no writer here. A process of that version sends it. */
  async #letterOf(mail: Mail): Promise<Letter | undefined> {
    const write = Object.entries(this.#letters).find(([kind]) => kind === mail.kind)?.[1]
    if (write === undefined) throw new MailError(`This version of Grove does not know the mail ${mail.kind}`, true)
    return write(this.#deps, mail)
  }

  async #fail(mail: Mail, error: unknown): Promise<void> {
    const { credentials, metrics, log, now } = this.#deps
    const isTemporary = !(error instanceof MailError) || error.isTemporary
    const waitMs = isTemporary ? delays[mail.attempts - 1] : undefined
    const text = error instanceof MailError ? error.message : `The mail could not be written: ${nameOf(error)}`
    await credentials.write((trx) => recordMailFailure(trx, mail, { error: text, waitMs, now: now() }))
    const facts = { mailId: mail.id, kind: mail.kind, attempts: mail.attempts, reason: text }
    if (waitMs !== undefined) {
      log.warn(facts, 'a mail could not be sent; it will be retried')
      return
    }
    metrics.mailFailed.inc()
    log.error(facts, 'a mail could not be sent and was given up; grove mail retry sends it again')
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}
