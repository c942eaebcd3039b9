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
  createOrg: async (deps, actor, { body }) => {
    const org = await orgs.createOrg(deps, actor, body)
    return created(`/orgs/${org.id}`, org)
  },
  listOrgs: (deps, actor, { query }) => orgs.listOrgs(deps, actor, query),
  getOrg: (deps, actor, { path }) => orgs.readOrg(deps, actor, path),
  updateOrg: (deps, actor, { path, body }) => orgs.updateOrg(deps, actor, path, body),
  deleteOrg: (deps, actor, { path }) => orgs.deleteOrg(deps, actor, path),
  listRepositories: async (deps, actor, { path, query, type, base }) =>
    type === 'application/json'
      ? repositories.listRepositories(deps, actor, path, { ...query, base })
      : asLines(await repositories.listCloneUrls(deps, actor, path, { base })),
  listCloneUrls: async (deps, actor, { path, base }) =>
    asLines(await repositories.listCloneUrls(deps, actor, path, { base })),
  exportOrg: async (deps, actor, { path, query: { format, under, where }, type }) => {
    const content = await openExport(deps, actor, path, { under, where })
    return new Archive(content, format ?? (type === 'application/zip' ? 'zip' : 'tar'))
  },
  startImport: async (deps, actor, { path, query, upload }) => {
    const { name = 'Imported', dry_run: dryRun = false, base, exclude } = query
    const options = { dryRun, ...(base && { base }), ...(exclude && { exclude }) }
    const started = await startImport(deps, actor, path, { name, options, open: upload })
    return created(`/orgs/${started.org_id}/imports/${started.id}`, started)
  },
  listImports: (deps, actor, { path, query }) => listImports(deps, actor, path, query),
  getImport: (deps, actor, { path }) => getImport(deps, actor, path),
  cancelImport: (deps, actor, { path, signal }) => cancelImport(deps, actor, path, signal),
  listMembers: (deps, actor, { path, query }) => members.listMembers(deps, actor, path, query),
  putMember: (deps, actor, { path, body }) => members.putMember(deps, actor, path, body),
  removeMember: (deps, actor, { path }) => members.removeMember(deps, actor, path),
  listOrgAudit: (deps, actor, { path, query }) => listOrgAudit(deps, actor, path, query),
}

function asLines(urls: readonly string[]): Bytes {
  return bytes(Buffer.from(urls.map((url) => `${url}\n`).join('')), 'text/plain; charset=utf-8')
}
