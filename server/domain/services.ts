/** The services that use cases need, and the context of one use case. Created once, in bootstrap.ts. */

import type { Logger } from 'pino'
import type { Store } from '../../gitstore/refs/ref-transaction.ts'
import type { CredentialsSchema } from '../../index/credentials/schema.ts'
import type { IndexSchema } from '../../index/derived/schema.ts'
import type { LogSchema } from '../../index/log/schema.ts'
import type { Database } from '../../index/sqlite/database.ts'
import type { Config } from '../base/config.ts'
import type { LimitMail, LimitSignIn } from '../base/counters.ts'
import type { Rounds } from '../base/rounds.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Keys } from './accounts/keys.ts'
import type { Actor, Operator, Person, RequestContext } from './actor.ts'
import type { ReserveWatch } from './disk-reserve.ts'
import type { Embeddings } from './embeddings/embeddings.ts'
import type { PartialIndex } from './indexing/partial-index.ts'
import type { MaintenanceWatch } from './maintenance-mode.ts'
import type { GuardedFetch } from './net/guarded-fetch.ts'
import type { Origin } from './origin.ts'
import type { Placement } from './placement.ts'
import type { SearchThread } from './search/search-thread.ts'
import type { Settled } from './settled.ts'

/** Parts of a request that work for it passes on. Absent in background work and commands. */
interface RequestParts {
  /** How the request came. */
  readonly origin?: Origin
  /** Rows that the door of the operation has read. */
  readonly settled?: Settled
  /** Notes how long the request waited for a queue. */
  waited?(ms: number): void
}

/** The imports that a process of the service has received. One runs at a time. */
export interface ImportQueue {
  /**
   * Takes a place for an import of the user. Call the function to give it back; `add` does so at the end.
   *
   * @throws AppError busy
   */
  reserve(userId: string): () => void
  /**
   * Starts an import, which writes its record from now to its end.
   *
   * @param work runs its heavy part by `turn`, and stops when `closing` is aborted
   */
  add(work: (turn: Turn, closing: AbortSignal) => Promise<void>, release: () => void): void
  /** Stops all imports, and resolves when their records say so. */
  close(): Promise<void>
}

/** Runs work when no other work of the queue runs. */
export type Turn = <T>(run: () => Promise<T>) => Promise<T>

export interface Services extends RequestParts {
  readonly config: Config
  /** The port on which this process listens. Before it does, and in a command, the configured one. */
  readonly listening: { port: number }
  /** The only clock. */
  now(): Date
  readonly log: Logger
  /** Source of truth: accounts, sessions, keys. */
  readonly credentials: Database<CredentialsSchema>
  /** Derived from the repositories. */
  readonly index: Database<IndexSchema>
  /** The index for queries of all organisations. Set if `index` may be complete only for the one of the request. */
  readonly wholeIndex?: Database<IndexSchema>
  /** The log of events. Nothing else has their order. */
  readonly events: Database<LogSchema>
  /** Absent in a command. */
  readonly partialIndex?: PartialIndex
  /** Search by meaning: the model and the vectors of texts. Absent without a model, and in most commands. */
  readonly embeddings?: Embeddings
  readonly store: Store
  readonly keys: Keys
  readonly search: SearchThread
  readonly metrics: Metrics
  /** Knows the cell of each organisation, and whether this process may write. */
  readonly placement: Placement
  /** Knows whether the service is in maintenance. */
  readonly maintenance: MaintenanceWatch
  /** Knows whether the disk is full. */
  readonly reserve: ReserveWatch
  /** Limits failed sign-ins. */
  readonly limitSignIn: LimitSignIn
  /** Limits mails. */
  readonly limitMail: LimitMail
  /** Aborted when the service stops accepting requests. */
  readonly draining: AbortSignal
  /** The background work of this process. */
  readonly rounds: Rounds
  /** Imports of uploaded archives. Absent in a command. */
  readonly imports?: ImportQueue
  /** Returns the metrics of all processes of this service as Prometheus text. Absent in a command. */
  scrape?(): Promise<string>
  /** Fetches documents of programs. Absent: `guardedFetch`. Tests resolve names and trust their own certificates. */
  readonly fetchDocument?: GuardedFetch
}

/** The context of a use case: the services, and the caller. */
export interface Ctx<A extends Actor | Operator = Actor> extends Services {
  readonly actor: A
}

/** True if a user calls, not the operator and not an anonymous reader. */
export function isPersons(ctx: Ctx<Actor | Operator>): ctx is Ctx<Person> {
  return ctx.actor.kind === 'person'
}

/** The context of a use case that answers a request. */
export interface RequestCtx<A extends Actor = Actor> extends Ctx<A>, RequestContext<A> {}
