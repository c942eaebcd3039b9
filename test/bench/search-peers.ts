/** Opens other searches over the same texts, for comparison. */

import MiniSearch from 'minisearch'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import type { Text } from './search-data.ts'

/** MiniSearch with its defaults. */
export function openMiniSearch(texts: readonly Text[]): (query: string) => unknown[] {
  const mini = new MiniSearch<Text>({ fields: ['title', 'text'] })
  mini.addAll(texts)
  return (query) => mini.search(query)
}

/** SQLite's full text index in memory. Matches any of the words, and returns the best 10 by bm25. */
export function openFts(texts: readonly Text[]): (query: string) => string[] {
  const db = openSqlite(':memory:')
  db.exec("create virtual table document using fts5(id unindexed, title, text, tokenize = 'porter unicode61')")
  const insert = db.prepare<[string, string, string]>('insert into document values (?, ?, ?)')
  db.transaction(() => {
    for (const { id, title, text } of texts) insert.run(id, title, text)
  })()
  const search = db
    .prepare<[string], string>('select id from document where document match ? order by rank limit 10')
    .pluck()
  return (query) => {
    const words = query.match(/[\p{L}\p{N}]+/gu) ?? []
    return words.length === 0 ? [] : search.all(words.map((word) => `"${word}"`).join(' OR '))
  }
}
