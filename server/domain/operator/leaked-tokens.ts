/** Finds whose a leaked token is, and ends it. For the operator, who may have only the text that contains it. */
import { compactVerify, decodeProtectedHeader } from 'jose'
import { deleteAccessToken } from '../../../index/credentials/access-tokens.ts'
import { findAccountById } from '../../../index/credentials/accounts.ts'
import { useEmailToken } from '../../../index/credentials/email-tokens.ts'
import { deleteFeedToken } from '../../../index/credentials/feed-tokens.ts'
import { type FoundToken, findAccessTokensBy, findToken } from '../../../index/credentials/found-tokens.ts'
import { deleteInvitation } from '../../../index/credentials/invitations.ts'
import { deleteGrant } from '../../../index/credentials/oauth.ts'
import type { CredentialsDb } from '../../../index/credentials/schema.ts'
import { setSessionRevoked, useResetToken } from '../../../index/credentials/sessions.ts'
import type { AuditAction } from '../../base/audit-actions.ts'
import { hashOf, tokensIn } from '../accounts/tokens.ts'
import { operator } from '../actor.ts'
import { type AuditEntry, audit } from '../audit/audit.ts'
import type { Services } from '../services.ts'

export interface Leak extends FoundToken {
  /** The last four characters of a secret that was found in a text. */
  readonly hint?: string
  /** The address of its account. Absent for an invitation. */
  readonly email?: string
}

/** The most tokens of one text. */
const most = 1_000

interface Ending {
  readonly action: AuditAction
  readonly target: NonNullable<AuditEntry['target']>['type']
  readonly end: (trx: CredentialsDb, leak: FoundToken, now: string) => Promise<unknown>
}

/** How a token of each kind ends, as its user would end it. */
const endings: Readonly<Record<FoundToken['kind'], Ending>> = {
  token: {
    action: 'token.revoked',
    target: 'token',
    end: (trx, { id, account_id }) => deleteAccessToken(trx, account_id ?? '', id),
  },
  session: {
    action: 'auth.session_revoked',
    target: 'session',
    end: (trx, { id }, now) => setSessionRevoked(trx, id, now),
  },
  connection: { action: 'connection.ended', target: 'connection', end: (trx, { id }) => deleteGrant(trx, id) },
  feed: { action: 'feed_token.ended', target: 'account', end: (trx, { id }) => deleteFeedToken(trx, id) },
  reset: { action: 'token.revoked', target: 'account', end: (trx, { id }, now) => useResetToken(trx, id, now) },
  mail: { action: 'token.revoked', target: 'account', end: (trx, { id }, now) => useEmailToken(trx, id, now) },
  invitation: { action: 'invitation.revoked', target: 'invitation', end: (trx, { id }) => deleteInvitation(trx, id) },
}

/** Finds the valid tokens that a text contains, such as a log or a file. */
export async function findLeaksIn(deps: Services, text: string): Promise<Leak[]> {
  const leaks: Leak[] = []
  for (const token of tokensIn(text).slice(0, most)) {
    const now = deps.now()
    const sessionId = await sessionOf(deps, token)
    const by = sessionId === undefined ? { hash: hashOf(token) } : { sessionId }
    const found = await findToken(deps.credentials.read, by, now.toISOString())
    if (found) leaks.push({ ...(await withAccount(deps, found)), hint: token.slice(-4) })
  }
  return leaks
}

/** Finds personal access tokens by id, or by the last four characters of their secret. */
export async function findLeaksBy(deps: Services, column: 'id' | 'hint', value: string): Promise<Leak[]> {
  const found = await findAccessTokensBy(deps.credentials.read, column, value)
  return Promise.all(found.map((one) => withAccount(deps, one)))
}

/** Ends a token, from the next request in every process. A session and a connection end as a whole. */
export async function endLeak(deps: Services, leak: Leak): Promise<void> {
  const { action, target, end } = endings[leak.kind]
  await deps.credentials.write((trx) => end(trx, leak, deps.now().toISOString()))
  const id = target === 'account' ? leak.account_id : leak.id
  await audit(deps, {
    ...{ action, actor: operator, ...(leak.account_id !== null && { accountId: leak.account_id }) },
    ...(id !== null && { target: { type: target, id } }),
    detail: { kind: leak.kind },
  })
}

/** Returns the session of a signed token, expired or not. Undefined: it is not one, or its key is gone. */
async function sessionOf({ keys, now }: Services, token: string): Promise<string | undefined> {
  try {
    const key = await keys.verifying(decodeProtectedHeader(token).kid ?? '', now().getTime())
    if (key === undefined) return undefined
    const { sid } = JSON.parse(new TextDecoder().decode((await compactVerify(token, key)).payload))
    return typeof sid === 'string' ? sid : undefined
  } catch {
    return undefined
  }
}

async function withAccount({ credentials }: Services, found: FoundToken): Promise<Leak> {
  const account = found.account_id === null ? undefined : await findAccountById(credentials.read, found.account_id)
  return { ...found, ...(account && { email: account.email }) }
}
