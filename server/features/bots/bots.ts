/**
 * Bots: accounts without a password, which an organisation owns. Owners manage them, and a bot acts only with its tokens.
 *
 * An account comes before its membership. If a crash prevents the commit, the bot has no role, and an owner can give it
 * one or delete it.
 */

import { deleteAccount, insertAccount, listAccountNames, setAccount } from '../../../index/credentials/accounts.ts'
import { countBots, findBot, listBotRows, lockBotsOf } from '../../../index/credentials/bots.ts'
import type { Account, CredentialsDb } from '../../../index/credentials/schema.ts'
import { findRole, listMembersById } from '../../../index/derived/org-queries.ts'
import type { Role } from '../../../index/derived/schema.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeOrg, requireSignedIn, requireVerifiedEmail } from '../../domain/access.ts'
import { botRow } from '../../domain/accounts/bot-accounts.ts'
import { removeAccount } from '../../domain/accounts/deletion.ts'
import { requireBotName } from '../../domain/accounts/identity.ts'
import { personOf } from '../../domain/accounts/user-view.ts'
import type { Person } from '../../domain/actor.ts'
import { audit } from '../../domain/audit/audit.ts'
import type { OrgRecord } from '../../domain/format/org-format.ts'
import { withRole } from '../../domain/orgs/members.ts'
import { changeOrg, requireOwner } from '../../domain/orgs/org-changes.ts'
import { type Page, pageOf } from '../../domain/pagination.ts'
import type { Ctx, Services } from '../../domain/services.ts'
import type { Body, BotAt, OrgAt, Path, Query } from '../../domain/targets.ts'

/** A bot is never an owner: it could make others owners. */
type BotRole = Exclude<Role, 'owner'>

export interface Bot {
  readonly id: string
  /** Ends in `[bot]`. */
  readonly name: string
  /** Receives no mail. */
  readonly email: string
  /** Absent: it is not a member. A change of its role makes it one. */
  readonly role?: BotRole
  readonly created_at: string
  /** Absent: it was restored from mirrors. */
  readonly created_by?: string
  /** Absent: that account is gone. */
  readonly created_by_name?: string
  /** An administrator has disabled it. Absent: it is not disabled. */
  readonly disabled_at?: string
  /** At most an hour before the last use. Absent until the first use. */
  readonly last_seen_at?: string
}

export interface NewBot {
  /** With or without `[bot]` at its end. */
  readonly name: string
  readonly role: BotRole
}

/**
 * @throws ValidationError name
 * @throws AppError org_not_found, forbidden, email_unverified, too_many_bots, too_many_members, invalid_token
 */
export async function createBot(
  ctx: Ctx<Person>,
  { path, body: { name, role } }: Path<OrgAt> & Body<NewBot>,
): Promise<Bot> {
  await authorizeOrg(ctx, path, 'owner')
  await requireVerifiedEmail(ctx)
  const row = botRow(path, requireBotName(name), { created_at: ctx.now().toISOString(), created_by: ctx.actor.id })
  await ctx.credentials.write(async (trx) => {
    await requireSignedIn(trx, ctx.actor)
    await lockBotsOf(trx, path.org_id)
    if ((await countBots(trx, path.org_id)) >= limits.bots)
      throw new AppError(
        'too_many_bots',
        `The organisation has ${limits.bots} bots; delete one that it no longer needs`,
      )
    await insertAccount(trx, row)
  })
  const bot = await botAt(ctx, { ...path, bot_id: row.id })
  const joining = changeOrg(ctx, ctx.actor, path, 'join', (record) => {
    requireOwner(record, ctx.actor)
    return withRole(record, personOf(bot), role, ctx.now())
  })
  await joining.catch(async (error: unknown) => {
    // Any other error leaves it unknown whether the bot has joined.
    const isRefused = error instanceof AppError && error.code !== 'outcome_unknown'
    if (isRefused) await ctx.credentials.write((trx) => deleteAccount(trx, row.id))
    throw error
  })
  await auditBot(ctx, path, { action: 'bot.created', id: row.id, detail: { role } })
  return viewOf(bot, { role, createdBy: ctx.actor.name })
}

/** Lists bots, oldest first. @throws AppError org_not_found, forbidden */
export async function listBots(ctx: Ctx<Person>, { path, query }: Path<OrgAt> & Query<Page>) {
  await authorizeOrg(ctx, path, 'owner')
  const { read } = ctx.credentials
  const rows = await listBotRows(read, path.org_id, query)
  return { bots: await viewsOf(ctx, path, rows), ...pageOf(query, await countBots(read, path.org_id)) }
}

export interface BotChange {
  readonly name?: string
  readonly role?: BotRole
}

/**
 * Changes a bot's name or role, from the next request. Adds it to the members if it is not one.
 *
 * @throws ValidationError name; AppError org_not_found, forbidden, bot_not_found, too_many_members
 */
export async function updateBot(
  ctx: Ctx<Person>,
  { path, body: { name, role } }: Path<BotAt> & Body<BotChange>,
): Promise<Bot> {
  await authorizeOrg(ctx, path, 'owner')
  const before = await botAt(ctx, path)
  const newName = name === undefined ? undefined : requireBotName(name)
  let was: Role | undefined
  await changeOrg(ctx, ctx.actor, path, 'member', async (record) => {
    requireOwner(record, ctx.actor)
    const bot = await botAt(ctx, path)
    if (newName !== undefined && newName !== bot.name)
      await ctx.credentials.write((trx) => setAccount(trx, bot.id, { name: newName, members_behind: 1 }))
    was = record.members.get(bot.id)?.role
    return withBot(record, { ...personOf(bot), name: newName ?? bot.name }, role, ctx.now())
  })
  const detail = { ...(role !== undefined && role !== was && { role, role_before: was ?? null }) }
  const isChanged = 'role' in detail || (newName !== undefined && newName !== before.name)
  if (isChanged) await auditBot(ctx, path, { action: 'bot.changed', id: before.id, detail })
  const [bot] = await viewsOf(ctx, path, [await botAt(ctx, path)])
  if (bot === undefined) throw botNotFoundError()
  return bot
}

/** Returns the record in which the bot has that name and role. Without a role, it keeps its own. */
function withBot(record: OrgRecord, bot: Person, role: Role | undefined, now: Date): OrgRecord {
  const wanted = role ?? record.members.get(bot.id)?.role
  if (wanted === undefined) return record
  const changed = withRole(record, bot, wanted, now)
  const file = changed.members.get(bot.id)
  if (file === undefined || file.name === bot.name) return changed
  return { ...changed, members: new Map([...changed.members, [bot.id, { ...file, name: bot.name }]]) }
}

/**
 * Deletes a bot: its membership, then its account with all tokens. After a crash, a repetition finishes the deletion.
 *
 * @throws AppError org_not_found, forbidden, bot_not_found, invalid_token
 */
export async function deleteBot(ctx: Ctx<Person>, { path }: Path<BotAt>): Promise<void> {
  await authorizeOrg(ctx, path, 'owner')
  const { id } = await botAt(ctx, path)
  await removeAccount(ctx, id, (trx) => requireOwnerStill(ctx, trx, ctx.actor, path))
  await auditBot(ctx, path, { action: 'bot.deleted', id, detail: {} })
}

/** Checks the session and the role again, in the transaction of a change. @throws AppError invalid_token, forbidden */
export async function requireOwnerStill(deps: Services, trx: CredentialsDb, actor: Person, { org_id: orgId }: OrgAt) {
  await requireSignedIn(trx, actor)
  if ((await findRole(deps.index.read, orgId, actor.id)) !== 'owner')
    throw new AppError('forbidden', 'You need the owner role')
}

/** @throws AppError bot_not_found, also for the bot of another organisation */
export async function botAt({ credentials }: Services, { org_id: orgId, bot_id: botId }: BotAt): Promise<Account> {
  const bot = await findBot(credentials.read, orgId, botId)
  if (bot === undefined) throw botNotFoundError()
  return bot
}

export function botNotFoundError(): AppError {
  return new AppError('bot_not_found', 'The organisation has no such bot')
}

interface BotEntry {
  readonly action: 'bot.created' | 'bot.changed' | 'bot.deleted'
  readonly id: string
  readonly detail: Readonly<Record<string, unknown>>
}

async function auditBot(ctx: Ctx<Person>, { org_id: orgId }: OrgAt, { action, id, detail }: BotEntry): Promise<void> {
  await audit(ctx, { action, actor: ctx.actor, orgId, target: { type: 'account', id }, detail })
}

async function viewsOf(deps: Services, { org_id: orgId }: OrgAt, rows: readonly Account[]): Promise<Bot[]> {
  const creators = rows.flatMap(({ created_by }) => (created_by === null ? [] : [created_by]))
  const names = new Map((await listAccountNames(deps.credentials.read, creators)).map(({ id, name }) => [id, name]))
  const ids = rows.map(({ id }) => id)
  const members = await listMembersById(deps.index.read, orgId, ids)
  // A member file of a bot that names it an owner is not valid.
  const roles = new Map(members.flatMap(({ user_id, role }) => (role === 'owner' ? [] : [[user_id, role] as const])))
  return rows.map((row) => viewOf(row, { role: roles.get(row.id), createdBy: names.get(row.created_by ?? '') }))
}

function viewOf(
  { id, name, email, created_at, created_by, disabled_at, last_seen_at }: Account,
  { role, createdBy }: { readonly role: BotRole | undefined; readonly createdBy: string | undefined },
): Bot {
  return {
    ...{ id, name, email, created_at },
    ...(role === undefined ? {} : { role }),
    ...(created_by === null ? {} : { created_by }),
    ...(createdBy === undefined ? {} : { created_by_name: createdBy }),
    ...(disabled_at === null ? {} : { disabled_at }),
    ...(last_seen_at === null ? {} : { last_seen_at }),
  }
}
