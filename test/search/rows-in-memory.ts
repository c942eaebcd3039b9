/** A search index over an `index.sqlite`, in memory or in a file, whose rows tests write. */
import { writeFileSync } from 'node:fs'
import type Sqlite from 'better-sqlite3'
import fc from 'fast-check'
import { Kysely } from 'kysely'
import { indexMigrations } from '../../index/derived/migrations.ts'
import type { IndexSchema } from '../../index/derived/schema.ts'
import { type Suggestions, type SuggestQuestion, suggest as suggestFrom } from '../../index/search/answers/suggest.ts'
import { parseQuery } from '../../index/search/ranking/query.ts'
import type { WeightedTerm } from '../../index/search/ranking/scores.ts'
import { type Retrieved as Answer, retrieve as retrieveFrom, type SearchQuestion } from '../../index/search/retrieve.ts'
import { applyChanges, createOrgIndex, type OrgIndex } from '../../index/search/segments/org-index.ts'
import { openRows, type SearchRows } from '../../index/search/segments/rows.ts'
import { loadLanguages } from '../../index/search/text/languages.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { sqliteDialect } from '../../index/sqlite/driver.ts'
import { migrate } from '../../index/sqlite/migrate.ts'
import { toGraphEdge } from '../../server/domain/format/graph-edges.ts'
import { seed } from '../support/seed.ts'

export type { SearchQuestion } from '../../index/search/retrieve.ts'

export interface SearchDocument {
  id: string
  title: string
  text: string
  tags: string[]
  updatedAt: string
  commitId?: string
}

export interface SearchEdge extends ReturnType<typeof toGraphEdge> {
  holder: string
}

export interface SearchIndex {
  readonly db: Sqlite.Database
  readonly rows: SearchRows
  readonly orgId: string
  readonly index: OrgIndex
}

/** The filters, and the meaning of the question. */
type More =
  Parameters<typeof retrieveFrom> extends [unknown, unknown, unknown, unknown, unknown, ...infer Rest] ? Rest : never

export interface Retrieved extends Omit<Answer, 'connections'> {
  connections: ReturnType<typeof toGraphEdge>[]
}

// These awaits give test files their own fast-check (test/support/shared.ts), which run.ts did not set up.
fc.configureGlobal({ seed })
const languageOf = await loadLanguages()
const template = await emptyDatabase()

async function emptyDatabase(): Promise<Buffer> {
  const handle = openSqlite(':memory:')
  const db = new Kysely<IndexSchema>({ dialect: sqliteDialect(handle, 'write') })
  await db.transaction().execute((trx) => migrate(trx, indexMigrations, 'index.sqlite'))
  const content = handle.serialize()
  await db.destroy()
  return content
}

export function createSearchIndex(): SearchIndex {
  return addOrg(openSqlite(template), 'org')
}

/** Over a new database at this path, which others may open. */
export function createSearchIndexIn(file: string): SearchIndex {
  writeFileSync(file, template)
  const db = openSqlite(file)
  db.pragma('journal_mode = wal')
  db.pragma('synchronous = off')
  return addOrg(db, 'org')
}

const statements = new WeakMap<Sqlite.Database, Map<string, Sqlite.Statement>>()

/** Compiling a statement takes longer than running it. */
function prepared(db: Sqlite.Database, sql: string): Sqlite.Statement {
  const known = statements.get(db) ?? new Map<string, Sqlite.Statement>()
  statements.set(db, known)
  const statement = known.get(sql) ?? db.prepare(sql)
  known.set(sql, statement)
  return statement
}

/** Another reader of the rows, as another process has. Its index is empty. */
export function readerOf({ db, orgId }: SearchIndex): SearchIndex {
  const own = openSqlite(db.name, { readonly: true })
  return { db: own, rows: openRows(own), orgId, index: createOrgIndex('epoch') }
}

export function addOrg(db: Sqlite.Database, orgId: string): SearchIndex {
  prepared(
    db,
    `insert into org (id, name, published, require_pull_requests, created_at, updated_at, head, epoch)
     values (?, 'org', 0, 0, '', '', '', 'epoch')`,
  ).run(orgId)
  return { db, rows: openRows(db), orgId, index: createOrgIndex('epoch') }
}

/** The organisation's next version. */
function nextVersion({ db, orgId }: SearchIndex): number {
  return Number(prepared(db, 'update org set version = version + 1 where id = ? returning version').pluck().get(orgId))
}

/** Writes in one transaction, as the service does. Others then read a version together with its rows. */
function atOnce({ db }: SearchIndex, write: () => void): void {
  db.transaction(write)()
}

export function setDocument(index: SearchIndex, document: SearchDocument): void {
  const { id, title, text, tags, updatedAt, commitId } = document
  const { db } = index
  atOnce(index, () => {
    prepared(db, 'delete from tombstone where node_id = ?').run(id)
    prepared(
      db,
      `insert into node (id, org_id, title, description, tags, properties, created_at, updated_at, head, ledger, version, changed)
       values (?, ?, ?, '', ?, '{}', '', ?, ?, '', 0, ?)
       on conflict do update set title = excluded.title, tags = excluded.tags, updated_at = excluded.updated_at,
         head = excluded.head, changed = excluded.changed`,
    ).run(id, index.orgId, title, JSON.stringify(tags), updatedAt, commitId ?? null, nextVersion(index))
    prepared(db, 'insert into node_text values (?, ?) on conflict do update set text = excluded.text').run(id, text)
  })
}

/** Replaces all edges that `holder` holds; nothing where there is no such node. */
export function setEdges(index: SearchIndex, holder: string, edges: readonly SearchEdge[]): void {
  const { db } = index
  const insert = prepared(
    db,
    `insert into edge (org_id, holder, key, edge_type, source, target, connection_type, label) values (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  atOnce(index, () => {
    if (prepared(db, 'update node set changed = ? where id = ?').run(nextVersion(index), holder).changes === 0) return
    prepared(db, 'delete from edge where holder = ?').run(holder)
    for (const { id, edge_type, source, target, connection_type, label } of edges)
      insert.run(index.orgId, holder, id.split('/')[2], edge_type, source, target, connection_type, label)
  })
}

export function removeNode(index: SearchIndex, id: string): void {
  const { db } = index
  atOnce(index, () => {
    if (prepared(db, 'delete from node where id = ?').run(id).changes > 0)
      prepared(db, 'insert into tombstone values (?, ?, ?)').run(id, index.orgId, nextVersion(index))
  })
}

/** Takes in what has changed, as the search thread does, and answers. */
export function retrieve(index: SearchIndex, question: SearchQuestion, ...more: More): Retrieved {
  return whenCaughtUp(index, ({ rows, orgId, index: searched }) => {
    const { connections, ...answer } = retrieveFrom(searched, rows, languageOf, orgId, question, ...more)
    return { ...answer, connections: connections.map(toGraphEdge) }
  })
}

/** As `retrieve`. */
export function suggest(index: SearchIndex, question: SuggestQuestion): Suggestions['suggestions'] {
  return whenCaughtUp(index, ({ rows, index: { texts } }) => suggestFrom(texts, rows, question).suggestions)
}

/** The terms that a question looks up. */
export function termsOf(index: SearchIndex, query: string): readonly WeightedTerm[] {
  return whenCaughtUp(index, ({ index: { texts } }) => parseQuery(texts, languageOf, query).terms)
}

function whenCaughtUp<T>(searched: SearchIndex, answer: (searched: SearchIndex) => T): T {
  return searched.rows.inSnapshot(() => {
    takeIn(searched, () => false)
    return answer(searched)
  })
}

/** Takes in one slice of what has changed, up to this many nodes. */
export function takeInSome(searched: SearchIndex, most: number): void {
  let left = most
  searched.rows.inSnapshot(() => takeIn(searched, () => --left <= 0))
}

function takeIn({ rows, orgId, index }: SearchIndex, isOver: () => boolean): void {
  const state = rows.orgState(orgId)
  if (state === undefined) throw new Error('The organisation is missing')
  applyChanges(index, rows, orgId, state, languageOf, isOver)
}
