/** Checks: what machines report about a commit, such as whether its links lead somewhere. */
import { findCommit, readCommit } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { isOid, type Oid } from '../../../gitstore/repo.ts'
import { type CheckRow, hasChecks, listChecks } from '../../../index/derived/checks.ts'
import { hasEntryOn } from '../../../index/derived/entries.ts'
import { listMembersById } from '../../../index/derived/org-queries.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import * as limits from '../../base/limits.ts'
import { authorizeNode, type NodeAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { requireCommit } from '../branches/revisions.ts'
import { requireRoomFor } from '../byte-quota.ts'
import { type Check, isByFormerMember, toChecks, toReport } from '../consent/check-views.ts'
import { isBotEmail } from '../format/bots.ts'
import { readRules } from '../format/org-rules.ts'
import { ledgerRef, main } from '../layout.ts'
import { changedBy } from '../ledger/changed-by.ts'
import {
  type CheckRecord,
  findChecks,
  isWebUrl,
  maxRead,
  parseChecks,
  type ReadChecks,
  withCheck,
} from '../ledger/checks.ts'
import { appendChecks } from '../ledger/ledger.ts'
import { changeLedger } from '../pulls/ledger-changes.ts'
import type { Ctx, Services } from '../services.ts'
import type { Body, CheckAt, CheckedAt, Path } from '../targets.ts'

export interface CommitChecks {
  readonly commit_id: string
  readonly checks: readonly Check[]
  /** True if a part of the ledger's file is not a named check. */
  readonly is_damaged: boolean
}

export interface CheckInput {
  readonly state: CheckRecord['state']
  readonly description?: string
  readonly url?: string
}

/**
 * Reports a check of a commit. The same report by the same user changes nothing. Only a user whom a rule names, or a
 * bot, replaces the report of another one.
 *
 * @throws AppError commit_not_found, check_exists, too_many_checks; ValidationError
 */
export async function putCheck(ctx: Ctx<Person>, { path, body }: Path<CheckAt> & Body<CheckInput>): Promise<Check> {
  const access = await authorizeNode(ctx, path, 'editor')
  requireUrl(body)
  await requireRoomFor(ctx, path.org_id, '')
  const commit = await requireChecked(ctx, access, path.commit_id)
  const isOnMain = await isReachedByMain(access, commit)
  const record = await changeLedger(ctx, access, 'editor', async (ledger) => {
    const { record, to } = await writeReport(ctx, access, ledger, { commit, isOnMain, name: path.name, input: body })
    return { moves: to === undefined ? [] : [{ repo: access.repo, ref: ledgerRef, to }], value: record }
  })
  return { name: path.name, ...toReport(record) }
}

/** @throws ValidationError */
export function requireUrl({ url }: CheckInput): void {
  if (url !== undefined && !isWebUrl(url)) throw invalid(['body', 'url'], 'This is not a valid URL of a page', url)
}

interface Reported {
  readonly commit: Oid
  /** True if `main` keeps the commit. */
  readonly isOnMain: boolean
  readonly name: string
  readonly input: CheckInput
}

/**
 * Writes a report to a locked ledger. Returns the report, and the commit of the ledger unless it has the same already.
 *
 * @throws AppError check_exists, too_many_checks
 */
export async function writeReport(
  ctx: Ctx<Person>,
  access: NodeAccess,
  ledger: Oid,
  { commit, isOnMain, name, input: { state, description = '', url } }: Reported,
): Promise<{ readonly record: CheckRecord; readonly to?: Oid }> {
  const { tree } = await readCommit(access.repo, ledger)
  const file = await findChecks(access.repo, tree, commit)
  const known = file === undefined ? none : parseChecks(commit, file)
  const { by, at: now } = changedBy(ctx, ctx.actor)
  const record: CheckRecord = {
    state,
    ...(description !== '' && { description }),
    ...(url !== undefined && { url }),
    by: { id: ctx.actor.id, ...by },
    at: now,
  }
  const before = known.checks.get(name)
  if (before !== undefined && 'by' in before) {
    if (isSame(before, record)) return { record: before }
    await requireOwn(ctx, access, before, ctx.actor, name)
  }
  await requireRoom(ctx, access, known, name)
  const isFirst = file === undefined && !isOnMain && !(await hasEntryOn(ctx.index.read, access.node.id, commit))
  const act = { commit, file: withCheck(known, commit, name, record), by, at: now, ...(isFirst && { keep: commit }) }
  return { record, to: await appendChecks(access.repo, ledger, { ...act, message: `check ${commit} ${name}` }) }
}

const none: ReadChecks = { checks: new Map(), isDamaged: false, values: {}, rest: {} }

function isSame(one: CheckRecord, other: CheckRecord): boolean {
  return (
    one.state === other.state &&
    one.description === other.description &&
    one.url === other.url &&
    one.by.id === other.by.id
  )
}

/**
 * Refuses to replace the report of another user. A user whom a rule names may, and a bot if no rule names the first user.
 * Otherwise an editor could report before CI does, and keep its result out. Anyone may if that user has left, because the
 * report no longer counts.
 *
 * @throws AppError check_exists
 */
async function requireOwn(
  deps: Services,
  { org }: NodeAccess,
  { by: first }: CheckRecord,
  actor: Person,
  name: string,
) {
  if (first.id === actor.id) return
  const rules = await readRules(deps, org)
  const isNamed = (id: string | undefined) =>
    rules.some(({ checks }) => checks.some((one) => one.name === name && one.from !== undefined && one.from === id))
  if (isNamed(actor.id) || (actor.isBot && !isBotEmail(first.email) && !isNamed(first.id))) return
  const [member] = first.id === undefined ? [] : await listMembersById(deps.index.read, org.id, [first.id])
  if (first.id !== undefined && isByFormerMember(first, member) && !isNamed(first.id)) return
  const who = excerpt(first.name)
  throw new AppError('check_exists', `${who} reported the check ${name} of this commit, so only ${who} can change it`)
}

/**
 * Names that rules demand always find room. Otherwise 50 other names, which any editor can report, would keep them out.
 *
 * @throws AppError too_many_checks
 */
async function requireRoom(deps: Services, { org }: NodeAccess, { values }: ReadChecks, name: string): Promise<void> {
  const names = Object.keys(values)
  if (Object.hasOwn(values, name) || names.length < limits.checks) return
  const demanded = new Set((await readRules(deps, org)).flatMap(({ checks }) => checks.map((one) => one.name)))
  const others = names.filter((one) => !demanded.has(one))
  if (names.length < maxRead && (demanded.has(name) || others.length < limits.checks)) return
  const detail = `A commit has at most ${limits.checks} checks, and those that rules demand; report under a name it has`
  throw new AppError('too_many_checks', detail)
}

/** Lists the checks of a commit by name. @throws AppError commit_not_found */
export async function readChecks(ctx: Ctx<Person>, { path }: Path<CheckedAt>): Promise<CommitChecks> {
  const access = await authorizeNode(ctx, path, 'reader')
  const rows = await listChecks(ctx.index.read, path.node_id, [path.commit_id])
  if (rows.length === 0) await requireChecked(ctx, access, path.commit_id)
  return toCommitChecks(path.commit_id, rows)
}

/**
 * Finds a commit that members see, or that the ledger keeps. The ledger keeps commits with a report, comment or review,
 * also after a forced push.
 *
 * @throws AppError commit_not_found
 */
async function requireChecked({ index }: Services, access: NodeAccess, id: string): Promise<Oid> {
  const { node, repo } = access
  if (!isOid(id))
    throw new AppError('commit_not_found', `Name the commit by all 40 characters of its id, not ${excerpt(id)}`)

  const isKept = (await hasChecks(index.read, node.id, id)) || (await hasEntryOn(index.read, node.id, id))
  if (isKept && (await findCommit(repo, id))) return id
  return requireCommit(access, id, 'commit_not_found')
}

/** Main keeps its commits, so that the ledger need not. */
export async function isReachedByMain({ repo, history }: NodeAccess, commit: Oid): Promise<boolean> {
  const head = readRef(repo, main)
  return head !== null && (await history.contains(head, commit))
}

function toCommitChecks(commitId: string, rows: readonly CheckRow[]): CommitChecks {
  const checks = toChecks(rows)
  return { commit_id: commitId, checks, is_damaged: checks.length < rows.length }
}
