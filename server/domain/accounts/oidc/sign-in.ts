/** The end of a pass through a provider: a session, a link, or a confirmation. */

import {
  emailKey,
  findAccountByEmail,
  findAccountById,
  insertAccount,
  lockAccount,
  setAccount,
} from '../../../../index/credentials/accounts.ts'
import { findIdentity, hasIdentityOf, setIdentityPassed } from '../../../../index/credentials/identities.ts'
import type { Account, CredentialsDb, Identity } from '../../../../index/credentials/schema.ts'
import { setSessionConfirmed } from '../../../../index/credentials/sessions.ts'
import { isDuplicate } from '../../../../index/sqlite/database.ts'
import { AppError } from '../../../base/errors.ts'
import { requireSignedIn } from '../../access.ts'
import { anonymous, type Person } from '../../actor.ts'
import { auditRepeat } from '../../audit/audit.ts'
import type { Services } from '../../services.ts'
import { auditSignUp, joinFirst, newAccount, openAndAnswer } from '../accounts.ts'
import { findOwnOrgs, takeOver } from '../arrivals.ts'
import { requireConfirmed } from '../confirmation.ts'
import { followAddress, recordChange } from '../email-changes.ts'
import { anonymousName, isEmail, isGitName } from '../identity.ts'
import { requireSignUpAllowed, signUpRefusedError, takeInvitation } from '../invitations.ts'
import { lockActiveAccount, readAccount } from '../password-proof.ts'
import { dummyHash } from '../passwords.ts'
import type { Session, SignInFrom } from '../sessions.ts'
import { personOf } from '../user-view.ts'
import { JustLinkedError, link, linkAndNotify, newIdentity, recordLink } from './identities.ts'
import { membershipFor, takeMembership } from './joining.ts'
import { type Decision, decide, type Passed, type Purpose } from './mapping.ts'
import type { Provider } from './providers.ts'

/** A user who came back from a provider. */
export interface Return {
  readonly provider: Provider
  readonly passed: Passed
  readonly purpose: Purpose
  /** The user of the session that began it. Absent for a sign-in. */
  readonly actor?: Person
  /** The secret of an invitation. */
  readonly invitation?: string
  readonly client: SignInFrom
}

export type Arrival =
  /** `org`: the organisation that an invitation gave to a new account. */
  | { readonly act: 'signed-in'; readonly session: Session; readonly isNew: boolean; readonly org?: string }
  | { readonly act: 'linked' | 'confirmed' }

/** The most decisions for one return. Another request may link the subject or take the address at the same time. */
const mostTries = 3

/**
 * Signs a user in, links an identity, or confirms a session.
 *
 * @throws AppError provider_refused, account_disabled, email_unverified, account_exists, identity_taken, signup_closed,
 *   invitation_not_found, confirmation_required, sign_in_failed, too_many_identities
 */
export async function arrive(deps: Services, returned: Return): Promise<Arrival> {
  for (let tries = 1; ; tries++) {
    try {
      return await carryOut(deps, returned, await decisionFor(deps, returned))
    } catch (error) {
      if (!(error instanceof JustLinkedError || isDuplicate(error)) || tries === mostTries) throw error
    }
  }
}

async function decisionFor(deps: Services, { provider, passed, purpose, actor }: Return): Promise<Decision> {
  const { read } = deps.credentials
  const identity = await findIdentity(read, passed.issuer, passed.subject)
  const account = await (identity !== undefined
    ? findAccountById(read, identity.account_id)
    : passed.email === undefined
      ? undefined
      : findAccountByEmail(read, passed.email))
  const hasIdentity = account !== undefined && (await hasIdentityOf(read, account.id, passed.issuer))
  const known = { purpose, identity, account, hasIdentity, ...(actor === undefined ? {} : { signedIn: actor.id }) }
  const decision = decide(provider, passed, known, isEmail)
  if (decision.act === 'refuse') await auditRefusal(deps, provider, decision.code, account)
  return decision
}

async function auditRefusal(
  deps: Services,
  { id }: Provider,
  code: string,
  account: Account | undefined,
): Promise<void> {
  const { origin } = deps
  await auditRepeat(
    deps,
    {
      action: 'auth.provider_refused',
      actor: anonymous,
      outcome: 'refused',
      ...(account && { accountId: account.id, target: { type: 'account', id: account.id } }),
      detail: { provider: id, code },
    },
    { per: 'hour', key: `${id} ${code} ${account?.id ?? ''} ${origin?.address ?? ''}` },
  )
}

async function carryOut(deps: Services, returned: Return, decision: Decision): Promise<Arrival> {
  switch (decision.act) {
    case 'refuse':
      throw new AppError(decision.code, decision.detail)
    case 'sign-in':
      return { act: 'signed-in', session: await signInKnown(deps, returned, decision), isNew: false }
    case 'confirm':
      return confirm(deps, returned, decision.identity)
    case 'create':
      return create(deps, returned, decision.email)
    case 'link':
      return linkSession(deps, returned)
    case 'link-by-email':
      return { act: 'signed-in', session: await linkByEmail(deps, returned, decision), isNew: false }
  }
}

/** Opens a session. `first` runs in its transaction, when the account is locked. */
async function signInKnown(
  deps: Services,
  returned: Return,
  { identity, account }: { readonly identity: Identity; readonly account: Account },
  first: (trx: CredentialsDb) => Promise<void> = async () => {},
  message = `Welcome back, ${account.name}`,
): Promise<Session> {
  const { provider, passed, client } = returned
  const pending = await membershipFor(deps, provider, account.id)
  let isMoved = false
  const session = await openAndAnswer(deps, account, client, message, {
    method: 'oidc',
    identityId: identity.id,
    provider: provider.id,
    prove: async (trx) => {
      const locked = await lockActiveAccount(trx, account.id)
      await first(trx)
      isMoved = await takeConfirmed(deps, trx, locked, identity, passed)
      await recordPass(deps, trx, identity, returned)
      if (pending) await takeMembership(trx, pending)
    },
  })
  if (isMoved) await recordChange(deps, 'account.email_changed', account)
  return session
}

/** An unconfirmed address replaces no confirmed one, which the account may have to follow later. */
async function recordPass(
  deps: Services,
  trx: CredentialsDb,
  { id }: Identity,
  { provider, passed }: Return,
): Promise<void> {
  const email = passed.isConfirmed && passed.email !== undefined ? { email: passed.email } : {}
  const row = { provider: provider.id, confirmed_at: deps.now().toISOString(), ...email }
  if (!(await setIdentityPassed(trx, id, row)))
    throw new AppError('sign_in_failed', 'The identity was removed during the sign-in; start again')
}

/**
 * A provider that confirms the account's address proves what a mail to it would prove. If it names another address
 * than before, the account follows, unless its user has chosen one.
 *
 * @param account locked
 * @returns true if the account has another address now
 */
async function takeConfirmed(
  deps: Services,
  trx: CredentialsDb,
  account: Account,
  { email: former }: Identity,
  { email, isConfirmed }: Passed,
): Promise<boolean> {
  if (!isConfirmed || email === undefined) return false
  if (emailKey(email) === account.email_key) {
    if (account.email_verified_at === null)
      await setAccount(trx, account.id, { email_verified_at: deps.now().toISOString() })
    return false
  }
  const isProviders = former !== null && emailKey(former) === account.email_key && isEmail(email)
  return isProviders && followAddress(trx, account.id, email, deps.now())
}

async function confirm(deps: Services, returned: Return, identity: Identity): Promise<Arrival> {
  const { passed, actor } = returned
  const now = deps.now().toISOString()
  const sessionId = actor?.sessionId
  if (actor === undefined || sessionId === undefined) throw sessionGone()
  const moved = await deps.credentials.write(async (trx) => {
    const account = await lockActiveAccount(trx, actor.id)
    await requireSignedIn(trx, actor)
    const isMoved = await takeConfirmed(deps, trx, account, identity, passed)
    await recordPass(deps, trx, identity, returned)
    await setSessionConfirmed(trx, sessionId, now)
    return isMoved ? account : undefined
  })
  if (moved) await recordChange(deps, 'account.email_changed', moved)
  return { act: 'confirmed' }
}

async function linkSession(deps: Services, returned: Return): Promise<Arrival> {
  const { provider, passed, actor } = returned
  if (actor === undefined) throw sessionGone()
  await requireConfirmed({ ...deps, actor })
  const known = await findIdentity(deps.credentials.read, passed.issuer, passed.subject)
  const row = known ?? newIdentity(deps, provider, passed, actor.id)
  const moved = await deps.credentials.write(async (trx) => {
    const account = await lockActiveAccount(trx, actor.id)
    await requireSignedIn(trx, actor)
    const isMoved = await takeConfirmed(deps, trx, account, row, passed)
    if (known === undefined) await linkAndNotify(deps, trx, row)
    else await recordPass(deps, trx, known, returned)
    return isMoved ? account : undefined
  })
  if (moved) await recordChange(deps, 'account.email_changed', moved)
  if (known === undefined) await recordLink({ ...deps, actor }, row)
  return { act: 'linked' }
}

function sessionGone(): AppError {
  return new AppError('sign_in_failed', 'Your session has ended; sign in again')
}

/** The account's address is the one that the provider confirms. Checked again under its lock. */
async function linkByEmail(
  deps: Services,
  returned: Return,
  { account, endsAll }: { readonly account: Account; readonly endsAll: boolean },
): Promise<Session> {
  const { provider, passed } = returned
  const identity = newIdentity(deps, provider, passed, account.id)
  const orgs = endsAll ? await findOwnOrgs(deps, account.id) : undefined
  let recordTakeOver: Awaited<ReturnType<typeof takeOver>> | undefined
  const session = await signInKnown(deps, returned, { identity, account }, async (trx) => {
    const locked = await lockAccount(trx, account.id)
    if (locked?.email_key !== account.email_key || (locked.email_verified_at === null) !== endsAll)
      throw new JustLinkedError()
    if (await hasIdentityOf(trx, account.id, passed.issuer)) throw new JustLinkedError()
    if (orgs !== undefined) recordTakeOver = await takeOver(deps, trx, account.id, orgs)
    await linkAndNotify(deps, trx, identity)
  })
  await recordLink({ ...deps, actor: personOf(account) }, identity)
  await recordTakeOver?.(personOf(account))
  return session
}

/** Creates an account without a password. The provider's `_SIGNUP` decides, or `SIGNUP`. */
async function create(deps: Services, returned: Return, email: string): Promise<Arrival> {
  const { provider, passed, invitation: token } = returned
  const mode = signupOf(deps, provider)
  const invitation = await requireSignUpAllowed(deps, email, token, mode)
  const isHidden = deps.config.hideEmail ?? false
  const now = deps.now().toISOString()
  const account = newAccount(deps, { email, name: nameIn(passed), isHidden }, dummyHash)
  const named = passed.names.some(isGitName) ? account : { ...account, name: anonymousName(account.id) }
  const identity = newIdentity(deps, provider, passed, account.id)
  deps.placement.lease.before()
  const pending = await deps.credentials.write(async (trx) => {
    const row = { ...named, has_password: 0 as const, email_verified_at: now }
    if (!(await insertAccount(trx, row))) throw new JustLinkedError()
    await link(trx, identity)
    return invitation && takeInvitation(trx, invitation, account.id, now, () => signUpRefusedError(mode))
  })
  const inserted = await readAccount(deps, account.id)
  await auditSignUp({ ...deps, actor: personOf(inserted) }, invitation)
  await recordLink({ ...deps, actor: personOf(inserted) }, identity)
  const joined = pending && (await joinFirst({ ...deps, actor: personOf(inserted) }, pending))
  const welcome = `Welcome to Grove, ${inserted.name}`
  const session = await signInKnown(deps, returned, { identity, account: inserted }, undefined, welcome)
  return { act: 'signed-in', session, isNew: true, ...(joined === undefined ? {} : { org: joined.id }) }
}

function nameIn({ names }: Passed): string | undefined {
  return names.find(isGitName)
}

function signupOf({ config: { signup } }: Services, provider: Provider): Services['config']['signup'] {
  const modes = { on: 'open', invite: 'invite', off: 'closed' } as const
  return provider.signup === undefined ? signup : modes[provider.signup]
}
