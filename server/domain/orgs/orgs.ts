/** Organisations are tenants, each with its own repository. */
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
import { listDrafts } from '../../../index/derived/change-sets.ts'
import { readTitles } from '../../../index/derived/node-queries.ts'
import type { Role } from '../../../index/derived/schema.ts'
import type { Sees } from '../../../index/derived/sees.ts'
import { invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import {
  authorizeOrg,
  branchPrefixOf,
  includesRole,
  type OrgAccess,
  orgIsGone,
  type Rights,
  recheckAccess,
  requireVerifiedEmail,
} from '../access.ts'
import type { Person } from '../actor.ts'
import { readOrgTypes } from '../branches/type-rules.ts'
import { requireRoomInOrg } from '../byte-quota.ts'
import { rulesForMain } from '../consent/branch-rules.ts'
import { type Mover, noteIntents } from '../event-log/note-intents.ts'
import { commitOrg, embeddingsChoice, fitsOrgFile, type OrgRecord, readRecord } from '../format/org-format.ts'
import { readRules } from '../format/org-rules.ts'
import type { Rule } from '../format/rule-format.ts'
import { findAnyOrg } from '../indexing/freshness.ts'
import { readResult, tryUpdateCard } from '../indexing/index-node.ts'
import { withNodeIntent } from '../indexing/recovered.ts'
import { main, orgFolder, orgRepo, orgRepository, trashedOrgFolder, trashFolder } from '../layout.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { OrgColumns } from '../placement.ts'
import { type OrgUsage, readOrgUsage, withRoomForOrg } from '../quotas.ts'
import { type Ctx, isPersons, type Services } from '../services.ts'
import type { Body, OrgAt, Path, Query } from '../targets.ts'
import { eraseRefused } from './embeddings.ts'
import { changeOrg, indexChangedOrg, requireOwner } from './org-changes.ts'
import { admitRules, completeRules, findNodesIn, type RuleInput } from './rules.ts'

export interface Org {
  readonly id: string
  readonly name: string
  readonly description: string
  /** The vault that is imported into it. Only shown to members. */
  readonly vault_id?: string
  readonly published: boolean
  readonly require_pull_requests: boolean
  /** Absent for callers who are not members, and in lists. */
  readonly rules?: readonly Rule[]
  /** The nodes for whose `main` a rule holds. Absent as `rules`. */
  readonly rules_for_main?: 'none' | 'some' | 'all'
  /** The new nodes that need a proposal. Absent as `rules`. */
  readonly rules_for_new_nodes?: 'none' | 'some' | 'all'
  /** `refuse`: a node may not get a type that nobody defined. Absent as `rules`. */
  readonly unknown_types?: 'allow' | 'refuse'
  /** True if the owners allow search by meaning. Absent as `rules`, and if they have not chosen. */
  readonly embeddings?: boolean
  /** The node that the owners chose as home page. Absent in lists, and without a choice. */
  readonly home_node_id?: string
  /** Absent as `rules`. */
  readonly usage?: OrgUsage
  /** The caller's open drafts of change sets, newest first. Absent in lists, and without one. */
  readonly draft_change_sets?: Awaited<ReturnType<typeof listDrafts>>
  readonly created_at: string
  readonly updated_at: string
  /** The caller's role. Absent for anonymous callers. */
  readonly role?: Role
  /** The beginning of the only branches that the caller may change. Absent if there is no such limit. */
  readonly branch_prefix?: string
}

export interface OrgInput {
  readonly name: string
  /** The vault that is imported into it. */
  readonly vault_id?: string
  readonly description?: string
  readonly published?: boolean
  readonly require_pull_requests?: boolean
  /** They replace all rules. */
  readonly rules?: readonly RuleInput[]
}

export interface OrgChange extends Partial<OrgInput> {
  readonly unknown_types?: 'allow' | 'refuse'
  /** Null takes the choice back. */
  readonly embeddings?: boolean | null
  /** Null takes the choice back. */
  readonly home_node_id?: string | null
}

/**
 * Creates an organisation. The folder's rename is the commit point. A crash before it leaves only a claim. After a
 * later crash, indexing catches up.
 *
 * @param given the id of a personal organisation, which even a cell closed to new organisations creates
 * @throws GitError repo_exists if a given id is already used in any cell
 * @throws AppError email_unverified, moving, outcome_unknown, quota_exceeded; ValidationError a rule is invalid
 */
export async function createOrg(ctx: Ctx<Person>, { body }: Body<OrgInput>, given?: string): Promise<Org> {
  if (given !== undefined) return writeOrg(ctx, body, given)
  await requireVerifiedEmail(ctx)
  await ctx.placement.requireOpen()
  return withRoomForOrg(ctx, ctx.actor.id, () => writeOrg(ctx, body, newId()))
}

async function writeOrg(ctx: Ctx<Person>, input: OrgInput, id: string): Promise<Org> {
  const completed = completeRules(input.rules ?? [])
  const now = ctx.now()
  const created_at = now.toISOString()
  const making = join(ctx.store.root, unfinishedName())
  const members = new Map([
    [ctx.actor.id, { email: ctx.actor.email, name: ctx.actor.name, role: 'owner' as const, created_at }],
  ])
  const rules = admitRules({ org: {}, members }, completed, new Set())
  const record = {
    org: requireFit({
      id,
      name: input.name,
      ...(input.description && { description: input.description }),
      ...(input.vault_id && { vault_id: input.vault_id }),
      published: input.published ?? false,
      require_pull_requests: input.require_pull_requests ?? false,
      ...(rules.length > 0 && { rules }),
      created_at,
    }),
    members,
  }
  await ctx.placement.claim(id)
  await mkdir(making)
  await createRepo(join(making, orgRepository), async (draft) => {
    const head = await commitOrg(draft, null, record, ctx.actor, now, 'create')
    await noteIntents(ctx, ctx.actor, [{ repo: orgRepo(ctx.store, id), ref: main, to: head }])
    return new Map([[main, head]])
  })
  await withNodeIntent(ctx, id, [], async () => {
    await moveRepo(making, orgFolder(ctx.store, id)).catch(async (error: unknown) => {
      await rm(making, { recursive: true, force: true })
      throw error
    })
    await indexChangedOrg(ctx, id, () => ctx.placement.declare(id, 'here'))
  })
  return readResult(ctx, () => getOrg(ctx, { path: { org_id: id } }))
}

/**
 * Creates the personal organisation if a crash interrupted the sign-up.
 *
 * One that was deleted, or that another cell has, is not created again.
 */
export async function ensurePersonalOrg(ctx: Ctx<Person>, orgId: string): Promise<void> {
  // It may have been created while the directory of cells did not answer.
  if (await findAnyOrg(ctx, orgId)) return tryUpdateCard(ctx, orgId)
  const trash = await listNames(trashFolder(ctx.store))
  if (trash.some((name) => name.startsWith(`${orgId}.`))) return
  await createOrg(ctx, { body: { name: ctx.actor.name } }, orgId).catch((error: unknown) => {
    // Another process created it first.
    if (!isGitError(error, 'repo_exists')) throw error
  })
}

/** Lists the caller's organisations in all cells, oldest first. */
export async function listOrgs(ctx: Ctx<Person>, { query }: Query<Page>) {
  const { rows, total } = await ctx.placement.listOrgsOf(ctx.index.read, ctx.actor.id, query)
  return { orgs: rows.map((row) => toOrg(row, { role: row.role, person: ctx.actor })), ...pageOf(query, total) }
}

export async function getOrg(ctx: Ctx, { path }: Path<OrgAt>): Promise<Org> {
  const access = await authorizeOrg(ctx, path, 'public')
  const { home_node_id } = access.org
  const org = { ...toOrg(access.org, access), ...(home_node_id !== null && { home_node_id }) }
  if (access.role === null) return org
  const embeddings = embeddingsChoice(access.org)
  const drafts = await draftsOf(ctx, access)
  return {
    ...org,
    rules: await readRules(ctx, access.org),
    rules_for_main: await rulesForMain(ctx, access.org),
    rules_for_new_nodes: await rulesForMain(ctx, access.org, 'new'),
    unknown_types: (await readOrgTypes(ctx, path.org_id)).refusesUnknown ? 'refuse' : 'allow',
    ...(embeddings !== null && { embeddings }),
    usage: await readOrgUsage(ctx, path.org_id),
    ...(drafts.length > 0 && { draft_change_sets: drafts }),
  }
}

/** Reads only rows, because the caller has just made the drafts through the service. */
async function draftsOf(ctx: Ctx, { org, role }: OrgAccess) {
  const isProposing = isPersons(ctx) && role !== null && includesRole(role, 'contributor')
  return isProposing ? listDrafts(ctx.index.read, org.id, ctx.actor.id, limits.draftsShown) : []
}

/** @throws AppError org_not_found, forbidden; ValidationError if a rule is invalid or the organisation has another vault */
export async function updateOrg(ctx: Ctx<Person>, { path, body }: Path<OrgAt> & Body<OrgChange>): Promise<Org> {
  const { org: before, sees } = await authorizeOrg(ctx, path, 'owner')
  if (body.published && !before.published) await requireVerifiedEmail(ctx)
  // Taking back what is public is always allowed.
  if (JSON.stringify(body) !== '{"published":false}') await requireRoomInOrg(ctx, path.org_id, JSON.stringify(body))
  const completed = body.rules && completeRules(body.rules)
  const nodes = await findNodesIn(ctx, sees, completed ?? [])
  await requireHome(ctx, sees, body.home_node_id)
  await changeOrg(ctx, ctx.actor, path, 'edit', (record) => {
    requireOwner(record, ctx.actor)
    const { description, rules: _, unknown_types, embeddings, home_node_id, ...others } = body
    const { vault_id } = record.org
    if (vault_id !== undefined && (body.vault_id ?? vault_id) !== vault_id)
      throw invalid(['body', 'vault_id'], 'The organisation belongs to another vault', body.vault_id)
    const rules = completed && admitRules(record, completed, nodes)
    const org = requireFit(
      withFields(
        { ...record.org, ...others },
        {
          description: description === '' ? null : description,
          unknown_types: unknown_types && (unknown_types === 'refuse' ? unknown_types : null),
          embeddings,
          home_node_id,
          rules: rules?.length === 0 ? null : rules,
        },
      ),
    )
    return JSON.stringify(org) === JSON.stringify(record.org) ? record : { ...record, org }
  })
  // Also without a change: the request may repeat one that failed after its commit.
  if (body.embeddings !== undefined) await eraseRefused(ctx, path)
  return getOrg(ctx, { path: path })
}

/** Records the vault of an import, if the organisation has none. @throws errors of `changeOrg`; AppError forbidden */
export async function adoptVault(ctx: Ctx<Person>, at: OrgAt, vaultId: string): Promise<void> {
  await authorizeOrg(ctx, at, 'editor')
  await changeOrg(ctx, ctx.actor, at, 'import', async (record) => {
    await recheckAccess(ctx, at.org_id, 'editor')
    if (record.org.vault_id !== undefined) return record
    return { ...record, org: { ...record.org, vault_id: vaultId } }
  })
}

/** @throws AppError org_not_found, forbidden */
export async function deleteOrg(ctx: Ctx<Person>, { path }: Path<OrgAt>): Promise<void> {
  await authorizeOrg(ctx, path, 'owner')
  await moveOrgToTrash(ctx, path, ctx.actor, (record) => {
    if (record) requireOwner(record, ctx.actor)
    return true
  })
}

/**
 * Renames the organisation's folder into the trash, if `decide` agrees under the lock of org.git. Somebody may
 * have just joined. Running commits find the folder gone.
 *
 * @param decide gets the record, or undefined if org.git is damaged
 * @returns true if the organisation is in the trash
 * @throws AppError org_not_found, outcome_unknown; errors of `decide`
 */
export async function moveOrgToTrash(
  deps: Services,
  { org_id: orgId }: OrgAt,
  by: Mover,
  decide: (record: OrgRecord | undefined) => boolean,
): Promise<boolean> {
  const name = { repo: orgRepo(deps.store, orgId), ref: main }
  const trashed = trashedOrgFolder(deps.store, orgId, deps.now())
  await makeFolder(trashFolder(deps.store))
  return withNodeIntent(deps, orgId, [], async () => {
    const isMoved = await updateRefs(deps.store, [name], async (current) => {
      if (!decide(await readUnlessDamaged(name.repo, () => current(name)))) return { moves: [], value: false }
      await noteIntents(deps, by, [{ ...name, to: null }])
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

type OrgFields = OrgRecord['org']

/** Returns the organisation with these fields. Null removes one; undefined changes nothing. */
function withFields(org: OrgFields, fields: { readonly [K in keyof OrgFields]?: OrgFields[K] | null }): OrgFields {
  const changed = { ...org }
  for (const [name, value] of Object.entries(fields))
    if (value === null) Reflect.deleteProperty(changed, name)
    else if (value !== undefined) Object.assign(changed, { [name]: value })
  return changed
}

/** @throws ValidationError it is not a node of the organisation */
async function requireHome(ctx: Ctx, sees: Sees, id: OrgChange['home_node_id']): Promise<void> {
  if (id && !(await readTitles(ctx.index.read, sees, [id])).has(id))
    throw invalid(['body', 'home_node_id'], 'The organisation has no such node', id)
}

/** Returns the organisation. @throws ValidationError it is too large for its file, which only rules can cause */
function requireFit(org: OrgRecord['org']): OrgRecord['org'] {
  if (fitsOrgFile(org)) return org
  throw invalid(['body', 'rules'], 'The rules are too long: with the other settings, they have at most 64 KiB as JSON')
}

function toOrg(row: OrgColumns, rights: Rights): Org {
  const { role } = rights
  const branch_prefix = branchPrefixOf(rights)
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
    ...(branch_prefix !== undefined && { branch_prefix }),
  }
}
