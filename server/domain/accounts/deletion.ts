/** The deletion of an account: its memberships first, then the account with all that opens it. */

import { deleteAccount, insertDeletedAccount, listDeletedSince } from '../../../index/credentials/accounts.ts'
import { listDeletedMembers, listOrgsElsewhere } from '../../../index/credentials/org-cards.ts'
import { listOrgsWithOthers } from '../../../index/derived/org-queries.ts'
import type { Deps } from '../../deps.ts'
import { Refusal } from '../../errors.ts'
import { type Operator, operator, type Person } from '../actor.ts'
import { leaveOrg } from '../orgs/members.ts'
import { moveOrgToTrash } from '../orgs/orgs.ts'
import { type PasswordProof, provePassword, requireStillProved } from './password-proof.ts'

interface OrgName {
  readonly id: string
  readonly name: string
}

export interface Deletion {
  readonly message: string
  /** Organisations that go on without the person. */
  readonly left: readonly OrgName[]
  /** Organisations whose only member the person was. */
  readonly trashed: readonly OrgName[]
}

const whatRemains =
  'The account is deleted. Git history keeps what it has: the name and e-mail in commits, pull requests and earlier versions of member files'

/**
 * Deletes the caller's own account, proved by its password.
 *
 * @throws Refusal invalid_credentials, rate_limited; as removeAccount
 */
export async function deleteMe(deps: Deps, actor: Person, { password, from }: PasswordProof): Promise<Deletion> {
  const account = await provePassword(deps, actor, { password, from })
  await deps.credentials.write((trx) => requireStillProved(trx, actor, account))
  return removeAccount(deps, actor, actor.id)
}

/**
 * Leaves every organisation, by one commit each; those where the person is alone go to the trash. A repetition finishes what
 * a crash has left. No mirror or backup makes an account of this id again where this data folder's credentials are kept.
 *
 * @throws Refusal last_owner, with the `orgs` that others would be left in without an owner; nothing has changed
 */
export async function removeAccount(deps: Deps, by: Person | Operator, id: string): Promise<Deletion> {
  const orgs = await listOrgsWithOthers(deps.index.read, id)
  // Their cells end these memberships within a minute of the deletion.
  const elsewhere = deps.cell === undefined ? [] : await listOrgsElsewhere(deps.credentials.read, deps.cell.name, id)
  const all = [...orgs, ...elsewhere]
  const ownerless = all.filter(
    ({ role, others, other_owners }) => role === 'owner' && others !== 0 && other_owners === 0,
  )
  if (ownerless.length > 0) throw lastOwner(ownerless.map(nameOf))
  const trashed = orgs.filter(({ others }) => others === 0)
  const left = orgs.filter(({ others }) => others !== 0)
  for (const org of left) await leaveOrg(deps, by, { orgId: org.id }, { accountId: id }).catch(unlessGone)
  for (const org of trashed) await moveOrgToTrash(deps, { orgId: org.id }).catch(unlessGone)
  await deps.credentials.write(async (trx) => {
    await insertDeletedAccount(trx, id, deps.now().toISOString())
    await deleteAccount(trx, id)
  })
  // What other requests of the person have committed meanwhile.
  await takeOut(deps, id)
  deps.log.info({ account: id, by: idOf(by) }, 'an account was deleted')
  return {
    message: whatRemains,
    left: all.filter(({ others }) => others !== 0).map(nameOf),
    trashed: all.filter(({ others }) => others === 0).map(nameOf),
  }
}

/** Milliseconds for which an account that is gone is looked for in organisations: no request takes so long. */
const lookedForMs = 24 * 3600 * 1000

/** Ends memberships that requests have committed beside, or after, the deletion of their account. */
export async function takeOutDeleted(deps: Deps): Promise<void> {
  const { cell, credentials } = deps
  const since = new Date(deps.now().getTime() - lookedForMs).toISOString()
  const missed = cell === undefined ? [] : await listDeletedMembers(credentials.read, cell.name)
  for (const id of new Set([...(await listDeletedSince(credentials.read, since)), ...missed])) {
    if (deps.draining.aborted) return
    await takeOut(deps, id)
  }
}

async function takeOut(deps: Deps, id: string): Promise<void> {
  for (const { id: orgId, others } of await listOrgsWithOthers(deps.index.read, id)) {
    const at = { orgId }
    const end =
      others === 0 ? moveOrgToTrash(deps, at) : leaveOrg(deps, operator, at, { accountId: id, lastOwnerToo: true })
    await end.catch(unlessGone)
    deps.log.warn({ account: id, orgId }, 'a membership of a deleted account was ended')
  }
}

/** For the log. */
export function idOf(actor: Person | Operator): string {
  return actor.kind === 'person' ? actor.id : actor.kind
}

function lastOwner(orgs: readonly OrgName[]): Refusal {
  const names = orgs.map(({ name }) => name).join(', ')
  return new Refusal(
    'last_owner',
    `Others would be left without an owner in ${names}; give the role to one of them first`,
    {
      orgs,
    },
  )
}

function nameOf({ id, name }: OrgName): OrgName {
  return { id, name }
}

/** Ignores that another owner has deleted the organisation meanwhile. */
function unlessGone(error: unknown): void {
  if (!(error instanceof Refusal) || error.code !== 'org_not_found') throw error
}
