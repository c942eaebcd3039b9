/** Operations for administrators of the service. Responses with tokens are never cached. */
import {
  createAccount,
  deleteManagedAccount,
  getAccount,
  listAllOrgs,
  listManagedAccounts,
  listPlaces,
  resetManagedAccount,
  updateAccount,
} from '../domain/accounts/administration.ts'
import { updateOrgLimits } from '../domain/operator/quotas.ts'
import { getServiceStatus } from '../domain/operator/status.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { createdAt, withSecret } from '../http/responses/responses.ts'

export const adminRoutes = {
  listAccounts: listManagedAccounts,
  createAccount: withSecret(createdAt('/admin/accounts/{account.id}', createAccount)),
  getAccount,
  updateAccount,
  deleteAccount: deleteManagedAccount,
  resetAccount: withSecret(resetManagedAccount),
  listAllOrgs,
  updateOrgLimits,
  listPlaces,
  getServiceStatus,
} satisfies Partial<Handlers>
