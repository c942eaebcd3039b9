/** The migrations of `events.sqlite`. */
import { type Kysely, type Migration, sql } from 'kysely'
import { audit } from './audit-tables.ts'

export const logMigrations: Record<string, Migration> = {
  '001_first': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, first)
    },
  },
  '003_audit': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, audit)
    },
  },
}

async function run(db: Kysely<unknown>, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

const first = [
  `create table log (
    org_id text not null primary key,
    log_id text not null,
    seq integer not null,
    chain text not null,
    base_seq integer not null,
    base_chain text not null,
    began_at text not null,
    whole integer not null
  ) without rowid`,
  `create table event (
    org_id text not null,
    seq integer not null,
    chain text not null,
    id text not null unique,
    node_id text,
    type text not null,
    at text not null,
    recorded_ms integer not null,
    public integer not null,
    body text not null,
    primary key (org_id, seq)
  )`,
  'create index event_by_node on event (org_id, node_id, seq) where node_id is not null',
  `create table recorded_repo (
    node_id text not null primary key,
    org_id text not null,
    version integer not null,
    ledger text not null,
    digest text not null,
    gone integer not null
  ) without rowid`,
  'create index recorded_repo_by_org on recorded_repo (org_id, node_id)',
  `create table recorded_ref (
    node_id text not null,
    ref text not null,
    oid text not null,
    primary key (node_id, ref)
  ) without rowid`,
  `create table intent (
    node_id text not null,
    ref text not null,
    to_oid text not null,
    actor text not null,
    via text not null,
    request_id text,
    at integer not null,
    primary key (node_id, ref, to_oid)
  ) without rowid`,
  'create index intent_by_age on intent (at)',
]
