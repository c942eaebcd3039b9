/** Queries for organisations and their members. */
import { type ExpressionBuilder, type Selectable, sql, type Transaction } from 'kysely'
import { type Slice, totalOf, totalWith } from '../slice.ts'
import { compileOnce } from '../sqlite/compiled.ts'
import { readRows } from '../sqlite/statements.ts'
import { forgetMoves, ownRepository } from './change-log.ts'
import type { OrgState } from './changed-nodes.ts'
import { botEmailEnd, type IndexDb, type IndexSchema, type MemberTable, type OrgTable, type Role } from './schema.ts'

export type OrgRow = Selectable<OrgTable>
export type MemberRow = Omit<MemberTable, 'org_id' | 'former_emails'>

export async function findOrgRow(db: IndexDb, orgId: string): Promise<OrgRow | undefined> {
  return (await orgById(db, orgId))[0]
}

const orgById = compileOnce(1, (db: IndexDb, orgId: string) => db.selectFrom('org').selectAll().where('id', '=', orgId))

/** Returns the organisation and the user's role in it from one snapshot. The role of a non-member is null. */
export async function findOrgWithRole(
  db: IndexDb,
  orgId: string,
  userId: string,
): Promise<{ org: OrgRow; role: Role | null } | undefined> {
  const [row] = await orgAndRole(db, userId, orgId)
  if (row === undefined) return undefined
  const { role, ...org } = row
  return { org, role }
}

const orgAndRole = compileOnce(2, (db: IndexDb, userId: string, orgId: string) =>
  db
    .selectFrom('org')
    .leftJoin('member', (join) => join.onRef('member.org_id', '=', 'org.id').on('member.user_id', '=', userId))
    .selectAll('org')
    .select('member.role')
    .where('org.id', '=', orgId),
)

export async function findRole(db: IndexDb, orgId: string, userId: string): Promise<Role | undefined> {
  const text = 'select role from member where org_id = ? and user_id = ?'
  return (await readRows<Pick<MemberRow, 'role'>>(db, text, orgId, userId))[0]?.role
}

/** Returns the commit of org.git's main that the row was read from. Undefined without a row. */
export async function findOrgHead(db: IndexDb, orgId: string): Promise<string | undefined> {
  return (await db.selectFrom('org').select('head').where('id', '=', orgId).executeTakeFirst())?.head
}

/**
 * True if the row has all columns filled from org.git. One written by another version may lack later columns. It is also
 * not whole if that version closed the organisation and this one does not, or the reverse.
 */
export async function isOrgRowWhole(
  db: IndexDb,
  orgId: string,
  isClosed: (requires: string) => boolean,
): Promise<boolean> {
  const row = await db
    .selectFrom('org')
    .select(['description', 'rules_head', 'head', 'requires', 'closed'])
    .where('id', '=', orgId)
    .executeTakeFirst()
  if (row === undefined) return true
  const { requires, closed } = row
  if (row.description === null || row.rules_head !== row.head || requires === null) return false
  return isClosed(requires) === (closed === 1)
}

/** Finds organisations with this name. Returns at most two, which shows that the name is ambiguous. */
export function findOrgsNamed(db: IndexDb, name: string): Promise<OrgRow[]> {
  return db.selectFrom('org').selectAll().where('name', '=', name).orderBy('id').limit(2).execute()
}

export async function listOrgIds(db: IndexDb): Promise<string[]> {
  return (await db.selectFrom('org').select('id').execute()).map(({ id }) => id)
}

/** Reads a row, and throws if the database cannot be read. */
export async function probeOrgs(db: IndexDb): Promise<void> {
  await db.selectFrom('org').select('id').limit(1).execute()
}

/** The columns that lists have. The rules of an organisation may have 64 KiB. */
const listedColumns = [
  ...(['id', 'name', 'description', 'vault_id', 'published'] as const),
  ...(['require_pull_requests', 'created_at', 'updated_at'] as const),
] as const
type ListedOrg = Pick<OrgRow, (typeof listedColumns)[number]>

/** Lists the organisations of a member with the member's role, oldest first. */
export async function listOrgsOf(db: IndexDb, userId: string, page: Slice) {
  const rows = await readRows<ListedOrg & Pick<MemberRow, 'role'>>(
    db,
    `select ${listedColumns.map((name) => `org.${name}`).join(', ')}, member.role from org join member on member.org_id = org.id
      where member.user_id = ? order by org.created_at, org.id limit ${page.limit} offset ?`,
    userId,
    page.offset,
  )
  const mine = db.selectFrom('org').innerJoin('member', 'member.org_id', 'org.id').where('member.user_id', '=', userId)
  return { rows, total: await totalWith(rows, page, () => totalOf(mine)) }
}

/** Lists the names of a member's organisations, oldest first. */
export function listOrgNamesOf(db: IndexDb, userId: string): Promise<Pick<OrgRow, 'id' | 'name'>[]> {
  return readRows(
    db,
    'select org.id, org.name from org join member on member.org_id = org.id where member.user_id = ? order by org.created_at, org.id',
    userId,
  )
}

/** Counts the organisations that a user owns. */
export function countOwnedOrgs(db: IndexDb, userId: string): Promise<number> {
  return totalOf(db.selectFrom('member').where('user_id', '=', userId).where('role', '=', 'owner'))
}

/**
 * Lists the organisations of a member, with the numbers of other members and other owners. Bots are not counted: they
 * do not keep an organisation.
 */
export function listOrgsWithOthers(db: IndexDb, userId: string) {
  const others = (eb: ExpressionBuilder<IndexSchema, 'org'>) =>
    eb
      .selectFrom('member as other')
      .whereRef('other.org_id', '=', 'org.id')
      .where('other.user_id', '!=', userId)
      .where(sql<boolean>`other.email <> other.user_id || ${botEmailEnd}`)
  return db
    .selectFrom('org')
    .innerJoin('member', 'member.org_id', 'org.id')
    .where('member.user_id', '=', userId)
    .select((eb) => [
      'org.id',
      'org.name',
      'member.role',
      others(eb)
        .select(({ fn }) => fn.countAll<number>().as('others'))
        .as('others'),
      others(eb)
        .where('other.role', '=', 'owner')
        .select(({ fn }) => fn.countAll<number>().as('owners'))
        .as('other_owners'),
    ])
    .orderBy('org.created_at')
    .orderBy('org.id')
    .execute()
}

/** Lists organisations that need what not every version knows. They may be closed. */
export function listClosedOrgRows(db: IndexDb) {
  return db
    .selectFrom('org')
    .select(['id', 'name', 'requires', 'closed'])
    .where(({ eb, or }) => or([eb('closed', '=', 1), eb('requires', '!=', '[]')]))
    .orderBy('id')
    .execute()
}

/** Lists organisations with rules, by id. */
export function listOrgsWithRules(db: IndexDb, limit: number): Promise<OrgRow[]> {
  return db.selectFrom('org').selectAll().where('rules', '!=', '[]').orderBy('id').limit(limit).execute()
}

/** A member file's values, which follow the account. */
export type MemberAfter = Pick<MemberTable, 'user_id' | 'org_id' | 'email' | 'name'>

/** Lists the members of all organisations, by their ids, from the one after `after`. */
export function listMembersAfter(
  db: IndexDb,
  { user_id, org_id }: Pick<MemberAfter, 'user_id' | 'org_id'>,
  limit: number,
): Promise<MemberAfter[]> {
  return db
    .selectFrom('member')
    .select(['user_id', 'org_id', 'email', 'name'])
    .where('user_id', '>=', user_id)
    .where(({ eb, or }) => or([eb('user_id', '>', user_id), eb('org_id', '>', org_id)]))
    .orderBy('user_id')
    .orderBy('org_id')
    .limit(limit)
    .execute()
}

/** Lists all organisations with their owners, oldest first. */
export async function listOrgsWithOwners(db: IndexDb, { limit, offset }: Slice) {
  const rows = await db
    .selectFrom('org')
    .select(({ selectFrom, fn }) => [
      'id',
      'name',
      'published',
      'created_at',
      selectFrom('member')
        .whereRef('member.org_id', '=', 'org.id')
        .select(fn.countAll<number>().as('members'))
        .as('members'),
      selectFrom('node').whereRef('node.org_id', '=', 'org.id').select(fn.countAll<number>().as('nodes')).as('nodes'),
    ])
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
  const owners = await db
    .selectFrom('member')
    .select(['org_id', 'user_id', 'email', 'name'])
    .where('role', '=', 'owner')
    .where(
      'org_id',
      'in',
      rows.map(({ id }) => id),
    )
    .orderBy('created_at')
    .orderBy('user_id')
    .execute()
  return { rows, owners, total: await totalOf(db.selectFrom('org')) }
}

/** Counts the organisations and nodes of this index. */
export async function countAllRows(db: IndexDb): Promise<{ readonly orgs: number; readonly nodes: number }> {
  return { orgs: await totalOf(db.selectFrom('org')), nodes: await totalOf(db.selectFrom('node')) }
}

/** Counts the nodes of each organisation. Organisations that are not in this index have no row. */
export function countNodesOf(db: IndexDb, orgIds: readonly string[]): Promise<{ id: string; nodes: number | null }[]> {
  return db
    .selectFrom('org')
    .select(({ selectFrom, fn }) => [
      'id',
      selectFrom('node').whereRef('node.org_id', '=', 'org.id').select(fn.countAll<number>().as('nodes')).as('nodes'),
    ])
    .where('id', 'in', orgIds)
    .execute()
}

/** Lists the members of an organisation, oldest first. */
export async function listMemberRows(
  db: IndexDb,
  orgId: string,
  page: Slice,
): Promise<{ rows: MemberRow[]; total: number }> {
  const rows = await readRows<MemberRow>(
    db,
    `select user_id, email, name, role, created_at from member where org_id = ?
      order by created_at, user_id limit ${page.limit} offset ?`,
    orgId,
    page.offset,
  )
  const all = db.selectFrom('member').where('org_id', '=', orgId)
  return { rows, total: await totalWith(rows, page, () => totalOf(all)) }
}

/** Lists all memberships, oldest organisation first. */
export function listMemberships(db: IndexDb) {
  return db
    .selectFrom('member')
    .innerJoin('org', 'org.id', 'member.org_id')
    .select([
      'user_id',
      'email',
      'member.name',
      'role',
      'member.created_at',
      'org_id',
      'org.created_at as org_created_at',
    ])
    .orderBy('org.created_at')
    .orderBy('org_id')
    .execute()
}

/** Returns the state of a published organisation; undefined if it is unknown or unpublished. */
export async function findPublishedState(db: IndexDb, orgId: string): Promise<OrgState | undefined> {
  const select = 'select epoch, version from org where id = ? and published = 1'
  const [row] = await readRows<OrgState>(db, select, orgId)
  return row
}

export function findOrgState(db: IndexDb, orgId: string): Promise<OrgState | undefined> {
  return db.selectFrom('org').select(['epoch', 'version']).where('id', '=', orgId).executeTakeFirst()
}

/** Deletes an organisation with the rows of its members and nodes. */
export async function deleteOrgRow(trx: Transaction<IndexSchema>, orgId: string): Promise<void> {
  await trx.deleteFrom('org').where('id', '=', orgId).execute()
  await forgetMoves(trx, orgId, ownRepository)
}

export async function deleteAllOrgs(trx: Transaction<IndexSchema>): Promise<void> {
  await trx.deleteFrom('org').execute()
  await trx.deleteFrom('ref_moves').execute()
}

/** Lists the members with these ids, in any order. */
export function listMembersById(db: IndexDb, orgId: string, userIds: readonly string[]) {
  if (userIds.length === 0) return Promise.resolve([])
  return db
    .selectFrom('member')
    .select(['user_id', 'email', 'name', 'role', 'former_emails'])
    .where('org_id', '=', orgId)
    .where('user_id', 'in', userIds)
    .execute()
}

/** Lists the names of all members. An organisation has at most 10,000. */
export function listMemberNames(db: IndexDb, orgId: string) {
  return db.selectFrom('member').select(['user_id', 'name', 'role']).where('org_id', '=', orgId).execute()
}

/** Finds a member by e-mail address. The case of ASCII letters is ignored. */
export function findMemberByEmail(db: IndexDb, orgId: string, email: string) {
  return db
    .selectFrom('member')
    .select('user_id')
    .where('org_id', '=', orgId)
    .where(sql<boolean>`email = ${email} collate nocase`)
    .orderBy('user_id')
    .executeTakeFirst()
}
