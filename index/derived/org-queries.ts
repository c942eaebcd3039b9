/** Queries on organisations and their members. */
import { CompiledQuery, type ExpressionBuilder, type Selectable, type Transaction } from 'kysely'
import { type Slice, totalOf } from '../slice.ts'
import { compileOnce } from '../sqlite/compiled.ts'
import { forgetMoves, ownRepository } from './change-log.ts'
import type { IndexDb, IndexSchema, MemberTable, OrgTable, Role } from './schema.ts'

export type OrgRow = Selectable<OrgTable>
export type MemberRow = Omit<MemberTable, 'org_id'>

export function findOrgRow(db: IndexDb, orgId: string): Promise<OrgRow | undefined> {
  return db.selectFrom('org').selectAll().where('id', '=', orgId).executeTakeFirst()
}

/** The organisation and the person's role in it (null: none), from one snapshot. */
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
  const row = await db
    .selectFrom('member')
    .select('role')
    .where('org_id', '=', orgId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row?.role
}

/** The commit of org.git's main that the row was read from; undefined without a row. */
export async function findOrgHead(db: IndexDb, orgId: string): Promise<string | undefined> {
  return (await db.selectFrom('org').select('head').where('id', '=', orgId).executeTakeFirst())?.head
}

/** Whether the row has all that org.git says at its head: one of an older version may lack columns that came later. */
export async function isOrgRowWhole(db: IndexDb, orgId: string): Promise<boolean> {
  const row = await db.selectFrom('org').select('description').where('id', '=', orgId).executeTakeFirst()
  return row?.description !== null
}

/** Those of this name; two tell that there are several. */
export function findOrgsNamed(db: IndexDb, name: string): Promise<OrgRow[]> {
  return db.selectFrom('org').selectAll().where('name', '=', name).orderBy('id').limit(2).execute()
}

export async function listOrgIds(db: IndexDb): Promise<string[]> {
  return (await db.selectFrom('org').select('id').execute()).map(({ id }) => id)
}

/** Reads a row, so that a database that cannot be read throws. */
export async function probeOrgs(db: IndexDb): Promise<void> {
  await db.selectFrom('org').select('id').limit(1).execute()
}

/** The organisations of a member, the oldest first, with the role. */
export async function listOrgsOf(db: IndexDb, userId: string, { limit, offset }: Slice) {
  const mine = db.selectFrom('org').innerJoin('member', 'member.org_id', 'org.id').where('member.user_id', '=', userId)
  const rows = await mine
    .selectAll('org')
    .select('member.role')
    .orderBy('org.created_at')
    .orderBy('org.id')
    .limit(limit)
    .offset(offset)
    .execute()
  return { rows, total: await totalOf(mine) }
}

/** The organisations of a member, with how many others there are, and how many of these are owners. */
export function listOrgsWithOthers(db: IndexDb, userId: string) {
  const others = (eb: ExpressionBuilder<IndexSchema, 'org'>) =>
    eb.selectFrom('member as other').whereRef('other.org_id', '=', 'org.id').where('other.user_id', '!=', userId)
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

/** All organisations, the oldest first, with their owners. */
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

/** How many nodes each of them has; those that are not here have no row. */
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

/** The oldest first. */
export async function listMemberRows(
  db: IndexDb,
  orgId: string,
  { limit, offset }: Slice,
): Promise<{ rows: MemberRow[]; total: number }> {
  const all = db.selectFrom('member').where('org_id', '=', orgId)
  const rows = await all
    .select(['user_id', 'email', 'name', 'role', 'created_at'])
    .orderBy('created_at')
    .orderBy('user_id')
    .limit(limit)
    .offset(offset)
    .execute()
  return { rows, total: await totalOf(all) }
}

/** Every membership, by the age of the organisation. */
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

interface VersionRow {
  readonly epoch: string
  readonly version: number
}

/** Of a published organisation; undefined where it is unknown or unpublished. One prepared statement. */
export async function findPublishedState(db: IndexDb, orgId: string): Promise<VersionRow | undefined> {
  const select = 'select epoch, version from org where id = ? and published = 1'
  const [row] = (await db.executeQuery<VersionRow>(CompiledQuery.raw(select, [orgId]))).rows
  return row
}

export function findOrgState(db: IndexDb, orgId: string): Promise<VersionRow | undefined> {
  return db.selectFrom('org').select(['epoch', 'version']).where('id', '=', orgId).executeTakeFirst()
}

/** Deletes the rows of its members and nodes too. */
export async function deleteOrgRow(trx: Transaction<IndexSchema>, orgId: string): Promise<void> {
  await trx.deleteFrom('org').where('id', '=', orgId).execute()
  await forgetMoves(trx, orgId, ownRepository)
}

export async function deleteAllOrgs(trx: Transaction<IndexSchema>): Promise<void> {
  await trx.deleteFrom('org').execute()
  await trx.deleteFrom('ref_moves').execute()
}
