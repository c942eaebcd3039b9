/**
 * Cards: copies of organisations and their members, for the lists of a user's organisations. They follow org.git. Each
 * function runs one statement.
 */
import { sql } from 'kysely'
import { botEmailEnd } from '../derived/schema.ts'
import { type Slice, totalOf } from '../slice.ts'
import type { CredentialsDb, OrgCard, OrgMember } from './schema.ts'

/** Returns the commit that the card was read from. */
export async function findCardHead(db: CredentialsDb, orgId: string): Promise<string | undefined> {
  return (await db.selectFrom('org_card').select('head').where('org_id', '=', orgId).executeTakeFirst())?.head
}

export async function putCard(trx: CredentialsDb, { org_id, ...card }: OrgCard): Promise<void> {
  await trx
    .insertInto('org_card')
    .values({ org_id, ...card })
    .onConflict((conflict) => conflict.column('org_id').doUpdateSet(card))
    .execute()
}

/** Deletes a card with its members. */
export async function deleteCard(trx: CredentialsDb, orgId: string): Promise<void> {
  await trx.deleteFrom('org_card').where('org_id', '=', orgId).execute()
}

export async function putCardMembers(trx: CredentialsDb, members: readonly OrgMember[]): Promise<void> {
  await trx
    .insertInto('org_member')
    .values(members)
    .onConflict((conflict) =>
      conflict.columns(['org_id', 'user_id']).doUpdateSet((of) => ({
        role: of.ref('excluded.role'),
        email: of.ref('excluded.email'),
        name: of.ref('excluded.name'),
      })),
    )
    .execute()
}

/** Deletes members of a card. @param userIds undefined for all members */
export async function deleteCardMembers(
  trx: CredentialsDb,
  orgId: string,
  userIds: readonly string[] | undefined,
): Promise<void> {
  const all = trx.deleteFrom('org_member').where('org_id', '=', orgId)
  await (userIds === undefined ? all : all.where('user_id', 'in', userIds)).execute()
}

/** Lists a member's organisations in all cells with the member's role, oldest first. Leaves out closed ones. */
export async function listCardsOf(db: CredentialsDb, userId: string, { limit, offset }: Slice) {
  const mine = db
    .selectFrom('org_member')
    .innerJoin('org_card', 'org_card.org_id', 'org_member.org_id')
    .innerJoin('place', 'place.org_id', 'org_member.org_id')
    .where('org_member.user_id', '=', userId)
    .where('place.state', '!=', 'gone')
    .where('org_card.head', '!=', '')
  const rows = await mine
    .select([
      'org_card.org_id as id',
      'org_card.name',
      'org_card.description',
      'org_card.vault_id',
      'org_card.published',
      'org_card.require_pull_requests',
      'org_card.created_at',
      'org_card.updated_at',
      'org_member.role',
    ])
    .orderBy('org_card.created_at')
    .orderBy('org_card.org_id')
    .limit(limit)
    .offset(offset)
    .execute()
  return { rows, total: await totalOf(mine) }
}

/** Counts the organisations that a user owns in all cells. */
export function countOwnedCards(db: CredentialsDb, userId: string): Promise<number> {
  return totalOf(
    db
      .selectFrom('org_member')
      .innerJoin('place', 'place.org_id', 'org_member.org_id')
      .where('org_member.user_id', '=', userId)
      .where('org_member.role', '=', 'owner')
      .where('place.state', '!=', 'gone'),
  )
}

/** Lists the organisations of all cells with their owners. Organisations and owners are sorted oldest first. */
export async function listCardsWithOwners(db: CredentialsDb, { limit, offset }: Slice) {
  const all = db
    .selectFrom('org_card')
    .innerJoin('place', 'place.org_id', 'org_card.org_id')
    .where('place.state', '!=', 'gone')
  const rows = await all
    .select(({ selectFrom, fn }) => [
      'org_card.org_id as id',
      'org_card.name',
      'org_card.published',
      'org_card.created_at',
      selectFrom('org_member')
        .whereRef('org_member.org_id', '=', 'org_card.org_id')
        .select(fn.countAll<number>().as('members'))
        .as('members'),
    ])
    .orderBy('org_card.created_at')
    .orderBy('org_card.org_id')
    .limit(limit)
    .offset(offset)
    .execute()
  const ids = rows.map(({ id }) => id)
  const owners =
    ids.length === 0
      ? []
      : await db
          .selectFrom('org_member')
          .select(['org_id', 'user_id', 'email', 'name'])
          .where('role', '=', 'owner')
          .where('org_id', 'in', ids)
          .orderBy('user_id')
          .execute()
  const { total } = await all.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { rows, owners, total }
}

/** Returns an organisation's name, and the user's role in it, null for a non-member. */
export function findCard(
  db: CredentialsDb,
  orgId: string,
  userId: string,
): Promise<{ name: string; role: OrgMember['role'] | null } | undefined> {
  return db
    .selectFrom('org_card')
    .leftJoin('org_member', (join) =>
      join.onRef('org_member.org_id', '=', 'org_card.org_id').on('org_member.user_id', '=', userId),
    )
    .select(['org_card.name', 'org_member.role'])
    .where('org_card.org_id', '=', orgId)
    .executeTakeFirst()
}

/** True if a member file, in any cell, has a former name or e-mail address. */
export async function isMemberBehind(
  db: CredentialsDb,
  { id, email, name }: { readonly id: string; readonly email: string; readonly name: string },
): Promise<boolean> {
  const behind = await db
    .selectFrom('org_member')
    .innerJoin('place', 'place.org_id', 'org_member.org_id')
    .select('org_member.org_id')
    .where('user_id', '=', id)
    .where('place.state', '!=', 'gone')
    .where((of) => of.or([of('email', '!=', email), of('name', '!=', name)]))
    .limit(1)
    .executeTakeFirst()
  return behind !== undefined
}

/** Lists a member's organisations in other cells, and counts their other members and owners. Bots are not counted. */
export function listOrgsElsewhere(db: CredentialsDb, cell: string, userId: string) {
  return db
    .selectFrom('org_member')
    .innerJoin('org_card', 'org_card.org_id', 'org_member.org_id')
    .innerJoin('place', 'place.org_id', 'org_member.org_id')
    .where('org_member.user_id', '=', userId)
    .where('place.cell', '!=', cell)
    .where('place.state', '!=', 'gone')
    .select((of) => {
      const others = of
        .selectFrom('org_member as other')
        .whereRef('other.org_id', '=', 'org_member.org_id')
        .where('other.user_id', '!=', userId)
        .where(sql<boolean>`other.email <> other.user_id || ${botEmailEnd}`)
        .select(({ fn }) => fn.countAll<number>().as('count'))
      return [
        'org_card.org_id as id',
        'org_card.name',
        'org_member.role',
        others.as('others'),
        others.where('other.role', '=', 'owner').as('other_owners'),
      ]
    })
    .orderBy('org_card.created_at')
    .orderBy('org_card.org_id')
    .execute()
}

/**
 * Lists deleted accounts that are still members of organisations in a cell. The cell may have been down when an account
 * was deleted.
 */
export async function listDeletedMembers(db: CredentialsDb, cell: string): Promise<string[]> {
  const rows = await db
    .selectFrom('deleted_account')
    .innerJoin('org_member', 'org_member.user_id', 'deleted_account.id')
    .innerJoin('place', 'place.org_id', 'org_member.org_id')
    .select('user_id')
    .distinct()
    .where('place.cell', '=', cell)
    .where('place.state', '!=', 'gone')
    .execute()
  return rows.map(({ user_id }) => user_id)
}
