/** Writes the entries of pull requests, and what follows from them. */
import { type Insertable, sql, type Transaction } from 'kysely'
import type { IndexSchema, InvolvementTable, ReviewEntryTable, ReviewerTable } from './schema.ts'
import { inSlices } from './slices.ts'

/** The rows of one entry. */
export interface EntryRows {
  readonly entry: Insertable<ReviewEntryTable>
  /** Ids of users. */
  readonly mentions: readonly string[]
}

/** The name of an entry in its node. */
export interface EntryKey {
  readonly number: number
  readonly entry: number
}

export interface EntryChange {
  readonly put: readonly EntryRows[]
  /** Entries that the ledger no longer has. `all` also removes each that is not in `put`. */
  readonly gone: readonly EntryKey[] | 'all'
}

/** Writes the change, and updates the counts of each pull request that it touches. */
export async function replaceEntries(
  trx: Transaction<IndexSchema>,
  { orgId, nodeId }: { readonly orgId: string; readonly nodeId: string },
  { put, gone }: EntryChange,
): Promise<void> {
  const touched = new Set(put.map(({ entry }) => entry.number))
  const ofNode = trx.deleteFrom('review_entry').where('node_id', '=', nodeId)
  if (gone === 'all') {
    for (const number of await listTalkedAbout(trx, nodeId)) touched.add(number)
    await ofNode.execute()
  } else {
    for (const { number, entry } of gone) {
      touched.add(number)
      await ofNode.where('number', '=', number).where('entry', '=', entry).execute()
    }
  }
  await inSlices(put, async (some) => {
    // Deletes the mentions of an earlier version with the row.
    for (const { entry: row } of some)
      await ofNode.where('number', '=', row.number).where('entry', '=', row.entry).execute()
    await trx
      .insertInto('review_entry')
      .values(some.map(({ entry }) => entry))
      .execute()
  })
  await inSlices(
    put.flatMap(({ entry: { node_id, number, entry }, mentions }) =>
      [...new Set(mentions)].map((user_id) => ({ node_id, number, entry, user_id })),
    ),
    (rows) => trx.insertInto('review_mention').values(rows).execute(),
  )
  for (const number of touched) {
    await countEntries(trx, nodeId, number)
    await replaceInvolvements(trx, orgId, nodeId, number)
  }
}

/** Replaces the reviewers of a pull request. */
export async function replaceReviewers(
  trx: Transaction<IndexSchema>,
  { node_id, number }: Pick<ReviewerTable, 'node_id' | 'number'>,
  reviewers: readonly ReviewerTable[],
): Promise<void> {
  await trx.deleteFrom('reviewer').where('node_id', '=', node_id).where('number', '=', number).execute()
  if (reviewers.length > 0) await trx.insertInto('reviewer').values(reviewers).execute()
}

async function listTalkedAbout(trx: Transaction<IndexSchema>, nodeId: string): Promise<number[]> {
  const rows = await trx.selectFrom('review_entry').select('number').distinct().where('node_id', '=', nodeId).execute()
  return rows.map(({ number }) => number)
}

/** Updates the counts of a pull request. Reads only indexes: 0.5 ms for 10,000 entries. */
export async function countEntries(trx: Transaction<IndexSchema>, nodeId: string, number: number): Promise<void> {
  const here = sql`one.node_id = ${nodeId} and one.number = ${number}`
  await sql`
    update pull set
      comments = (select count(*) from review_entry one where ${here} and one.kind = 'comment' and one.deleted = 0),
      open_threads = (select count(*) from (
        select 1 from review_entry one where ${here} and one.kind = 'comment'
        group by one.thread
        having sum(one.resolved) = 0 and sum(1 - one.deleted) > 0 and sum(one.entry = one.thread) > 0)),
      last_entry = (select coalesce(max(one.entry), 0) from review_entry one where ${here}),
      last_entry_at = (select one.at from review_entry one where ${here} order by one.entry desc limit 1)
    where node_id = ${nodeId} and number = ${number}`.execute(trx)
}

type Involvement = Pick<InvolvementTable, 'user_id' | 'last_own' | 'last_mention' | 'last_answer'>

/** Updates the users in the conversation. Writes only the rows that differ. */
async function replaceInvolvements(
  trx: Transaction<IndexSchema>,
  orgId: string,
  nodeId: string,
  number: number,
): Promise<void> {
  const now = await readInvolvements(trx, nodeId, number)
  const rows = await trx
    .selectFrom('involvement')
    .select(['user_id', 'last_own', 'last_mention', 'last_answer'])
    .where('node_id', '=', nodeId)
    .where('number', '=', number)
    .execute()
  const gone = new Map(rows.map((row) => [row.user_id, row]))
  const changed = now.filter((one) => {
    const row = gone.get(one.user_id)
    gone.delete(one.user_id)
    const { last_own, last_mention, last_answer } = one
    return row?.last_own !== last_own || row.last_mention !== last_mention || row.last_answer !== last_answer
  })
  await inSlices([...gone.keys()], (ids) =>
    trx
      .deleteFrom('involvement')
      .where('node_id', '=', nodeId)
      .where('number', '=', number)
      .where('user_id', 'in', ids)
      .execute(),
  )
  await inSlices(changed, (some) =>
    trx
      .insertInto('involvement')
      .values(some.map((one) => ({ ...one, org_id: orgId, node_id: nodeId, number })))
      .onConflict((conflict) =>
        conflict.columns(['node_id', 'number', 'user_id']).doUpdateSet((eb) => ({
          last_own: eb.ref('excluded.last_own'),
          last_mention: eb.ref('excluded.last_mention'),
          last_answer: eb.ref('excluded.last_answer'),
        })),
      )
      .execute(),
  )
}

/** Computes the involvements from the entries. */
async function readInvolvements(
  trx: Transaction<IndexSchema>,
  nodeId: string,
  number: number,
): Promise<readonly Involvement[]> {
  const found = new Map<string, Mutable<Involvement>>()
  const of = (user: string): Mutable<Involvement> => {
    const one = found.get(user) ?? { user_id: user, last_own: 0, last_mention: 0, last_answer: 0 }
    found.set(user, one)
    return one
  }
  const entries = trx.selectFrom('review_entry').where('node_id', '=', nodeId).where('number', '=', number)
  for (const { user_id, entry } of await entries
    .select(({ fn }) => ['user_id', fn.max('entry').as('entry')])
    .where('user_id', 'is not', null)
    .groupBy('user_id')
    .execute())
    if (user_id !== null) of(user_id).last_own = entry
  for (const { user_id, entry } of await trx
    .selectFrom('review_mention')
    .select(({ fn }) => ['user_id', fn.max('entry').as('entry')])
    .where('node_id', '=', nodeId)
    .where('number', '=', number)
    .groupBy('user_id')
    .execute())
    of(user_id).last_mention = entry
  const inThreads = await entries
    .select(({ fn }) => ['thread', 'user_id', fn.max('entry').as('entry')])
    .where('kind', '=', 'comment')
    .where('deleted', '=', 0)
    .groupBy(['thread', 'user_id'])
    .orderBy('thread')
    .execute()
  for (const { user_id, entry } of answersIn(inThreads)) {
    const one = of(user_id)
    one.last_answer = Math.max(one.last_answer, entry)
  }
  return [...found.values()]
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

interface LastInThread {
  readonly thread: number | null
  readonly user_id: string | null
  readonly entry: number
}

/** For each user of a thread, the last entry of another user in it. @param rows sorted by thread */
function* answersIn(rows: readonly LastInThread[]): Generator<{ user_id: string; entry: number }> {
  for (let from = 0; from < rows.length; ) {
    let to = from
    let [first, second]: (LastInThread | undefined)[] = []
    for (; to < rows.length && rows[to]?.thread === rows[from]?.thread; to++) {
      const row = rows[to]
      if (row === undefined) continue
      if (first === undefined || row.entry > first.entry) [first, second] = [row, first]
      else if (second === undefined || row.entry > second.entry) second = row
    }
    for (const { user_id } of rows.slice(from, to)) {
      const other = user_id === first?.user_id ? second : first
      if (user_id !== null && other) yield { user_id, entry: other.entry }
    }
    from = to
  }
}
