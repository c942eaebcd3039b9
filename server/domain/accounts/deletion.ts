/** Deletes accounts: first the memberships, then the account with its sessions and tokens. */

import {
  deleteAccount,
  findAccountById,
  insertDeletedAccount,
  listDeletedSince,
} from '../../../index/credentials/accounts.ts'
import type { CredentialsDb } from '../../../index/credentials/schema.ts'
import { listOrgsWithOthers } from '../../../index/derived/org-queries.ts'
import type { Role } from '../../../index/derived/schema.ts'
import { AppError } from '../../base/errors.ts'
import { type Operator, operator, type Person } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import { forgetName } from '../audit/forget-name.ts'
import type { OrgRecord } from '../format/org-format.ts'
import type { Author } from '../format/signatures.ts'
import { isAloneIn, leaveOrg } from '../orgs/members.ts'
import { moveOrgToTrash } from '../orgs/orgs.ts'
import type { Ctx, RequestCtx, Services } from '../services.ts'
import type { Body } from '../targets.ts'
import { listOrgsOf } from './orgs-of.ts'
import { type PasswordProof, provePassword, requireStillProved } from './password-proof.ts'

interface OrgName {
  readonly id: string
  readonly name: string
}

export interface Deletion {
  readonly message: string
  /** Organisations that continue without the user. */
  readonly left: readonly OrgName[]
  /** Organisations that had no other member. */
  readonly trashed: readonly OrgName[]
}

const whatRemains =
  'The account was deleted. Git history keeps the name and e-mail address in commits, pull requests and earlier versions of member files'

/**
 * Deletes the caller's own account, proved by its password or a confirmed session.
 *
 * @throws AppError invalid_credentials, confirmation_required, rate_limited; errors of `removeAccount`
 */
export async function deleteMe(ctx: RequestCtx<Person>, { body }: Body<PasswordProof>): Promise<Deletion> {
  const account = await provePassword(ctx, body)
  await ctx.credentials.write((trx) => requireStillProved(trx, ctx.actor, account))
  return removeAccount(ctx, ctx.actor.id)
}

/**
 * Deletes an account. It leaves every organisation, by one commit each. Organisations without another member go to the
 * trash. After a crash, a repetition finishes the deletion. The id is recorded in the credentials, so that a restored
 * mirror or backup does not create the account again.
 *
 * @param check runs before each step, and in the transaction that deletes the account
 *
 * @throws AppError last_owner, with the `orgs` whose other members would have no owner. Nothing has changed, unless an
 *   owner left or somebody joined during the deletion. Then `left` and `trashed` list the changes. Errors of `check`
 */
export async function removeAccount(
  ctx: Ctx<Person | Operator>,
  id: string,
  check?: (trx: CredentialsDb) => Promise<void>,
): Promise<Deletion> {
  const { open, closed, elsewhere } = await listOrgsOf(ctx, id)
  // A closed organisation can go to the trash, but its file of members cannot change.
  const orgs = [...open, ...closed.filter(({ others }) => others === 0)]
  // These memberships end when the organisation opens, or by its cell within a minute of the deletion.
  const later = [...closed.filter(({ others }) => others !== 0), ...elsewhere]
  const ownerless = [...orgs, ...later].filter(
    ({ role, others, other_owners }) => role === 'owner' && others !== 0 && other_owners === 0,
  )
  if (ownerless.length > 0) throw lastOwner(ownerless.map(nameOf))
  const ended: Ended = { left: [], trashed: [] }
  const name = (await findAccountById(ctx.credentials.read, id))?.name
  // Organisations that a concurrent change may make refuse the deletion come first, the trash last.
  for (const org of orgs.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    if (check !== undefined) await ctx.credentials.write(check)
    const end = await endMembership(ctx, ctx.actor, org, { accountId: id }).catch((error: unknown) => {
      throw isLastOwner(error) ? lastOwner([nameOf(org)], ended) : error
    })
    if (end !== 'gone') ended[end].push(nameOf(org))
  }
  await ctx.credentials.write(async (trx) => {
    await check?.(trx)
    await insertDeletedAccount(trx, id, ctx.now().toISOString())
    await deleteAccount(trx, id)
  })
  await audit(ctx, { action: 'account.deleted', actor: ctx.actor, accountId: id, target: { type: 'account', id } })
  await forgetName(ctx, { id, name: name ?? '' })
  // Other requests of the user may have committed memberships since.
  await takeOut(ctx, id)
  ctx.log.info({ account: id, by: idOf(ctx.actor) }, 'an account was deleted')
  return {
    message: whatRemains,
    left: [...ended.left, ...later.filter(({ others }) => others !== 0).map(nameOf)],
    trashed: [...ended.trashed, ...later.filter(({ others }) => others === 0).map(nameOf)],
  }
}

/** Organisations, by the end of the membership. */
interface Ended {
  readonly left: OrgName[]
  readonly trashed: OrgName[]
}

function rankOf({ role, others }: { readonly role: Role; readonly others: number | null }): number {
  if (others === 0) return 2
  return role === 'owner' ? 0 : 1
}

/**
 * Leaves the organisation, or moves it to the trash if it has no other member. The index says which to try first. The
 * decision is made under the lock of org.git.
 *
 * @throws AppError last_owner
 */
async function endMembership(
  deps: Services,
  by: Author,
  { id: orgId, others }: { readonly id: string; readonly others: number | null },
  who: { readonly accountId: string; readonly lastOwnerToo?: boolean },
): Promise<keyof Ended | 'gone'> {
  const at = { org_id: orgId }
  const isAlone = (record: OrgRecord | undefined) => (record ? isAloneIn(record, who.accountId) : others === 0)
  try {
    for (let trash = others === 0; ; trash = !trash) {
      if (trash && (await moveOrgToTrash(deps, at, by, isAlone))) return 'trashed'
      if (!trash && (await leaveOrg(deps, by, at, who))) return 'left'
    }
  } catch (error) {
    // Another owner has deleted it since.
    if (error instanceof AppError && error.code === 'org_not_found') return 'gone'
    throw error
  }
}

/** Milliseconds for which organisations are searched for a deleted account. No request takes that long. */
const lookedForMs = 24 * 3600 * 1000

/** Ends memberships that requests have committed during or after the deletion of their account. */
export async function removeDeletedMembers(deps: Services): Promise<void> {
  const since = new Date(deps.now().getTime() - lookedForMs).toISOString()
  const missed = await deps.placement.listDeletedMembers()
  for (const id of new Set([...(await listDeletedSince(deps.credentials.read, since)), ...missed])) {
    if (deps.draining.aborted) return
    await takeOut(deps, id)
  }
}

async function takeOut(deps: Services, id: string): Promise<void> {
  for (const org of await listOrgsWithOthers(deps.index.read, id)) {
    await endMembership(deps, operator, org, { accountId: id, lastOwnerToo: true })
    deps.log.warn({ account: id, orgId: org.id }, 'a membership of a deleted account was ended')
  }
}

/** Returns the actor's id for the log. */
export function idOf(actor: Person | Operator): string {
  return actor.kind === 'person' ? actor.id : actor.kind
}

/** @param ended the memberships that ended before the refusal */
function lastOwner(orgs: readonly OrgName[], ended?: Ended): AppError {
  const advice = `${namesOf(orgs)} would have no owner; make another member an owner first`
  const changed = ended === undefined ? [] : [...ended.left, ...ended.trashed]
  if (changed.length === 0) return new AppError('last_owner', advice, { orgs })
  return new AppError('last_owner', `${advice}. These memberships have already ended: ${namesOf(changed)}`, {
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
