/** Organisations and their members. */

import { listMembers, putMember, removeMember } from '../domain/orgs/members.ts'
import { createOrg, deleteOrg, getOrg, listOrgs, updateOrg } from '../domain/orgs/orgs.ts'
import { listCloneUrls, listRepositories } from '../domain/orgs/repositories.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { type Bytes, bytes, createdAt } from '../http/responses/responses.ts'

export const orgRoutes = {
  createOrg: createdAt('/orgs/{id}', createOrg),
  listOrgs,
  getOrg,
  updateOrg,
  deleteOrg,
  listRepositories: async (ctx, { path, query, type }) =>
    type === 'application/json' ? listRepositories(ctx, { path, query }) : asLines(await listCloneUrls(ctx, { path })),
  listCloneUrls: async (ctx, { path }) => asLines(await listCloneUrls(ctx, { path })),
  listMembers,
  putMember,
  removeMember,
} satisfies Partial<Handlers>

function asLines(urls: readonly string[]): Bytes {
  return bytes(Buffer.from(urls.map((url) => `${url}\n`).join('')), 'text/plain; charset=utf-8')
}
