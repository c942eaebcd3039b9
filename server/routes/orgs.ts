/** Organisations and their members. */
import * as members from '../domain/orgs/members.ts'
import * as orgs from '../domain/orgs/orgs.ts'
import * as repositories from '../domain/orgs/repositories.ts'
import type { Handlers } from '../http/operations.ts'
import { type Bytes, bytes, created } from '../http/responses.ts'

export const orgRoutes: Pick<
  Handlers,
  | 'createOrg'
  | 'listOrgs'
  | 'getOrg'
  | 'updateOrg'
  | 'deleteOrg'
  | 'listRepositories'
  | 'listCloneUrls'
  | 'listMembers'
  | 'putMember'
  | 'removeMember'
> = {
  createOrg: async (deps, actor, { body }) => {
    const org = await orgs.createOrg(deps, actor, body)
    return created(`/orgs/${org.id}`, org)
  },
  listOrgs: (deps, actor, { query }) => orgs.listOrgs(deps, actor, query),
  getOrg: (deps, actor, { path }) => orgs.readOrg(deps, actor, path.org_id),
  updateOrg: (deps, actor, { path, body }) => orgs.updateOrg(deps, actor, path.org_id, body),
  deleteOrg: (deps, actor, { path }) => orgs.deleteOrg(deps, actor, path.org_id),
  listRepositories: async (deps, actor, { path, query, type, base }) => {
    if (type === 'application/json') return repositories.listRepositories(deps, actor, path.org_id, base, query)
    return asLines(await repositories.listCloneUrls(deps, actor, path.org_id, base))
  },
  listCloneUrls: async (deps, actor, { path, base }) =>
    asLines(await repositories.listCloneUrls(deps, actor, path.org_id, base)),
  listMembers: (deps, actor, { path, query }) => members.listMembers(deps, actor, path.org_id, query),
  putMember: (deps, actor, { path, body }) => members.putMember(deps, actor, path.org_id, path.email, body.role),
  removeMember: (deps, actor, { path }) => members.removeMember(deps, actor, path.org_id, path.email),
}

function asLines(urls: readonly string[]): Bytes {
  return bytes(Buffer.from(urls.map((url) => `${url}\n`).join('')), 'text/plain; charset=utf-8')
}
