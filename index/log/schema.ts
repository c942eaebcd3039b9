/** The tables of `events.sqlite`: what happened, in one order for each organisation. Nothing else holds that order. */

import type { Generated, Kysely } from 'kysely'

/** The log of an organisation. */
interface LogTable {
  org_id: string
  /** Random. Another log of the same organisation has another one. */
  log_id: string
  /** The number of the last event. */
  seq: number
  /** The chain value of the last event. */
  chain: string
  /** The last event that was removed, or 0. Cursors before it are too old. */
  base_seq: number
  base_chain: string
  /** ISO 8601. */
  began_at: string
  /** 1 if every repository is recorded. Before that, repositories that are older than the log are not reported. */
  whole: number
  /** 1 while the log moves to another cell or from one. Nothing is appended then. */
  sealed: Generated<number>
}

interface EventTable {
  org_id: string
  seq: number
  /** SHA-256 over the chain value before it and the id, 16 hex digits. */
  chain: string
  /** 32 hex digits. */
  id: string
  /** Null if it is not about a node. */
  node_id: string | null
  type: string
  /** When it happened. ISO 8601. */
  at: string
  /** When it was recorded, in milliseconds since 1970. */
  recorded_ms: number
  /** 1 if a published organisation shows it to anyone. */
  public: number
  /** The JSON as it is sent. */
  body: string
  /** How the request came, as JSON. Only the audit shows it, and it is removed after 30 days. */
  origin: string | null
}

/** The state of a repository that the events describe. An organisation's own repository has the organisation's id. */
interface RecordedRepoTable {
  node_id: string
  org_id: string
  /** Increases with each change of the row. */
  version: number
  /** The head of the ledger, or of org.git. */
  ledger: string
  /** SHA-256 of all refs. Empty if some of them are not recorded yet. */
  digest: string
  /** 1 if the repository is deleted. Its refs are kept, in case it comes back. */
  gone: number
}

interface RecordedRefTable {
  node_id: string
  ref: string
  oid: string
}

/** The user who is about to move a ref. Kept for an hour at most. */
interface IntentTable {
  node_id: string
  ref: string
  /** Empty: the ref is deleted. */
  to_oid: string
  /** JSON. */
  actor: string
  via: string
  /** How the request came, as JSON. */
  origin: string | null
  /** Milliseconds since 1970. */
  at: Generated<number>
}

/** Facts that only the service saw: sign-ins, tokens, clones, acts of the operator. */
interface AuditTable {
  /** The order of writing. */
  n: Generated<number>
  /** A UUID. */
  id: string
  /** Milliseconds since 1970. */
  at_ms: number
  /** The last time, if the row counts several. Milliseconds since 1970. */
  last_ms: Generated<number | null>
  org_id: string | null
  node_id: string | null
  actor_kind: 'user' | 'operator' | 'service' | 'anonymous'
  actor_id: string | null
  /** Empty after the account was deleted. */
  actor_name: string | null
  /** The personal access token of the request. */
  token_id: string | null
  /** The account that it concerns. */
  account_id: string | null
  action: string
  target_type: string | null
  target_id: string | null
  outcome: 'success' | 'failure' | 'refused'
  via: string
  /** An IP address, or its network after some time. */
  address: string | null
  /** 1 if the address is cut to its network. */
  address_cut: Generated<number>
  user_agent: string | null
  request_id: string | null
  /** How often it happened. */
  count: Generated<number>
  /** Bytes that were sent. */
  bytes: Generated<number>
  /** JSON. */
  detail: string | null
  /** Rows with the same key are one. */
  merge_key: string | null
}

/** Users whose names are to leave the events. */
interface ForgottenTable {
  user_id: string
  name: string
  /** Milliseconds since 1970. */
  deleted_ms: number
  /** The next pass begins at this time. Milliseconds since 1970. */
  due_ms: number
  passes: number
  /** The last event that this pass has read. */
  org_id: string
  seq: number
}

/** How far the deliveries of a webhook have come. */
interface HookStateTable {
  hook_id: string
  org_id: string
  /** The last event that has its delivery, or that the webhook does not want. */
  planned_seq: number
  planned_chain: string
  /** Why it is disabled. Null: it is not. */
  reason: DisabledReason | null
  /** When the first attempt failed after the last success, in milliseconds since 1970. Null: the last one succeeded. */
  failing_since: number | null
  /** Probes that failed one after the other. */
  failures: number
  /** While it fails: when the next delivery may probe. */
  probe_at: number | null
  last_success_at: number | null
  created_ms: number
}

/** An event for a webhook. Times are in milliseconds since 1970. */
interface DeliveryTable {
  id: string
  hook_id: string
  org_id: string
  event_id: string
  seq: number
  type: string
  state: DeliveryState
  attempts: number
  /** Not before this time is the next attempt. */
  next_ms: number
  /** The process that is sending it. */
  claimed_by: string | null
  claimed_until: number | null
  /** The last attempt, and its outcome. */
  attempted_ms: number | null
  status: number | null
  ms: number | null
  error: string | null
  response: string | null
  created_ms: number
  done_ms: number | null
}

export type DeliveryState = 'pending' | 'delivered' | 'failed'

/** An owner did it, the receiver answered 410, or nothing succeeded for days. */
export type DisabledReason = 'by_owner' | 'gone' | 'failing' | 'revoked'

export interface LogSchema {
  log: LogTable
  event: EventTable
  recorded_repo: RecordedRepoTable
  recorded_ref: RecordedRefTable
  intent: IntentTable
  audit: AuditTable
  forgotten: ForgottenTable
  hook_state: HookStateTable
  delivery: DeliveryTable
}

export type LogDb = Kysely<LogSchema>
