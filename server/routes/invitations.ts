/** Invitations to organisations. Responses with tokens are never cached. */
import * as invitations from '../domain/accounts/invitations.ts'
import { acceptInvitation } from '../domain/accounts/invitations.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { joinPage, joinPolicy } from '../http/responses/join-page.ts'
import { bytes, withHeaders } from '../http/responses/responses.ts'

export const invitationRoutes: HandlersOf<
  'createInvitation' | 'listInvitations' | 'revokeInvitation' | 'acceptInvitation' | 'getJoinPage'
> = {
  createInvitation: async (ctx, { path, body }) => {
    const invitation = await invitations.createInvitation(ctx, path, body)
    return withHeaders(
      { ...invitation, url: invitations.invitationUrl(ctx.request.base, invitation.token) },
      { 'Cache-Control': 'no-store', Location: `/orgs/${path.org_id}/invitations/${invitation.id}` },
    )
  },
  listInvitations: (ctx, { path, query }) => invitations.listInvitations(ctx, path, query),
  revokeInvitation: (ctx, { path }) => invitations.revokeInvitation(ctx, path),
  acceptInvitation: (ctx, { body }) => acceptInvitation(ctx, body),
  getJoinPage: ({ request }) =>
    bytes(Buffer.from(joinPage(request.base)), 'text/html; charset=utf-8', { 'Content-Security-Policy': joinPolicy }),
}
