/**
 * Access: the organisations and nodes that the caller may see, and their role in them. Reads rows of the index, which
 * indexing/freshness.ts has settled before.
 *
 * Each use case asks once and passes the result on.
 */

import { isGitError } from '../../gitstore/errors.ts'
import type { History } from '../../gitstore/history/history.ts'
import type { Repo } from '../../gitstore/repo.ts'
import { hasAccessToken } from '../../index/credentials/access-tokens.ts'
import { findActiveProfile, findProfileOfSession } from '../../index/credentials/accounts.ts'
import { hasGrant } from '../../index/credentials/oauth.ts'
import type { CredentialsDb } from '../../index/credentials/schema.ts'
import { isWithin } from '../../index/derived/edges.ts'
import { findNode, isProposed, type NodeRow } from '../../index/derived/node-queries.ts'
import { findOrgRow, findOrgWithRole, type OrgRow } from '../../index/derived/org-queries.ts'
import { findProposedNode } from '../../index/derived/proposed-nodes.ts'
import { type Role, roles } from '../../index/derived/schema.ts'
import { type Sees, wholeOrg } from '../../index/derived/sees.ts'
import { AppError } from '../base/errors.ts'
import { excerpt } from '../base/excerpt.ts'
import { type Actor, includesAccess, type Operator, type Person } from './actor.ts'
import { isClosed, readRecord, unknownInRow } from './format/org-format.ts'
import { matchesRule, readRules } from './format/org-rules.ts'
import { agentPrefix, isAgentRef, isOpener, isOwnRef, type Opened, ownPrefix } from './format/ownership.ts'
import { historyOf } from './history.ts'
import { isId, nodeRepo, orgRepo } from './layout.ts'
import type { Ctx, Services } from './services.ts'
import type { SeenOrg, SettledNode } from './settled.ts'
import type { NodeAt, OrgAt } from './targets.ts'

/** The role that a use case requires, or its change. `public`: none, if the organisation is published. */
export type Need = 'public' | Role | Change

/**
 * A change of something that may belong to the caller. Contributors may make it if it does, and editors always.
 *
 * `ref`: moves this branch or tag, by its full name. `opened`: changes this pull request. `set`: changes this change
 * set, which a token that proposes may do too.
 */
type Change = { readonly ref: string } | { readonly opened: Opened } | { readonly set: Opened }

/** A caller's rights in an organisation. */
export interface Rights {
  /** Null: the caller reads as anonymous callers do. */
  readonly role: Role | null
  /** Absent for anonymous callers. */
  readonly person?: Person
}

export interface OrgAccess extends Rights {
  readonly org: OrgRow
  /** Passed to each query that reads for the caller. */
  readonly sees: Sees
  /** Copied from the caller's token. */
  readonly onlyNode?: string
}

/** Access to a ledger: that of a node, or that of an organisation's change sets. */
export interface LedgerAccess extends OrgAccess {
  /** For change sets, it has the id of the organisation. */
  readonly node: Pick<NodeRow, 'id' | 'ledger' | 'proposed_in'>
  readonly repo: Repo
  readonly history: History
}

export interface NodeAccess extends LedgerAccess {
  /** True if the caller sees only tags of commits on `main`. A rule holds for `main`, and they are not a member. */
  readonly hidesTags: boolean
  readonly node: NodeRow
}

/**
 * Returns the organisation, if the caller may see it and has the required role.
 *
 * @throws AppError unauthenticated (anonymous caller; organisation unknown or not published), org_not_found, forbidden
 */
export async function authorizeOrg(ctx: Ctx, at: OrgAt, need: Need): Promise<OrgAccess> {
  const access = await visibleOrg(ctx, at.org_id)
  requireRole(access, need)
  return access
}

/**
 * Returns the node, its repository and the caller's access. The door has settled the node of an operation's path. Use
 * `authorizeFresh` for other nodes.
 *
 * @throws errors of `authorizeOrg`; AppError node_not_found, before forbidden
 */
export async function authorizeNode(ctx: Ctx, at: NodeAt, need: Need): Promise<NodeAccess> {
  const access = await visibleOrg(ctx, at.org_id)
  const seesProposed = ctx.settled?.seesProposed(at.node_id) === true
  const settled = ctx.settled?.takeNode(at.node_id) ?? { row: await findNodeRow(ctx, access, at.node_id, seesProposed) }
  return toNodeAccess(ctx, access, settled, need, seesProposed)
}

async function findNodeRow(
  { index: { read } }: Pick<Services, 'index'>,
  { org, sees }: OrgAccess,
  nodeId: string,
  seesProposed: boolean,
): Promise<NodeRow | undefined> {
  if (!isId(nodeId)) return undefined
  const row = await findNode(read, sees, nodeId)
  return row ?? (seesProposed ? findProposedNode(read, org.id, nodeId) : undefined)
}

/**
 * Returns the access to a node of an organisation that the caller sees.
 *
 * @param seesProposed true if members also get a node that is only proposed
 * @throws AppError node_not_found, forbidden
 */
export async function toNodeAccess(
  deps: Services,
  access: OrgAccess,
  settled: SettledNode,
  need: Need,
  seesProposed = false,
): Promise<NodeAccess> {
  const node = rowFor(settled, need)
  if (!node || (isProposed(node) && !(seesProposed && access.role !== null)))
    throw new AppError('node_not_found', 'Node not found')
  requireRole(access, need)
  const { org, role, person, onlyNode, sees } = access
  const repo = nodeRepo(deps.store, org.id, node.id)
  const seen = { org, role, sees, ...(person && { person }), ...(onlyNode === undefined ? {} : { onlyNode }) }
  const hidesTags = role === null && (await hasRuledMain(deps, org, node.id))
  return { ...seen, hidesTags, node, repo, history: historyOf(deps, node.id, repo) }
}

/** Reads use the last indexed row if storage failed while indexing. Changes throw. */
function rowFor({ row, failure }: SettledNode, need: Need): NodeRow | undefined {
  if (failure !== undefined && need !== 'public' && need !== 'reader') throw failure
  return row
}

async function hasRuledMain(deps: Services, org: OrgRow, nodeId: string): Promise<boolean> {
  if (org.require_pull_requests === 1) return true
  for (const rule of await readRules(deps, org))
    if (matchesRule(rule, 'main') && (await isWithin(deps.index.read, nodeId, rule.under))) return true
  return false
}

/**
 * Checks that the caller has confirmed the e-mail address, if the operator demands it. Bots have no mailbox.
 *
 * @throws AppError email_unverified
 */
export async function requireVerifiedEmail({ config, credentials, actor }: Ctx<Person | Operator>): Promise<void> {
  if (config.emailVerification !== 'required' || actor.kind !== 'person' || actor.isBot) return
  const profile = await findActiveProfile(credentials.read, actor.id)
  if (profile?.email_verified_at != null) return
  throw new AppError(
    'email_unverified',
    'Confirm your e-mail address first: follow the link in the mail, or let your profile page send it again',
  )
}

/**
 * Checks that the caller is still signed in. While a long body arrived, the session, the token or the connection may
 * have ended, or the account may have been disabled or deleted.
 *
 * @throws AppError invalid_token
 */
export async function requireSignedIn(
  db: CredentialsDb,
  { id, sessionId, tokenId, connection }: Person,
): Promise<void> {
  if (tokenId !== undefined && !(await hasAccessToken(db, tokenId))) throw invalidTokenError()
  if (connection !== undefined && !(await hasGrant(db, connection.id))) throw invalidTokenError()
  const profile = sessionId === undefined ? findActiveProfile(db, id) : findProfileOfSession(db, sessionId, id)
  if ((await profile) === undefined) throw invalidTokenError()
}

export function orgNotFoundError(): AppError {
  return new AppError('org_not_found', 'Organisation not found')
}

/** Rethrows an error. A missing repository means that the organisation has just been deleted. */
export function orgIsGone(error: unknown): never {
  if (isGitError(error, 'repo_missing')) throw orgNotFoundError()
  throw error
}

export function invalidTokenError(): AppError {
  return new AppError('invalid_token', 'The token is invalid, expired or revoked')
}

/**
 * Checks the caller and their role again, under a lock. Returns their rights, and the organisation.
 *
 * @throws AppError invalid_token, forbidden; org_not_found (it was deleted in the meantime)
 */
export async function recheckAccess(ctx: Ctx<Person>, orgId: string, need: Need): Promise<SeenOrg & Rights> {
  await requireSignedIn(ctx.credentials.read, ctx.actor)
  const seen = await findSeenOrg(ctx, ctx.actor, orgId)
  if (seen === undefined) throw orgNotFoundError()
  if (seen.role === null) requireKnown(seen.org)
  const rights = { ...seen, person: ctx.actor }
  requireRole(rights, need)
  return rights
}

/** True if `role` includes the rights of `need`. */
export function includesRole(role: Role, need: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(need)
}

/**
 * Returns the organisation as the caller sees it.
 *
 * @throws AppError unauthenticated, org_not_found, org_needs_newer_version
 */
async function visibleOrg(ctx: Ctx, orgId: string): Promise<OrgAccess> {
  const seen = ctx.settled?.takeOrg(ctx.actor, orgId) ?? (await findSeenOrg(ctx, ctx.actor, orgId))
  const person = ctx.actor.kind === 'anonymous' ? undefined : ctx.actor
  const isVisible = seen !== undefined && (await isOpenTo(ctx, seen.org, person)) && isShownTo(seen)
  if (seen === undefined || !isVisible) {
    if (person === undefined) throw new AppError('unauthenticated', 'Sign in to see this')
    throw orgNotFoundError()
  }
  const access = { ...seen, sees: seesOf(orgId) }
  if (person === undefined) return access
  return { ...access, person, ...(person.onlyNode === undefined ? {} : { onlyNode: person.onlyNode }) }
}

/** The part of an organisation that a caller sees. Call it only where the role was read without `authorizeOrg`. */
export const seesOf = (orgId: string): Sees => wholeOrg(orgId)

/** True for a member's organisation, and for a published one. */
export const isShownTo = ({ org, role }: SeenOrg): boolean => role !== null || Boolean(org.published)

/** Returns the organisation and the caller's role, as they are in the index. */
export async function findSeenOrg(
  { index }: Pick<Services, 'index'>,
  actor: Actor,
  orgId: string,
): Promise<SeenOrg | undefined> {
  if (!isId(orgId)) return undefined
  if (actor.kind === 'person') return findOrgWithRole(index.read, orgId, actor.id)
  const org = await findOrgRow(index.read, orgId)
  return org && { org, role: null }
}

/** Returns the organisation and the user's rights in it, from one snapshot. */
export async function findOrgWithRights(
  deps: Services,
  orgId: string,
  person: Person,
): Promise<(Rights & Pick<OrgAccess, 'org'>) | undefined> {
  const found = await findSeenOrg(deps, person, orgId)
  if (found === undefined || !(await isOpenTo(deps, found.org, person))) return undefined
  return { ...found, person }
}

/**
 * True if this version can serve the organisation. False if it is closed and the caller could not see it anyway. Its row
 * has neither members nor publication, so these are read from org.git.
 *
 * @param person undefined: anonymous
 * @throws AppError org_needs_newer_version
 */
export async function isOpenTo(
  { store }: Services,
  row: OrgRow,
  person: Pick<Person, 'id'> | undefined,
): Promise<boolean> {
  if (!isClosed(row)) return true
  const { org, members } = await readRecord(orgRepo(store, row.id), row.head)
  if (org.published || (person !== undefined && members.has(person.id))) requireKnown(row)
  return false
}

/**
 * Checks the required role. Contributors may change what belongs to them, and tokens that propose branches of agents.
 *
 * @throws AppError token_scope, forbidden; with `branch_prefix` if the caller may make the change on a branch below it
 */
export function requireRole(rights: Rights, need: Need): void {
  const { role, person } = rights
  if (typeof need !== 'string') requireTokenAccess(rights, need)
  const least = leastRole(rights, need)
  if (least === 'public' || (role && includesRole(role, least))) return
  if (!role) throw new AppError('forbidden', 'Only members of the organisation can do this')
  if (typeof need === 'string' || role !== 'contributor' || !person)
    throw new AppError('forbidden', `You need the ${least} role; yours is ${role}`)
  if ('opened' in need)
    throw new AppError('forbidden', 'Contributors can change only the pull requests that they opened')
  if ('set' in need) throw new AppError('forbidden', 'Contributors can change only the change sets that they opened')
  const branch_prefix = branchPrefixOf(rights)
  const detail = `Contributors can change only branches below ${branch_prefix}; make the change there and open a pull request`
  throw new AppError('forbidden', detail, { branch_prefix })
}

/** The beginning of the only branches that the caller may change. Undefined: any branch, or none. */
export function branchPrefixOf({ role, person }: Rights): string | undefined {
  if (!person || role === null || role === 'reader') return undefined
  const own = role === 'contributor' ? ownPrefix(person.id) : ''
  return `${own}${person.access === 'propose' ? agentPrefix : ''}` || undefined
}

/** Checks whether a token that cannot write may make the change. @throws AppError token_scope */
function requireTokenAccess(rights: Rights, need: Change): void {
  const { person } = rights
  if (person?.access === undefined || person.access === 'write') return
  const { access: token_access, id } = person
  if (!includesAccess(token_access, 'propose'))
    throw new AppError('token_scope', 'This token is read-only', { token_access })
  if ('opened' in need)
    throw new AppError('token_scope', 'This token can only read and propose changes', { token_access })
  if ('set' in need) {
    if (isOpener(person, need.set)) return
    throw new AppError('token_scope', 'This token can change only change sets that you opened', { token_access })
  }
  if (isAgentRef(id, need.ref)) return
  const branch_prefix = branchPrefixOf(rights)
  const detail = `This token can change only branches below ${branch_prefix ?? agentPrefix}; make the change there and open a pull request`
  throw new AppError('token_scope', detail, { token_access, ...(branch_prefix !== undefined && { branch_prefix }) })
}

function leastRole({ person }: Rights, need: Need): 'public' | Role {
  if (typeof need === 'string') return need
  const isOwn = person && ('ref' in need ? isOwnRef(person.id, need.ref) : isOpener(person, openedOf(need)))
  return isOwn ? 'contributor' : 'editor'
}

function openedOf(need: Exclude<Change, { readonly ref: string }>): Opened {
  return 'set' in need ? need.set : need.opened
}

/** Returns an organisation that this version can serve. @throws AppError org_needs_newer_version */
export function requireKnown(org: OrgRow): OrgRow {
  if (isClosed(org)) throw newerVersionError(unknownInRow(org.requires))
  return org
}

/** An organisation uses features that this version does not know. @param words of `requires` in `org.json` */
export function newerVersionError(words: readonly string[]): AppError {
  const named = words.length === 0 ? '' : ` (${words.slice(0, 5).map(excerpt).join(', ')})`
  const detail = `This organisation uses features of a newer version of Grove${named}, so it is closed until the operator upgrades this service`
  return new AppError('org_needs_newer_version', detail, { retry_after: 3_600 })
}
