/** Invitations to organisations. Responses with tokens are never cached. */
import {
  acceptInvitation,
  createInvitation,
  invitationUrl,
  listInvitations,
  readInvitation,
  revokeInvitation,
} from '../domain/accounts/invitations.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { joinPage, joinPolicy } from '../http/responses/join-page.ts'
import { bytes, withHeaders } from '../http/responses/responses.ts'

export const invitationRoutes = {
  createInvitation: async (ctx, { path, body }) => {
    const invitation = await createInvitation(ctx, { path, body })
    return withHeaders(
      { ...invitation, url: invitationUrl(ctx.request.base, invitation.token) },
      { 'Cache-Control': 'no-store', Location: `/orgs/${path.org_id}/invitations/${invitation.id}` },
    )
  },
  listInvitations,
  revokeInvitation,
  acceptInvitation,
  readInvitation,
  getJoinPage: ({ request }) =>
    bytes(Buffer.from(joinPage(request.base)), 'text/html; charset=utf-8', { 'Content-Security-Policy': joinPolicy }),
} satisfies Partial<Handlers>
