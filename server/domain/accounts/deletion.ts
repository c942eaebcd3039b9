/** The deletion of an account: its memberships first, then the account with all that opens it. */

import { deleteAccount, insertDeletedAccount, listDeletedSince } from '../../../index/credentials/accounts.ts'
import { listOrgsWithOthers } from '../../../index/derived/org-queries.ts'
import type { Role } from '../../../index/derived/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError } from '../../base/errors.ts'
import { type Operator, operator, type Person } from '../actor.ts'
import type { OrgRecord } from '../format/org-format.ts'
import type { Author } from '../format/signatures.ts'
import { isAloneIn, leaveOrg } from '../orgs/members.ts'
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
 * @throws AppError invalid_credentials, rate_limited; as removeAccount
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
 * @throws AppError last_owner, with the `orgs` that others would be left in without an owner: nothing has changed, unless another
 * owner left, or somebody joined, during the deletion; `left` and `trashed` then say what has
 */
export async function removeAccount(deps: Deps, by: Person | Operator, id: string): Promise<Deletion> {
  const orgs = await listOrgsWithOthers(deps.index.read, id)
  // Their cells end these memberships within a minute of the deletion.
  const elsewhere = await deps.placement.listOrgsElsewhere(id)
  const all = [...orgs, ...elsewhere]
  const ownerless = all.filter(
    ({ role, others, other_owners }) => role === 'owner' && others !== 0 && other_owners === 0,
  )
  if (ownerless.length > 0) throw lastOwner(ownerless.map(nameOf))
  const ended: Ended = { left: [], trashed: [] }
  // Where a change meanwhile may still refuse the deletion comes first, and the trash last.
  for (const org of orgs.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    const end = await endMembership(deps, by, org, { accountId: id }).catch((error: unknown) => {
      throw isLastOwner(error) ? lastOwner([nameOf(org)], ended) : error
    })
    if (end !== 'gone') ended[end].push(nameOf(org))
  }
  await deps.credentials.write(async (trx) => {
    await insertDeletedAccount(trx, id, deps.now().toISOString())
    await deleteAccount(trx, id)
  })
  // What other requests of the person have committed meanwhile.
  await takeOut(deps, id)
  deps.log.info({ account: id, by: idOf(by) }, 'an account was deleted')
  return {
    message: whatRemains,
    left: [...ended.left, ...elsewhere.filter(({ others }) => others !== 0).map(nameOf)],
    trashed: [...ended.trashed, ...elsewhere.filter(({ others }) => others === 0).map(nameOf)],
  }
}

/** Organisations by what has become of the membership. */
interface Ended {
  readonly left: OrgName[]
  readonly trashed: OrgName[]
}

function rankOf({ role, others }: { readonly role: Role; readonly others: number | null }): number {
  if (others === 0) return 2
  return role === 'owner' ? 0 : 1
}

/**
 * Leaves the organisation, or takes it into the trash if nobody else is in it. The index says which is tried first; what is done
 * is decided under the lock of org.git.
 *
 * @throws AppError last_owner
 */
async function endMembership(
  deps: Deps,
  by: Author,
  { id: orgId, others }: { readonly id: string; readonly others: number | null },
  who: { readonly accountId: string; readonly lastOwnerToo?: boolean },
): Promise<keyof Ended | 'gone'> {
  const at = { orgId }
  const isAlone = (record: OrgRecord | undefined) => (record ? isAloneIn(record, who.accountId) : others === 0)
  try {
    for (let trash = others === 0; ; trash = !trash) {
      if (trash && (await moveOrgToTrash(deps, at, isAlone))) return 'trashed'
      if (!trash && (await leaveOrg(deps, by, at, who))) return 'left'
    }
  } catch (error) {
    // Another owner has deleted it meanwhile.
    if (error instanceof AppError && error.code === 'org_not_found') return 'gone'
    throw error
  }
}

/** Milliseconds for which an account that is gone is looked for in organisations: no request takes so long. */
const lookedForMs = 24 * 3600 * 1000

/** Ends memberships that requests have committed beside, or after, the deletion of their account. */
export async function removeDeletedMembers(deps: Deps): Promise<void> {
  const since = new Date(deps.now().getTime() - lookedForMs).toISOString()
  const missed = await deps.placement.listDeletedMembers()
  for (const id of new Set([...(await listDeletedSince(deps.credentials.read, since)), ...missed])) {
    if (deps.draining.aborted) return
    await takeOut(deps, id)
  }
}

async function takeOut(deps: Deps, id: string): Promise<void> {
  for (const org of await listOrgsWithOthers(deps.index.read, id)) {
    await endMembership(deps, operator, org, { accountId: id, lastOwnerToo: true })
    deps.log.warn({ account: id, orgId: org.id }, 'a membership of a deleted account was ended')
  }
}

/** For the log. */
export function idOf(actor: Person | Operator): string {
  return actor.kind === 'person' ? actor.id : actor.kind
}

/** @param ended what had changed before the refusal; absent: nothing */
function lastOwner(orgs: readonly OrgName[], ended?: Ended): AppError {
  const advice = `Others would be left without an owner in ${namesOf(orgs)}; give the role to one of them first`
  const changed = ended === undefined ? [] : [...ended.left, ...ended.trashed]
  if (changed.length === 0) return new AppError('last_owner', advice, { orgs })
  return new AppError('last_owner', `${advice}. These memberships have ended already: ${namesOf(changed)}`, {
    orgs,
    ...ended,
  })
}

function namesOf(orgs: readonly OrgName[]): string {
  return orgs.map(({ name }) => name).join(', ')
}

function isLastOwner(error: unknown): boolean {
  return error instanceof AppError && error.code === 'last_owner'
}

function nameOf({ id, name }: OrgName): OrgName {
  return { id, name }
}
