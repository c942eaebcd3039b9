/** Who may sign up: `SIGNUP` and invitations. */
import type { Invitation } from '../../../index/credentials/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { Refusal } from '../../base/errors.ts'
import { findGoodInvitation, invitationNotFound } from './invitation-use.ts'

/**
 * The invitation by which a person of that address signs up, if they sent one. Costs a few reads: it comes before the
 * password is hashed.
 *
 * @throws Refusal signup_closed; invitation_not_found where sign-up is open and the invitation is not good
 */
export async function admit(deps: Deps, email: string, token: string | undefined): Promise<Invitation | undefined> {
  if (deps.config.signup === 'closed') throw notAdmitted(deps)
  const invitation = token === undefined ? undefined : await findGoodInvitation(deps, token, email)
  if (invitation === undefined && (token !== undefined || deps.config.signup === 'invite')) throw notAdmitted(deps)
  return invitation
}

/** The error of who needs an invitation, or has sent one, and has no good one. */
export function notAdmitted({ config: { signup } }: Deps): Refusal {
  if (signup === 'open') return invitationNotFound()
  const reason =
    signup === 'closed' ? 'Sign-up is closed; ask the operator' : 'Sign-up needs an invitation that is good'
  return new Refusal('signup_closed', reason)
}

/** What a client shows to people who are not signed in. */
export function readAuthConfig({ config: { signup } }: Deps) {
  return { signup, password_login: true, password_reset: 'operator', oidc: [] } as const
}
