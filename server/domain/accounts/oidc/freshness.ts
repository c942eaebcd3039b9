/** Users who have not passed their provider for too long. A user who has left a company no longer passes it. */

import type { Profile, SessionProfile } from '../../../../index/credentials/accounts.ts'
import { listIdentities } from '../../../../index/credentials/identities.ts'
import { AppError } from '../../../base/errors.ts'
import * as limits from '../../../base/limits.ts'
import type { Services } from '../../services.ts'
import { findProvider, isAway, listProviders } from './providers.ts'

const hourMs = 3_600_000
/** Milliseconds that a session continues while its provider does not answer. */
const graceMs = 24 * hourMs

/**
 * True if the session must pass its provider again. Needs no query. While the provider does not answer, a session has a
 * day of grace.
 */
export async function isSessionStale(deps: Services, session: SessionProfile): Promise<boolean> {
  if (session.provider === null) return false
  const provider = findProvider(deps, session.provider)
  if (provider === undefined || provider.maxAgeHours === 0) return false
  const passed = Math.max(Date.parse(session.session_created_at), Date.parse(session.confirmed_at ?? '') || 0)
  const late = deps.now().getTime() - passed - provider.maxAgeHours * hourMs
  if (late <= 0) return false
  return late > graceMs || !(await isAway(deps, provider))
}

/**
 * Refuses tokens and connections of a user who must pass a provider again (`TOKENS_DAYS`). Each provider counts. Only
 * accounts with an identity cost a query.
 *
 * @throws AppError sign_in_required
 */
export async function requireFresh(deps: Services, profile: Pick<Profile, 'id' | 'has_identity'>): Promise<void> {
  if (profile.has_identity === 0 || !listProviders(deps).some(({ tokensDays }) => tokensDays > 0)) return
  const identities = await listIdentities(deps.credentials.read, profile.id, { limit: limits.identities, offset: 0 })
  const now = deps.now().getTime()
  const stale = identities.find(({ provider: id, confirmed_at }) => {
    const { tokensDays = 0 } = findProvider(deps, id) ?? {}
    return tokensDays > 0 && now - Date.parse(confirmed_at) > tokensDays * 24 * hourMs
  })
  if (stale === undefined) return
  const { publicUrl = '' } = deps.config
  const page = `${publicUrl}/sign-in/oidc/${stale.provider}`
  throw new AppError('sign_in_required', `Sign in again at ${page}; then your tokens work again`, { sign_in: page })
}
