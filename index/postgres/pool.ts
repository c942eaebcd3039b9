/** The connections to PostgreSQL of one process, each wait for them with a clock. */
import type pg from 'pg'

/** Milliseconds. */
export const clocks = {
  /** To connect, or for a connection that others have. */
  connect: 5_000,
  /** Of a statement in a transaction, set in PostgreSQL; waits for rows included. */
  statement: 10_000,
  /** For the answer to any statement: longer, so that PostgreSQL's own clock comes first. */
  answer: 12_000,
  /** Of a transaction that sends nothing: its process was stopped, and others wait for its rows. */
  idleInTransaction: 10_000,
  /** Until an unused connection is closed. */
  idle: 60_000,
} as const

/** Seconds after which a connection is replaced: a name may lead to another machine by then. */
const lifetimeSeconds = 1_800

export interface PostgresAddress {
  /** `postgres://…`; its `sslmode` means what it means to libpq. */
  readonly url: string
  /** Connections at most. */
  readonly connections: number
}

/** The number of PostgreSQL's type for counts, int8, which node-postgres gives as text. */
const int8 = 20

/** Connects when it is first asked. Nothing of a session is kept: a pooler may give each transaction another connection. */
export async function newPool({ url, connections }: PostgresAddress): Promise<pg.Pool> {
  // Here, so that a service without PostgreSQL does not load it.
  const { Pool, types } = (await import('pg')).default
  const address = new URL(url)
  address.searchParams.set('uselibpqcompat', 'true')
  const pool = new Pool({
    connectionString: address.href,
    max: connections,
    application_name: 'grove',
    connectionTimeoutMillis: clocks.connect,
    query_timeout: clocks.answer,
    idleTimeoutMillis: clocks.idle,
    // A command ends with its work, also where PostgreSQL, or what lies before it, does not close the connection.
    allowExitOnIdle: true,
    maxLifetimeSeconds: lifetimeSeconds,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: {
      getTypeParser: (type, format) => (type === int8 ? Number : types.getTypeParser(type, format)),
    },
  })
  // A connection that breaks while a statement runs fails that statement; the pool drops the others.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
