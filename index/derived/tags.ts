/** The tags of an organisation in order, their counts, and the nodes of each. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql, type Transaction } from 'kysely'
import * as limits from '../limits.ts'
import { type Slice, totalOf } from '../slice.ts'
import { changeRows } from '../sqlite/statements.ts'
import type { IndexDb, IndexSchema } from './schema.ts'
import type { Sees } from './sees.ts'
import { titleKey } from './title-order.ts'

/** Separates the keys of levels. No title has it. */
const nextLevel = '\u0002'
const afterNested = '\u0003'

/** Returns the parts of a tag. A slash between two other characters separates them. */
function levelsOf(tag: string): string[] {
  const parts = tag.split(/(?<=[^/])\/(?=[^/])/)
  return [
    ...parts.slice(0, limits.tagLevels - 1),
    ...(parts.length < limits.tagLevels ? [] : [parts.slice(limits.tagLevels - 1).join('/')]),
  ]
}

/** Returns the tags above a nested tag, from the top: `math` for `math/algebra`. */
export function tagsAbove(tag: string): string[] {
  const parts = levelsOf(tag)
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'))
}

/** Returns the key by which tags are sorted. A tag precedes those nested below it, and each level is in natural order. */
export function tagKey(tag: string): string {
  return levelsOf(tag).map(titleKey).join(nextLevel)
}

/** The tags of a node, and the key of its title. */
interface Tagged {
  readonly title_key: string
  readonly tags: readonly string[]
}

export interface TagChange {
  readonly nodeId: string
  /** Undefined for a node without rows. */
  readonly before?: Tagged
  /** Undefined for a deleted node. */
  readonly after?: Tagged
}

/** Rows of a statement, as JSON. */
const rowsAtOnce = 1_000

/** Writes the rows that follow from the tags of these nodes. */
export async function replaceTagRows(
  trx: Transaction<IndexSchema>,
  orgId: string,
  changes: readonly TagChange[],
): Promise<void> {
  const counts = new Map<string, { nodes: number; within: number }>()
  const gone: [tag: string, key: string, node: string][] = []
  const added: [tag: string, key: string, node: string, isOwn: number][] = []
  for (const { nodeId, before, after } of changes) {
    const [old, now] = [placesOf(before), placesOf(after)]
    const isMoved = before?.title_key !== after?.title_key
    for (const tag of new Set([...old.keys(), ...now.keys()])) {
      const [was, is] = [old.get(tag), now.get(tag)]
      if (was === is && !isMoved) continue
      if (before && was !== undefined) gone.push([tag, before.title_key, nodeId])
      if (after && is !== undefined) added.push([tag, after.title_key, nodeId, is])
      if (was === is) continue
      const count = counts.get(tag) ?? { nodes: 0, within: 0 }
      const within = Number(is !== undefined) - Number(was !== undefined)
      counts.set(tag, { nodes: count.nodes + (is ?? 0) - (was ?? 0), within: count.within + within })
    }
  }
  await inJson(gone, (rows) => changeRows(trx, deletePlaces, orgId, rows))
  await inJson(added, (rows) => changeRows(trx, insertPlaces, orgId, rows))
  await countTags(trx, orgId, counts)
}

const deletePlaces = `
  delete from tagged_node where (org_id, tag, title_key, node_id) in (
    select ?, value ->> 0, value ->> 1, value ->> 2 from json_each(?))`
const insertPlaces = `
  insert or replace into tagged_node (org_id, tag, title_key, node_id, is_own)
    select ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3 from json_each(?)`

/** Maps the tags of a node to 1, and others above them to 0. */
function placesOf(tagged: Tagged | undefined): Map<string, 0 | 1> {
  const places = new Map<string, 0 | 1>()
  for (const tag of tagged?.tags ?? []) {
    for (const above of tagsAbove(tag)) if (!places.has(above)) places.set(above, 0)
    places.set(tag, 1)
  }
  return places
}

async function countTags(
  trx: Transaction<IndexSchema>,
  orgId: string,
  counts: ReadonlyMap<string, { readonly nodes: number; readonly within: number }>,
): Promise<void> {
  await inJson(
    [...counts].map(([tag, { nodes, within }]) => [tag, tagKey(tag), nodes, within]),
    (rows) => changeRows(trx, addCounts, orgId, rows),
  )
  const fewer = [...counts].filter(([, { within }]) => within < 0).map(([tag]) => tag)
  await inJson(fewer, (rows) => changeRows(trx, deleteUnused, orgId, rows))
}

const addCounts = `
  insert into org_tag (org_id, tag, tag_key, nodes, within)
    select ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3 from json_each(?) where true
    on conflict (org_id, tag) do update set nodes = nodes + excluded.nodes, within = within + excluded.within`
const deleteUnused = `
  delete from org_tag where org_id = ? and tag in (select value from json_each(?)) and within <= 0`

async function inJson(rows: readonly unknown[], run: (json: string) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < rows.length; at += rowsAtOnce) await run(JSON.stringify(rows.slice(at, at + rowsAtOnce)))
}

export interface TagRow {
  readonly tag: string
  /** Numbers of nodes: with the tag, and with it or a tag below it. */
  readonly nodes: number
  readonly within: number
}

export interface TagFilter {
  /** Only tags below this one. */
  readonly under?: string | undefined
  /** With `name`, the list also has tags that only have others below them. The default is `num_nodes`. */
  readonly order?: 'num_nodes' | 'name' | undefined
}

/** Lists tags. `total` counts at most `limits.listedTags`. */
export async function listOrgTagRows(
  db: IndexDb,
  sees: Sees,
  { limit, offset, ...filter }: Slice & TagFilter,
): Promise<{ rows: TagRow[]; total: number }> {
  const all = filtered(db, sees, filter)
  const rows = await inOrder(all.select(['tag', 'nodes', 'within']), filter)
    .limit(Math.max(Math.min(limit, limits.listedTags - offset), 0))
    .offset(offset)
    .execute()
  return { rows, total: await totalOf(db.selectFrom(all.select('tag').limit(limits.listedTags).as('listed'))) }
}

/** Tags per statement, which takes about 1 ms. */
const tagsAtOnce = 2_000

/** Reads the tags of the list in slices. Yields to the event loop between them. */
export async function* readOrgTags(db: IndexDb, sees: Sees, filter: TagFilter): AsyncGenerator<TagRow[], void> {
  for (let offset = 0; offset < limits.listedTags; offset += tagsAtOnce) {
    const all = filtered(db, sees, filter).select(['tag', 'nodes', 'within'])
    const rows = await inOrder(all, filter).limit(tagsAtOnce).offset(offset).execute()
    yield rows
    if (rows.length < tagsAtOnce) return
    await nextTurn()
  }
}

function filtered(db: IndexDb, sees: Sees, { under, order }: TagFilter) {
  const all = db.selectFrom('org_tag').where('org_id', '=', sees.orgId)
  // A literal: only then does SQLite use the index of tags in use.
  const some = order === 'name' ? all : all.where(sql<boolean>`nodes > 0`)
  if (under === undefined) return some
  const key = tagKey(under)
  return some.where('tag_key', '>', key + nextLevel).where('tag_key', '<', key + afterNested)
}

function inOrder<Q extends { orderBy(column: 'tag_key' | 'tag'): Q; orderBy(column: 'nodes', way: 'desc'): Q }>(
  all: Q,
  { order }: TagFilter,
): Q {
  return (order === 'name' ? all.orderBy('tag_key') : all.orderBy('nodes', 'desc')).orderBy('tag')
}

/** Returns the counts of a tag; zeros if no node has it. */
export async function countTagged(db: IndexDb, sees: Sees, tag: string): Promise<Omit<TagRow, 'tag'>> {
  const row = await db
    .selectFrom('org_tag')
    .select(['nodes', 'within'])
    .where('org_id', '=', sees.orgId)
    .where('tag', '=', tag)
    .executeTakeFirst()
  return row ?? { nodes: 0, within: 0 }
}

/** Lists the nodes with a tag in the order of their titles, then by id. `isExact`: without those of nested tags. */
export async function listTaggedRows(
  db: IndexDb,
  sees: Sees,
  { tag, isExact, limit, offset }: Slice & { readonly tag: string; readonly isExact: boolean },
): Promise<{ readonly id: string; readonly title: string; readonly tags: string; readonly updated_at: string }[]> {
  const { rows } = await sql<{ id: string; title: string; tags: string; updated_at: string }>`
    select node.id, node.title, node.tags, node.updated_at
    from (select title_key, node_id from tagged_node
      where org_id = ${sees.orgId} and tag = ${tag} ${isExact ? sql`and is_own = 1` : sql``}
      order by title_key, node_id limit ${sql.lit(limit)} offset ${offset}) as one
    cross join node on node.id = one.node_id order by one.title_key, one.node_id`.execute(db)
  return rows
}
