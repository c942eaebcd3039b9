/** Invitations to organisations. Responses with tokens are never cached. */
import * as invitations from '../domain/accounts/invitations.ts'
import { acceptInvitation } from '../domain/accounts/invitations.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { joinPage, joinPolicy } from '../http/responses/join-page.ts'
import { bytes, withHeaders } from '../http/responses/responses.ts'

export const invitationRoutes: HandlersOf<
  'createInvitation' | 'listInvitations' | 'revokeInvitation' | 'acceptInvitation' | 'getJoinPage'
> = {
  createInvitation: async (deps, actor, { path, body, base }) => {
    const invitation = await invitations.createInvitation(deps, actor, path, body)
    return withHeaders(
      { ...invitation, url: invitations.invitationUrl(base, invitation.token) },
      { 'Cache-Control': 'no-store', Location: `/orgs/${path.org_id}/invitations/${invitation.id}` },
    )
  },
  listInvitations: (deps, actor, { path, query }) => invitations.listInvitations(deps, actor, path, query),
  revokeInvitation: (deps, actor, { path }) => invitations.revokeInvitation(deps, actor, path),
  acceptInvitation: (deps, actor, { body }) => acceptInvitation(deps, actor, body),
  getJoinPage: (_deps, _actor, { base }) =>
    bytes(Buffer.from(joinPage(base)), 'text/html; charset=utf-8', { 'Content-Security-Policy': joinPolicy }),
}
