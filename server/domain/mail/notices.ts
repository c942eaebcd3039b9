/** Notices: mails that say that something was done with an account. Each links only to the page where it is ended. */
import { findAccountById } from '../../../index/credentials/accounts.ts'
import type { CredentialsDb, Mail } from '../../../index/credentials/schema.ts'
import type { Services } from '../services.ts'
import type { Letter } from './letter.ts'
import { hasMail, queueMail } from './outbox.ts'
import { shownName } from './shown-name.ts'

/**
 * `signed_in`: from a network that is new for the account. `reused`: a connection has ended, because of a thief.
 * `taken_over`: the user of the address has arrived.
 */
type NoticeKind = 'signed_in' | 'connected' | 'reused' | 'linked' | 'taken_over'

interface NoticeFacts {
  /** The name of the program or the provider. */
  readonly name?: string
  /** The network of a sign-in, and the access of a connection. */
  readonly network?: string
  readonly access?: string
  /** Counts of the things that ended, and the names of the members who remain. */
  readonly withdrawn?: string
  readonly members?: string
}

/** Writes a notice to the account's address. Does nothing if the service sends no mail. */
export async function queueNotice(
  deps: Pick<Services, 'config' | 'now'>,
  trx: CredentialsDb,
  kind: NoticeKind,
  accountId: string,
  facts: NoticeFacts,
): Promise<void> {
  if (!hasMail(deps)) return
  const account = await findAccountById(trx, accountId)
  if (account?.kind !== 'person') return
  await queueMail(deps, trx, { kind, accountId, address: account.email, fields: { ...facts } })
}

/** Makes the letter of a notice. */
export async function writeNotice(
  { config }: Services,
  { kind, fields, created_at }: Mail,
): Promise<Letter | undefined> {
  const { publicUrl } = config
  const notice = Object.entries(notices).find(([name]) => name === kind)?.[1]
  if (publicUrl === undefined || notice === undefined) return undefined
  const facts: NoticeFacts = JSON.parse(fields)
  const { subject, says, page, label, otherwise } = notice
  const name = facts.name ? `“${shownName(facts.name)}”` : 'an unknown program'
  const at = `${created_at.slice(0, 10)} at ${created_at.slice(11, 16)} (UTC)`
  const paragraphs = says({ ...facts, name, at })
  return { subject, paragraphs, link: { label, url: `${publicUrl}${page}` }, otherwise }
}

interface Notice {
  readonly subject: string
  readonly says: (facts: NoticeFacts & { readonly name: string; readonly at: string }) => readonly string[]
  readonly page: string
  readonly label: string
  readonly otherwise: string
}

const notices: Readonly<Record<NoticeKind, Notice>> = {
  signed_in: {
    subject: 'New sign-in to Grove',
    says: ({ network, name, at }) => [
      `Somebody signed in to your account on ${at}.`,
      `The network, ${network ?? 'unknown'}, is new for your account. The program calls itself ${name}.`,
    ],
    page: '/me/sessions',
    label: 'Show your sessions',
    otherwise: 'If it was not you, end the session on that page, and set a new password.',
  },
  connected: {
    subject: 'A program was connected to your account',
    says: ({ name, access, at }) => [
      `The program ${name} was connected to your Grove account on ${at}, with the access “${access}”.`,
    ],
    page: '/me/connections',
    label: 'Show your connections',
    otherwise: 'If it was not you, end the connection on that page, and set a new password.',
  },
  reused: {
    subject: 'A connection of your account was ended',
    says: ({ name, at }) => [
      `The connection of the program ${name} was ended on ${at}.`,
      'One of its secrets was used twice, so somebody may have stolen it. Connect the program again to use it.',
    ],
    page: '/me/connections',
    label: 'Show your connections',
    otherwise: 'If it happens again, stop using the program.',
  },
  linked: {
    subject: 'A way to sign in was linked to your account',
    says: ({ name, at }) => [`Since ${at}, ${name} signs you in to your Grove account.`],
    page: '/me/identities',
    label: 'Show how you sign in',
    otherwise: 'If it was not you, remove it on that page, and set a new password.',
  },
  taken_over: {
    subject: 'Your Grove account was opened before you confirmed its address',
    says: ({ at, withdrawn = '', members = '' }) => [
      `On ${at} you confirmed the address of an account that nobody had confirmed before.`,
      `Somebody else may have opened it, so its password, sessions and tokens have ended. Also withdrawn: ${withdrawn}.`,
      members === ''
        ? 'Its organisations have no other members.'
        : `These members remain in its organisations: ${members}. Remove those whom you do not know.`,
    ],
    page: '/',
    label: 'Show your organisations',
    otherwise: 'If you opened it yourself, create again what you need.',
  },
}
