/** The migrations of `vectors.sqlite`. */
import { type Kysely, type Migration, sql } from 'kysely'

export const vectorsMigrations: Record<string, Migration> = {
  '001_first': {
    async up(db: Kysely<unknown>): Promise<void> {
      for (const statement of first) await sql.raw(statement).execute(db)
    },
  },
}

/** Passages have row ids. A table without them would need two pages for a long vector. */
const first = [
  `create table model (
    number integer primary key,
    id text not null unique,
    name text not null,
    dimensions integer not null
  )`,
  `create table passage (
    org_id text not null,
    model integer not null references model (number),
    key blob not null,
    vector blob not null
  )`,
  'create unique index passage_by_key on passage (org_id, model, key)',
  `create table node (
    org_id text not null,
    model integer not null references model (number),
    node_id text not null,
    seq integer not null,
    head text not null,
    gone integer not null,
    keys blob not null,
    vector blob not null,
    characters integer not null,
    primary key (org_id, model, node_id)
  )`,
  'create unique index node_by_seq on node (org_id, model, seq)',
  `create table position (
    org_id text not null,
    model integer not null references model (number),
    incarnation text not null,
    epoch text not null,
    version integer not null,
    after_id text not null,
    gone_version integer not null,
    gone_after_id text not null,
    compared integer not null,
    seq integer not null,
    settled integer not null,
    swept_ms integer not null,
    primary key (org_id, model)
  ) without rowid`,
  `create table erasure (
    org_id text not null primary key,
    generation text not null,
    unscrubbed text not null
  ) without rowid`,
]
