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
  listAccounts: (ctx, { query }) => administration.listManagedAccounts(ctx, query),
  createAccount: async (ctx, { body }) => {
    const created = await administration.createManagedAccount(ctx, body)
    return withHeaders(created, { ...noStore, Location: `/admin/accounts/${created.account.id}` })
  },
  getAccount: (ctx, { path }) => administration.readManagedAccount(ctx, path),
  updateAccount: (ctx, { path, body }) => administration.changeManagedAccount(ctx, path, body),
  deleteAccount: (ctx, { path }) => administration.deleteManagedAccount(ctx, path),
  resetAccount: async (ctx, { path }) => withHeaders(await administration.resetManagedAccount(ctx, path), noStore),
  listAllOrgs: (ctx, { query }) => administration.listAllOrgs(ctx, query),
  updateOrgLimits: (ctx, { path, body }) => changeLimits(ctx, path, body),
  listPlaces: (ctx, { query }) => administration.listPlaces(ctx, query),
  listServiceAudit: (ctx, { query }) => listServiceAudit(ctx, query),
  getServiceStatus: (ctx) => readServiceStatus(ctx),
}
