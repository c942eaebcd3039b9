/** Organisations: tenants, each with its own repository. */
import { mkdir, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as newId } from 'uuid'
import { makeFolder } from '../../../gitstore/durable.ts'
import { isDamage, isGitError } from '../../../gitstore/errors.ts'
import { listNames } from '../../../gitstore/fs-exists.ts'
import { createRepo } from '../../../gitstore/new-repos.ts'
import { updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { moveRepo } from '../../../gitstore/repo-folders.ts'
import { unfinishedName } from '../../../gitstore/temporary-names.ts'
import type { Role } from '../../../index/derived/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { invalid } from '../../base/errors.ts'
import { authorizeOrg, findOrg, recheckAccess } from '../access.ts'
import type { Actor, Person } from '../actor.ts'
import { commitOrg, type OrgRecord, readRecord } from '../format/org-format.ts'
import { readResult, tryUpdateCard } from '../indexing/index-node.ts'
import { withNodeIntent } from '../indexing/recovered.ts'
import { main, orgFolder, orgRepo, orgRepository, trashedOrgFolder, trashFolder } from '../layout.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { OrgColumns } from '../placement.ts'
import type { OrgAt } from '../targets.ts'
import { changeOrg, indexChangedOrg, orgIsGone, requireOwner } from './org-changes.ts'

export interface Org {
  readonly id: string
  readonly name: string
  readonly description: string
  /** The vault that an import fills it from; for members. */
  readonly vault_id?: string
  readonly published: boolean
  readonly require_pull_requests: boolean
  readonly created_at: string
  readonly updated_at: string
  /** The caller's; absent for the public. */
  readonly role?: Role
}

export interface OrgInput {
  readonly name: string
  /** The vault that an import fills it from. */
  readonly vault_id?: string
  readonly description?: string
  readonly published?: boolean
  readonly require_pull_requests?: boolean
}

/**
 * The folder's rename is the commit point. A crash before it leaves nothing but a claim; after it, indexing catches up.
 *
 * @param given the id of a personal organisation, which a cell that takes no new ones makes too
 * @throws GitError repo_exists if a given id is already used, in any cell; AppError moving, outcome_unknown
 */
export async function createOrg(deps: Deps, actor: Person, input: OrgInput, given?: string): Promise<Org> {
  const id = given ?? newId()
  if (given === undefined) await deps.placement.requireOpen()
  await deps.placement.claim(id)
  const now = deps.now()
  const created_at = now.toISOString()
  const making = join(deps.store.root, unfinishedName())
  const record = {
    org: {
      id,
      name: input.name,
      ...(input.description && { description: input.description }),
      ...(input.vault_id && { vault_id: input.vault_id }),
      published: input.published ?? false,
      require_pull_requests: input.require_pull_requests ?? false,
      created_at,
    },
    members: new Map([[actor.id, { email: actor.email, name: actor.name, role: 'owner' as const, created_at }]]),
  }
  await mkdir(making)
  await createRepo(
    join(making, orgRepository),
    async (draft) => new Map([[main, await commitOrg(draft, null, record, actor, now, 'create')]]),
  )
  await withNodeIntent(deps, id, [], async () => {
    await moveRepo(making, orgFolder(deps.store, id)).catch(async (error: unknown) => {
      await rm(making, { recursive: true, force: true })
      throw error
    })
    await indexChangedOrg(deps, id, () => deps.placement.declare(id, 'here'))
  })
  return readResult(deps, () => readOrg(deps, actor, { orgId: id }))
}

/** Creates the personal organisation if a crash interrupted the sign-up. A deleted one, or one of another cell, is not created again. */
export async function ensurePersonalOrg(deps: Deps, actor: Person, orgId: string): Promise<void> {
  // It was made where the directory of cells did not answer.
  if (await findOrg(deps, orgId)) return tryUpdateCard(deps, orgId)
  const trash = await listNames(trashFolder(deps.store))
  if (trash.some((name) => name.startsWith(`${orgId}.`))) return
  await createOrg(deps, actor, { name: actor.name }, orgId).catch((error: unknown) => {
    // Another process created it first.
    if (!isGitError(error, 'repo_exists')) throw error
  })
}

/** The caller's organisations, in all cells, the oldest first. */
export async function listOrgs(deps: Deps, actor: Person, page: Page) {
  const { rows, total } = await deps.placement.listOrgsOf(deps.index.read, actor.id, page)
  return { orgs: rows.map((row) => toOrg(row, row.role)), ...pageOf(page, total) }
}

export async function readOrg(deps: Deps, actor: Actor, at: OrgAt): Promise<Org> {
  const { org, role } = await authorizeOrg(deps, actor, at, 'public')
  return toOrg(org, role)
}

/** @throws AppError org_not_found, forbidden; ValidationError: a vault where there is another one */
export async function updateOrg(deps: Deps, actor: Person, at: OrgAt, input: Partial<OrgInput>): Promise<Org> {
  await authorizeOrg(deps, actor, at, 'owner')
  await changeOrg(deps, actor, at, 'edit', (record) => {
    requireOwner(record, actor)
    const { description, ...others } = input
    const { vault_id } = record.org
    if (vault_id !== undefined && (input.vault_id ?? vault_id) !== vault_id)
      throw invalid(['body', 'vault_id'], 'the organisation is of another vault', input.vault_id)
    const org = withDescription({ ...record.org, ...others }, description)
    return JSON.stringify(org) === JSON.stringify(record.org) ? record : { ...record, org }
  })
  return readOrg(deps, actor, at)
}

/** Says which vault an import fills the organisation from, where nothing says so yet. @throws AppError as changeOrg, forbidden */
export async function adoptVault(deps: Deps, actor: Person, at: OrgAt, vaultId: string): Promise<void> {
  await authorizeOrg(deps, actor, at, 'editor')
  await changeOrg(deps, actor, at, 'import', async (record) => {
    await recheckAccess(deps, actor, at.orgId, 'editor')
    if (record.org.vault_id !== undefined) return record
    return { ...record, org: { ...record.org, vault_id: vaultId } }
  })
}

/** @throws AppError org_not_found, forbidden */
export async function deleteOrg(deps: Deps, actor: Person, at: OrgAt): Promise<void> {
  await authorizeOrg(deps, actor, at, 'owner')
  await moveOrgToTrash(deps, at, (record) => {
    if (record) requireOwner(record, actor)
    return true
  })
}

/**
 * Renames the organisation's folder into the trash if `decide` says so under the lock of org.git: somebody may have joined just
 * now. Running commits find it gone.
 *
 * @param decide gets the record; undefined: org.git is damaged
 * @returns whether the organisation is in the trash
 * @throws AppError what `decide` throws, org_not_found, outcome_unknown
 */
export async function moveOrgToTrash(
  deps: Deps,
  { orgId }: OrgAt,
  decide: (record: OrgRecord | undefined) => boolean,
): Promise<boolean> {
  const name = { repo: orgRepo(deps.store, orgId), ref: main }
  const trashed = trashedOrgFolder(deps.store, orgId, deps.now())
  await makeFolder(trashFolder(deps.store))
  return withNodeIntent(deps, orgId, [], async () => {
    const isMoved = await updateRefs(deps.store, [name], async (current) => {
      if (!decide(await readUnlessDamaged(name.repo, () => current(name)))) return { moves: [], value: false }
      await moveRepo(orgFolder(deps.store, orgId), trashed)
      await unlink(join(trashed, orgRepository, `${main}.lock`))
      return { moves: [], value: true }
    }).catch(orgIsGone)
    if (isMoved) await indexChangedOrg(deps, orgId, () => deps.placement.declare(orgId, 'gone'))
    return isMoved
  })
}

async function readUnlessDamaged(repo: Repo, readHead: () => Oid | null): Promise<OrgRecord | undefined> {
  try {
    const head = readHead()
    return head === null ? undefined : await readRecord(repo, head)
  } catch (error) {
    if (isDamage(error)) return undefined
    throw error
  }
}

/** The same where none is given. */
function withDescription(org: OrgRecord['org'], description: string | undefined): OrgRecord['org'] {
  if (description === undefined) return org
  if (description !== '') return { ...org, description }
  const { description: _, ...rest } = org
  return rest
}

function toOrg(row: OrgColumns, role: Role | null): Org {
  const { id, name, description, vault_id, published, require_pull_requests, created_at, updated_at } = row
  return {
    id,
    name,
    description: description ?? '',
    published: published === 1,
    require_pull_requests: require_pull_requests === 1,
    created_at,
    updated_at,
    ...(role && vault_id !== null ? { vault_id } : {}),
    ...(role ? { role } : {}),
  }
}
