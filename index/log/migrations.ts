/** The migrations of `events.sqlite`. */
import { type Kysely, type Migration, sql } from 'kysely'
import { audit } from './audit-tables.ts'

export const logMigrations: Record<string, Migration> = {
  '001_first': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, first)
    },
  },
  '002_webhooks': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, webhooks)
    },
  },
  '003_audit': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, audit)
    },
  },
  '004_moves': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, moves)
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
    origin text,
    primary key (org_id, seq)
  )`,
  'create index event_by_origin on event (recorded_ms) where origin is not null',
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
    origin text,
    at integer not null,
    primary key (node_id, ref, to_oid)
  ) without rowid`,
  'create index intent_by_age on intent (at)',
]

const webhooks = [
  `create table hook_state (
    hook_id text not null primary key,
    org_id text not null,
    planned_seq integer not null,
    planned_chain text not null,
    reason text,
    failing_since integer,
    failures integer not null,
    probe_at integer,
    last_success_at integer,
    created_ms integer not null
  ) without rowid`,
  'create index hook_state_by_org on hook_state (org_id)',
  `create table delivery (
    id text not null primary key,
    hook_id text not null,
    org_id text not null,
    event_id text not null,
    seq integer not null,
    type text not null,
    state text not null,
    attempts integer not null,
    next_ms integer not null,
    claimed_by text,
    claimed_until integer,
    attempted_ms integer,
    status integer,
    ms integer,
    error text,
    response text,
    created_ms integer not null,
    done_ms integer,
    unique (hook_id, event_id)
  )`,
  "create index delivery_pending on delivery (hook_id, next_ms, seq) where state = 'pending'",
  'create index delivery_claimed on delivery (claimed_by) where claimed_by is not null',
  'create index delivery_by_hook on delivery (hook_id, created_ms, seq)',
  'create index delivery_by_org on delivery (org_id, id)',
  'create index delivery_done on delivery (hook_id, done_ms) where done_ms is not null',
  'create index delivery_by_age on delivery (done_ms) where done_ms is not null',
]

const moves = [
  'alter table log add column sealed integer not null default 0',
  'create index log_sealed on log (org_id) where sealed = 1',
]
