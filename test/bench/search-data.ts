/** Makes organisations of any size for the search only: rows of `index.sqlite`, without repositories. */

import { Kysely } from 'kysely'
import { indexMigrations } from '../../index/derived/migrations.ts'
import type { IndexSchema } from '../../index/derived/schema.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { sqliteDialect } from '../../index/sqlite/driver.ts'
import { migrate } from '../../index/sqlite/migrate.ts'
import { randomFrom } from '../support/random.ts'

export interface Text {
  readonly id: string
  readonly title: string
  readonly text: string
}

export interface Link {
  readonly source: string
  readonly target: string
  readonly type: 'parent_child' | 'connection'
}

/** The location of an organisation's data. */
export interface Place {
  /** `index.sqlite`. */
  readonly file: string
  /** The folder of the segments. */
  readonly folder: string
  readonly orgId: string
}

/** The most frequent words of the texts, as in English. Queries of kind `words` have none of them. */
const stopWords =
  'the of and to in a is that for it as was with be by on not he i this are or his from at which but have an had they you were there one all we can her has their been if more when will would who so no'.split(
    ' ',
  )

const roots =
  `air ale arch arm ash axe back ball band bank bar barn base bath beam bean bear bed bell belt bench bird blade block blood boat
  bone book boot bow bowl box brain branch bread brick bridge broom brush bud bull burn bush cake calf camp cap card cart case
  cat cave chain chair chalk cheek chest chin clay cliff cloak clock cloth cloud club coal coast coat coin comb cook cord cork
  corn court cow crab craft crane creek crew crop cross crow crown cup dawn deck deer desk dew dirt dish ditch dock dog door
  dove drum duck dune dust ear earth east edge egg elm eye face farm fern field finch fin fire fish fist flag flame flax
  flint flood floor flour fog foot ford fork fort fowl fox frame frog frost fruit game gate glass globe glove goat gold goose
  grain grape grass grove guard gull gun hair hall ham hand harp hat hawk hay head heart heath hedge heel helm hen herb herd
  hill hive hood hoof hook horn horse house`
    .split(/\s+/)
    .filter((word) => word !== '')

const words = [...stopWords, ...roots.flatMap((one) => roots.map((other) => one + other))].slice(0, 30_000)

/** The sum of 1 / rank up to each rank (Zipf's law). */
const sums: readonly number[] = sumsOf(words.length)

function sumsOf(count: number): number[] {
  let sum = 0
  return Array.from({ length: count }, (_, n) => {
    sum += 1 / (n + 1)
    return sum
  })
}

export type Random = () => number

function wordFrom(random: Random): string {
  const sought = random() * (sums.at(-1) ?? 0)
  let low = 0
  let high = sums.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sums[middle] ?? 0) < sought) low = middle + 1
    else high = middle
  }
  return words[low] ?? ''
}

/** Documents of 78 words in sentences of 13. Every third document has a unique word. */
export function* textsOf(count: number): Generator<Text> {
  const random = randomFrom(count)
  for (let n = 0; n < count; n++) {
    const drawn = Array.from({ length: 78 }, () => wordFrom(random))
    if (n % 3 === 0) drawn[40] = `${wordFrom(random)}q${n.toString(36)}`
    const sentences = Array.from({ length: 6 }, (_, at) => drawn.slice(13 * at, 13 * at + 13).join(' '))
    const title = Array.from({ length: 4 }, () => wordFrom(random)).join(' ')
    yield { id: `n${String(n).padStart(7, '0')}`, title, text: `${sentences.join('. ')}.` }
  }
}

/** How a query is made from a document. `words` has no stop words; `phrase` has consecutive words. */
type QuestionKind = 'words' | 'phrase'

/** Makes queries of 2 to 8 words, each from one document. */
export function questionsFor(texts: readonly Text[], count: number, kind: QuestionKind = 'words'): string[] {
  const random = randomFrom(texts.length + 1)
  const common = new Set(stopWords)
  return Array.from({ length: count }, (_, n) => {
    const { text } = texts[Math.floor(random() * texts.length)] ?? { text: '' }
    const all = text.match(/[a-z0-9]+/g) ?? []
    const length = 2 + (n % 7)
    const from = Math.floor(random() * (all.length - length))
    if (kind === 'phrase') return all.slice(from, from + length).join(' ')
    const known = [...new Set(all)].filter((word) => !common.has(word))
    const shuffled = known.map((word) => [random(), word] as const).sort((a, b) => a[0] - b[0])
    const chosen = shuffled.slice(0, length)
    return chosen.map(([, word]) => word).join(' ')
  })
}

/** Connects each node to `each` random others. */
export function* linksOf(ids: readonly string[], each: number): Generator<Link> {
  const random = randomFrom(ids.length + 2)
  for (const source of ids)
    for (let n = 0; n < each; n++) {
      const target = ids[Math.floor(random() * ids.length)]
      if (target !== undefined && target !== source) yield { source, target, type: 'connection' }
    }
}

export async function createIndexFile(file: string): Promise<void> {
  const handle = openSqlite(file)
  handle.pragma('journal_mode = wal')
  const db = new Kysely<IndexSchema>({ dialect: sqliteDialect(handle, 'write') })
  await db.transaction().execute((trx) => migrate(trx, indexMigrations, 'index.sqlite'))
  await db.destroy()
}

/** Adds an organisation with these nodes and edges, in one transaction. */
export function fillOrg(file: string, orgId: string, texts: Iterable<Text>, links: Iterable<Link>): void {
  const db = openSqlite(file)
  db.pragma('synchronous = normal')
  const insert = db.prepare(
    `insert into node (id, org_id, title, description, tags, properties, created_at, updated_at, head, ledger, version, changed)
     values (?, ?, ?, '', '[]', '{}', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', null, '', 1, ?)`,
  )
  const insertText = db.prepare('insert into node_text (node_id, text) values (?, ?)')
  const insertLink = db.prepare(
    `insert into edge (org_id, holder, edge_type, key, source, target, connection_type, label) values (?, ?, ?, ?, ?, ?, '', '')`,
  )
  db.transaction(() => {
    db.prepare(
      `insert into org (id, name, published, require_pull_requests, created_at, updated_at, head, epoch)
       values (?, ?, 0, 0, '', '', '', 'epoch')`,
    ).run(orgId, orgId)
    let version = 0
    for (const { id, title, text } of texts) {
      insert.run(id, orgId, title, ++version)
      insertText.run(id, text)
    }
    let key = 0
    for (const { source, target, type } of links) {
      const holder = type === 'connection' ? source : target
      insertLink.run(orgId, holder, type, String(++key), source, target)
    }
    db.prepare('update org set version = ? where id = ?').run(version, orgId)
  })()
  db.close()
}

/** Gives nodes another text, as a commit does. */
export function openChanges(file: string, orgId: string) {
  const db = openSqlite(file)
  db.pragma('synchronous = normal')
  const next = db
    .prepare<[string], number>('update org set version = version + 1 where id = ? returning version')
    .pluck()
  const mark = db.prepare('update node set changed = ? where id = ?')
  const write = db.prepare('update node_text set text = ? where node_id = ?')
  return {
    set: db.transaction((id: string, text: string) => {
      mark.run(next.get(orgId), id)
      write.run(text, id)
    }),
    close: () => db.close(),
  }
}
