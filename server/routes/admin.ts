/** Operations for administrators of the service. Responses with tokens are never cached. */
import * as administration from '../domain/accounts/administration.ts'
import { listServiceAudit } from '../domain/audit/listing.ts'
import { changeLimits } from '../domain/operator/quotas.ts'
import { readServiceStatus } from '../domain/operator/status.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { noStore, withHeaders } from '../http/responses/responses.ts'

export const adminRoutes: HandlersOf<
  | 'listAccounts'
  | 'createAccount'
  | 'getAccount'
  | 'updateAccount'
  | 'deleteAccount'
  | 'resetAccount'
  | 'listAllOrgs'
  | 'updateOrgLimits'
  | 'listPlaces'
  | 'listServiceAudit'
  | 'getServiceStatus'
> = {
  listAccounts: (deps, actor, { query }) => administration.listManagedAccounts(deps, actor, query),
  createAccount: async (deps, actor, { body }) => {
    const created = await administration.createManagedAccount(deps, actor, body)
    return withHeaders(created, { ...noStore, Location: `/admin/accounts/${created.account.id}` })
  },
  getAccount: (deps, actor, { path }) => administration.readManagedAccount(deps, actor, path),
  updateAccount: (deps, actor, { path, body }) => administration.changeManagedAccount(deps, actor, path, body),
  deleteAccount: (deps, actor, { path }) => administration.deleteManagedAccount(deps, actor, path),
  resetAccount: async (deps, actor, { path }) =>
    withHeaders(await administration.resetManagedAccount(deps, actor, path), noStore),
  listAllOrgs: (deps, actor, { query }) => administration.listAllOrgs(deps, actor, query),
  updateOrgLimits: (deps, actor, { path, body }) => changeLimits(deps, actor, path, body),
  listPlaces: (deps, actor, { query }) => administration.listPlaces(deps, actor, query),
  listServiceAudit: (deps, actor, { query }) => listServiceAudit(deps, actor, query),
  getServiceStatus: (deps, actor) => readServiceStatus(deps, actor),
}
