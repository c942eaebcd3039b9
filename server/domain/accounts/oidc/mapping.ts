/** Which account a user of a provider gets. Pure: claims and rows in, a decision out. */

import type { Account, Identity } from '../../../../index/credentials/schema.ts'
import type { RefusalCode } from '../../../base/errors.ts'
import type { Provider } from './providers.ts'

/** The claims of an ID token, or of the user's profile at the provider. */
export type Claims = Readonly<Record<string, unknown>>

/** A user who has passed a provider. */
export interface Passed {
  readonly issuer: string
  readonly subject: string
  readonly email?: string
  /** True if the provider confirms the address. */
  readonly isConfirmed: boolean
  /** Names that the provider has for the user, the best first. */
  readonly names: readonly string[]
  /** True if the user has the claim that the operator demands. */
  readonly isAdmitted: boolean
}

/** The reason for a pass. `confirm`: the user of a session proves again who they are. */
export type Purpose = 'sign-in' | 'link' | 'confirm'

/** The rows that belong to a user who has passed. */
export interface Known {
  readonly purpose: Purpose
  readonly identity: Identity | undefined
  /** The account of the identity, or else of the address. */
  readonly account: Account | undefined
  /** True if the account has an identity of the issuer, of any subject. */
  readonly hasIdentity: boolean
  /** The account of the session. Absent for a sign-in. */
  readonly signedIn?: string | undefined
}

export type Decision =
  | { readonly act: 'refuse'; readonly code: RefusalCode; readonly detail: string }
  | { readonly act: 'sign-in' | 'confirm'; readonly identity: Identity; readonly account: Account }
  | { readonly act: 'create'; readonly email: string }
  | { readonly act: 'link'; readonly accountId: string }
  | { readonly act: 'link-by-email'; readonly account: Account; readonly endsAll: boolean }

/** True if the ID token lacks a claim that the user's profile may have. */
export function needsProfile({ require: demand }: Provider, claims: Claims): boolean {
  return typeof claims.email !== 'string' || (demand !== undefined && claims[demand.claim] === undefined)
}

/** The address and its confirmation come from the same document. @param profile undefined: it was not needed */
export function readClaims(provider: Provider, token: Claims, profile?: Claims): Passed {
  const mail = typeof token.email === 'string' ? token : (profile ?? {})
  const all = { ...profile, ...token }
  const names = [all.name, all.preferred_username].filter((name) => typeof name === 'string')
  return {
    issuer: String(token.iss),
    subject: String(token.sub),
    ...(typeof mail.email === 'string' && mail.email !== '' ? { email: mail.email } : {}),
    isConfirmed: provider.verified === 'always' || mail[provider.verified] === true,
    names,
    isAdmitted: isAdmitted(provider, all),
  }
}

function isAdmitted({ require: demand }: Provider, claims: Claims): boolean {
  if (demand === undefined) return true
  const claim = claims[demand.claim]
  const values = Array.isArray(claim) ? claim : [claim]
  return values.some((value) => isScalar(value) && demand.values.includes(String(value)))
}

function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

/** @param isEmail true for an address that an account may have */
export function decide(
  provider: Provider,
  passed: Passed,
  { purpose, identity, account, hasIdentity, signedIn }: Known,
  isEmail: (email: string) => boolean,
): Decision {
  const { name } = provider
  if (!passed.isAdmitted)
    return refuse('provider_refused', `${name} knows you, but this service is not open to your account there`)
  if (identity !== undefined && account?.disabled_at != null) return disabled
  if (purpose === 'confirm') return confirm(name, { identity, account, signedIn })
  if (purpose === 'link') return link(name, identity, signedIn)
  if (identity !== undefined && account !== undefined) return { act: 'sign-in', identity, account }
  const { email, isConfirmed } = passed
  if (email === undefined || !isConfirmed || !isEmail(email))
    return refuse(
      'email_unverified',
      `${name} does not confirm your e-mail address; confirm it there, and sign in again`,
    )
  if (account === undefined) return { act: 'create', email }
  if (account.disabled_at !== null) return disabled
  // The provider names two users, and one address. The account is the first one's, who had the address before.
  if (hasIdentity)
    return refuse(
      'account_exists',
      `The account with your e-mail address belongs to another user at ${name}, who may have had the address before you. Ask the operator, or that user to change the address of the account`,
    )
  if (provider.linksByEmail) return { act: 'link-by-email', account, endsAll: account.email_verified_at === null }
  const advice = `There is an account with your e-mail address. Sign in with its password, and link ${name} at /me/identities`
  return refuse('account_exists', advice)
}

const disabled = refuse('account_disabled', 'The account is disabled; ask the operator')

function refuse(code: RefusalCode, detail: string) {
  return { act: 'refuse', code, detail } as const
}

function confirm(
  name: string,
  { identity, account, signedIn }: Pick<Known, 'identity' | 'account' | 'signedIn'>,
): Decision {
  if (identity === undefined || account === undefined || identity.account_id !== signedIn)
    return refuse('provider_refused', `You are another user at ${name} than the one of this account`)
  return { act: 'confirm', identity, account }
}

function link(name: string, identity: Identity | undefined, signedIn: string | undefined): Decision {
  if (signedIn === undefined) return refuse('sign_in_failed', 'Your session has ended; sign in again')
  if (identity === undefined || identity.account_id === signedIn) return { act: 'link', accountId: signedIn }
  return refuse('identity_taken', `This account of ${name} already belongs to another account here`)
}
