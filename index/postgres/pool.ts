/** The pool of PostgreSQL connections of one process, with time limits for every wait. */
import type pg from 'pg'

/** Time limits in milliseconds. */
export const clocks = {
  /** Wait for a new connection, or for one that is in use. */
  connect: 5_000,
  /** A statement in a transaction, including waits for row locks. PostgreSQL enforces it. */
  statement: 10_000,
  /** Wait for the response to any statement. Longer, so that PostgreSQL's own limit comes first. */
  answer: 12_000,
  /** A transaction that sends nothing. Its process was stopped, and other transactions wait for its rows. */
  idleInTransaction: 10_000,
  /** Time until an unused connection is closed. */
  idle: 60_000,
} as const

/** Seconds after which a connection is replaced. The host name may have moved to another machine. */
const lifetimeSeconds = 1_800

export interface PostgresAddress {
  /** A URL `postgres://…`. Its `sslmode` has the same meaning as in libpq. */
  readonly url: string
  /** The maximum number of connections. */
  readonly connections: number
}

/** The OID of int8, PostgreSQL's type for counts, which node-postgres returns as a string. */
const int8 = 20

/**
 * Creates a pool that connects on first use. Keeps no session state, because a pooler may run each transaction on
 * another connection.
 */
export async function newPool({ url, connections }: PostgresAddress): Promise<pg.Pool> {
  // Imported here, so that a service without PostgreSQL does not load it.
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
    // A command can exit when it is done, even if PostgreSQL or a proxy does not close the connection.
    allowExitOnIdle: true,
    maxLifetimeSeconds: lifetimeSeconds,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: {
      getTypeParser: (type, format) => (type === int8 ? Number : types.getTypeParser(type, format)),
    },
  })
  // If a connection breaks while a statement runs, that statement fails. The pool drops other broken connections.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
