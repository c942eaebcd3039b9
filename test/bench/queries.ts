/** Measures queries of 100,000 nodes with 20 properties each, next to SQLite's own functions for JSON. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Filter } from '../../index/properties/filter.ts'
import { answerQuery, type PropertyQuestion, subjectsOf } from '../../index/properties/query.ts'
import type { SortKey } from '../../index/properties/sorting.ts'
import { parseTextFilter } from '../../index/properties/text-filter.ts'
import { parseSort } from '../../index/properties/text-sort.ts'
import { openSnapshots } from '../../index/search/segments/read-snapshots.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { openTables } from '../../server/domain/search/open-tables.ts'
import { randomFrom } from '../support/random.ts'
import { interleave, timeOf } from './measure.ts'
import type { Report } from './report.ts'
import { createIndexFile, fillOrg } from './search-data.ts'

const count = 100_000
const times = 30
const orgId = 'org'
const today = '2026-12-01'

export async function benchQueries(report: Report): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'grove-bench-queries-'))
  try {
    const file = join(folder, 'index.sqlite')
    await createIndexFile(file)
    fillProperties(file, orgId, count)
    await benchFile(report, file)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Nodes of which a third lacks `due`, with 500 authors, 5 states, unique names, and 15 other properties. */
export function fillProperties(file: string, orgId: string, count: number, more: object = {}): void {
  const texts = Array.from({ length: count }, (_, n) => ({ id: idOf(n), title: `Node ${n}`, text: 'A text' }))
  fillOrg(file, orgId, texts, [])
  const db = openSqlite(file)
  const random = randomFrom(count)
  const below = (most: number) => Math.floor(random() * most)
  const states = ['draft', 'in work', 'review', 'done', 'dropped']
  const set = db.prepare('update node set properties = ?, created_at = ? where id = ?')
  db.transaction(() => {
    for (let n = 0; n < count; n++) {
      const others = Object.fromEntries(Array.from({ length: 15 }, (_, at) => [`field_${at}`, `value ${below(1_000)}`]))
      const properties = {
        ...{
          status: states[below(5)],
          author: `author ${below(1_500)}`,
          serves: below(20),
          name: `name ${below(1e9)}`,
        },
        ...(below(3) > 0 && { due: new Date(Date.UTC(2026, 0, 1 + below(700))).toISOString().slice(0, 10) }),
        ...others,
        ...more,
      }
      set.run(JSON.stringify(properties), new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString(), idOf(n))
    }
  })()
  db.close()
}

export function idOf(n: number): string {
  return `n${String(n).padStart(7, '0')}`
}

async function benchFile(report: Report, file: string): Promise<void> {
  const tables = openTables(openSnapshots(file))
  const ask = (question: PropertyQuestion) =>
    tables.ask(orgId, subjectsOf(question), (table, rows) => answerQuery(table, rows, orgId, question))
  const question = (where: string, sort = '', more: Partial<PropertyQuestion> = {}): PropertyQuestion => ({
    ...(where !== '' && { where: parseTextFilter(where, today) as Filter }),
    sort: sort === '' ? [] : (parseSort(sort) as SortKey[]),
    ...{ offset: 0, limit: 50, facets: [], propertiesBytes: 65_536 },
    ...more,
  })
  const db = openSqlite(file, { readonly: true })
  const scan = (condition: string, order = 'created_at') => {
    const all = `from node where org_id = '${orgId}' and ${condition}`
    const page = db.prepare(`select id, title, properties ${all} order by ${order} limit 50`)
    const total = db.prepare(`select count(*) ${all}`)
    return async () => [page.all(), total.get()]
  }
  const property = (name: string) => `json_extract(properties, '$.${name}')`
  const three = `${property('status')} = 'done' and ${property('serves')} >= 4 and ${property('due')} < '2027-06-01'`
  const first = await timeOf(() => ask(question('status=done')))
  const facet = { facets: [{ subject: { property: 'status' }, limit: 5 }] }
  const rows = await interleave(times, [
    ['status = x, page and total', () => ask(question('status=done'))],
    ['the same, by JSON functions of SQLite', scan(`${property('status')} = 'done'`)],
    ['author = x', () => ask(question('author="author 7"'))],
    ['three conditions, sorted by a date', () => ask(question('status=done serves>=4 due<2027-06-01', 'due'))],
    ['the same, by JSON functions of SQLite', scan(three, property('due'))],
    ['the same at offset 5,000', () => ask(question('status=done serves>=4 due<2027-06-01', 'due', { offset: 5_000 }))],
    ['all, sorted by a unique text', () => ask(question('', 'name'))],
    ['the same at offset 99,900', () => ask(question('', 'name', { offset: 99_900 }))],
    ['a facet of 5 values', () => ask(question('', '', { ...facet, limit: 1 }))],
    ['a property is missing', () => ask(question('-due:*'))],
    ['a text contains', () => ask(question('name~77'))],
  ])
  report.rows(`Queries of ${count} nodes with 20 properties`, 'ms', rows)
  report.say(`The first question, which makes the table and one column: ${Math.round(first)} ms`)
  report.say(`Estimated memory of 6 columns: ${Math.round(tables.gauges().bytes / 2 ** 20)} MiB`)
  db.close()
}
