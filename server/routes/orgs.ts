/** Organisations and their members. */

import { listOrgAudit } from '../domain/audit/listing.ts'
import * as members from '../domain/orgs/members.ts'
import * as orgs from '../domain/orgs/orgs.ts'
import * as repositories from '../domain/orgs/repositories.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { Archive, type Bytes, bytes, created } from '../http/responses/responses.ts'
import { cancelImport, getImport, listImports, startImport } from '../vault/uploads/requests.ts'
import { openExport } from '../vault/write/requests.ts'

export const orgRoutes: HandlersOf<
  | 'createOrg'
  | 'listOrgs'
  | 'getOrg'
  | 'updateOrg'
  | 'deleteOrg'
  | 'listRepositories'
  | 'listCloneUrls'
  | 'exportOrg'
  | 'startImport'
  | 'listImports'
  | 'getImport'
  | 'cancelImport'
  | 'listMembers'
  | 'putMember'
  | 'removeMember'
  | 'listOrgAudit'
> = {
  createOrg: async (ctx, { body }) => {
    const org = await orgs.createOrg(ctx, body)
    return created(`/orgs/${org.id}`, org)
  },
  listOrgs: (ctx, { query }) => orgs.listOrgs(ctx, query),
  getOrg: (ctx, { path }) => orgs.readOrg(ctx, path),
  updateOrg: (ctx, { path, body }) => orgs.updateOrg(ctx, path, body),
  deleteOrg: (ctx, { path }) => orgs.deleteOrg(ctx, path),
  listRepositories: async (ctx, { path, query, type }) =>
    type === 'application/json'
      ? repositories.listRepositories(ctx, path, { ...query, base: ctx.request.base })
      : asLines(await repositories.listCloneUrls(ctx, path, { base: ctx.request.base })),
  listCloneUrls: async (ctx, { path }) =>
    asLines(await repositories.listCloneUrls(ctx, path, { base: ctx.request.base })),
  exportOrg: async (ctx, { path, query: { format, under, where }, type }) => {
    const content = await openExport(ctx, path, { under, where })
    return new Archive(content, format ?? (type === 'application/zip' ? 'zip' : 'tar'))
  },
  startImport: async (ctx, { path, query, upload }) => {
    const { name = 'Imported', dry_run: dryRun = false, base, exclude } = query
    const options = { dryRun, ...(base && { base }), ...(exclude && { exclude }) }
    const started = await startImport(ctx, path, { name, options, open: upload })
    return created(`/orgs/${started.org_id}/imports/${started.id}`, started)
  },
  listImports: (ctx, { path, query }) => listImports(ctx, path, query),
  getImport: (ctx, { path }) => getImport(ctx, path),
  cancelImport: (ctx, { path }) => cancelImport(ctx, path, ctx.request.signal),
  listMembers: (ctx, { path, query }) => members.listMembers(ctx, path, query),
  putMember: (ctx, { path, body }) => members.putMember(ctx, path, body),
  removeMember: (ctx, { path }) => members.removeMember(ctx, path),
  listOrgAudit: (ctx, { path, query }) => listOrgAudit(ctx, path, query),
}

function asLines(urls: readonly string[]): Bytes {
  return bytes(Buffer.from(urls.map((url) => `${url}\n`).join('')), 'text/plain; charset=utf-8')
}
