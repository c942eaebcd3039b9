/** Reads the log of a service's organisation, as its database has it. */

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'

export interface LoggedEvent {
  readonly id: string
  readonly seq: number
  readonly type: string
  readonly subject?: string
  readonly via?: string
  readonly time: string
  // biome-ignore lint/suspicious/noExplicitAny: each type has its own data
  readonly data: any
}

/** Reads all events of an organisation, and checks that there is no hole and that the chain holds. */
export function readLog({ dataDir }: { readonly dataDir: string }, org: string): LoggedEvent[] {
  const db = openSqlite(join(dataDir, 'events.sqlite'), { readonly: true })
  try {
    const log = db.prepare('select * from log where org_id = ?').get(org) as Record<string, string | number> | undefined
    const rows = db.prepare('select * from event where org_id = ? order by seq').all(org) as Record<
      string,
      string | number
    >[]
    let chain = String(log?.base_chain ?? '')
    let seq = Number(log?.base_seq ?? 0)
    for (const row of rows) {
      chain = createHash('sha256').update(`${chain}${row.id}`).digest('hex').slice(0, 16)
      expect({ seq: row.seq, chain: row.chain }).to.deep.equal({ seq: ++seq, chain })
    }
    expect(log && { seq: log.seq, chain: log.chain }).to.deep.equal(log && { seq, chain })
    return rows.map(({ body }) => JSON.parse(String(body)))
  } finally {
    db.close()
  }
}

/** The events that follow one of them. */
export function eventsSince(grove: { readonly dataDir: string }, org: string, seq: number): LoggedEvent[] {
  return readLog(grove, org).filter((event) => event.seq > seq)
}
