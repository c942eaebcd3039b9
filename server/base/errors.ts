/** Refusals that a caller can act on, and the HTTP status of each error code. */

import type { Limit } from './counters.ts'
import { plural } from './plural.ts'

/** Reasons why a pull request cannot merge, with the status of a merge. An error's `code` is the first reason. */
const mergeRefusals = {
  already_merged: 409,
  closed: 409,
  source_branch_missing: 409,
  target_branch_missing: 409,
  no_commits_ahead: 409,
  diverged: 409,
  invalid_content: 409,
  draft: 409,
  changes_requested: 409,
  approvals_missing: 409,
  checks_failed: 409,
  checks_missing: 409,
  threads_open: 409,
  in_change_set: 409,
} as const

/** Reasons why a change set cannot merge, besides those of its items. */
const setRefusals = {
  empty: 409,
  item_gone: 409,
} as const

/** The HTTP status of each code. `npm run generate` makes `KnownErrorCode` of the API description from it. */
export const statusOf = {
  bad_request: 400,
  sign_in_failed: 400,
  unauthenticated: 401,
  invalid_token: 401,
  invalid_credentials: 401,
  sign_in_required: 401,
  forbidden: 403,
  token_scope: 403,
  account_disabled: 403,
  signup_closed: 403,
  quota_exceeded: 403,
  password_login_off: 403,
  provider_refused: 403,
  email_unverified: 403,
  confirmation_required: 403,
  org_not_found: 404,
  node_not_found: 404,
  branch_not_found: 404,
  commit_not_found: 404,
  file_not_found: 404,
  object_not_found: 404,
  pull_request_not_found: 404,
  change_set_not_found: 404,
  comment_not_found: 404,
  thread_not_found: 404,
  review_not_found: 404,
  entry_not_found: 404,
  member_not_found: 404,
  account_not_found: 404,
  parent_not_found: 404,
  connection_not_found: 404,
  token_not_found: 404,
  session_not_found: 404,
  identity_not_found: 404,
  invitation_not_found: 404,
  import_not_found: 404,
  webhook_not_found: 404,
  bot_not_found: 404,
  delivery_not_found: 404,
  type_not_found: 404,
  draft_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  email_taken: 409,
  account_exists: 409,
  identity_taken: 409,
  too_many_identities: 409,
  last_way_in: 409,
  head_moved: 409,
  no_changes: 409,
  node_exists: 409,
  node_in_trash: 409,
  rule_would_end: 409,
  branch_exists: 409,
  branch_name_taken: 409,
  branch_protected: 409,
  connection_exists: 409,
  last_owner: 409,
  own_account: 409,
  too_many_tokens: 409,
  too_many_connections: 409,
  too_many_follows: 409,
  too_many_invitations: 409,
  too_many_webhooks: 409,
  too_many_bots: 409,
  too_many_types: 409,
  too_many_drafts: 409,
  version_moved: 409,
  type_in_use: 409,
  impact_changed: 409,
  secret_lost: 409,
  too_many_branches: 409,
  too_many_commits: 409,
  too_many_members: 409,
  import_running: 409,
  import_ended: 409,
  pull_request_exists: 409,
  item_exists: 409,
  too_many_items: 409,
  too_many_change_sets: 409,
  pull_request_required: 409,
  comment_exists: 409,
  comment_deleted: 409,
  applied: 409,
  suggestion_outdated: 409,
  suggestions_overlap: 409,
  too_many_comments: 409,
  check_exists: 409,
  too_many_checks: 409,
  own_pull_request: 409,
  merged: 409,
  not_merged: 409,
  merge_conflict: 409,
  ...mergeRefusals,
  ...setRefusals,
  too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  expectation_failed: 417,
  cursor_gone: 410,
  rate_limited: 429,
  too_many_streams: 429,
  headers_too_large: 431,
  internal_error: 500,
  busy: 503,
  storage_full: 503,
  storage_readonly: 503,
  storage_error: 503,
  repo_damaged: 503,
  draining: 503,
  outcome_unknown: 503,
  search_unavailable: 503,
  moving: 503,
  maintenance: 503,
  org_needs_newer_version: 503,
  provider_unavailable: 503,
} as const

export type ErrorCode = keyof typeof statusOf

/** The codes of refusals: all but those of the HTTP parser and of faults. */
export type RefusalCode = Exclude<ErrorCode, 'headers_too_large' | 'internal_error'>

export type MergeRefusal = keyof typeof mergeRefusals

/**
 * A refusal. `detail` is a sentence for people. `facts` are further fields of the response; `location` and
 * `retry_after`, in seconds, become headers.
 */
export class AppError extends Error {
  readonly code: RefusalCode
  readonly facts: Readonly<Record<string, unknown>>

  constructor(code: RefusalCode, detail: string, facts: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(detail, options)
    this.name = 'AppError'
    this.code = code
    this.facts = facts
  }
}

/** Pydantic's problem types. */
type ProblemType =
  | 'missing'
  | 'extra_forbidden'
  | 'json_invalid'
  | 'string_type'
  | 'string_too_short'
  | 'string_too_long'
  | 'string_pattern_mismatch'
  | 'int_type'
  | 'int_parsing'
  | 'bool_type'
  | 'list_type'
  | 'dict_type'
  | 'too_short'
  | 'too_long'
  | 'less_than_equal'
  | 'greater_than_equal'
  | 'enum'
  | 'uuid_parsing'
  | 'datetime_parsing'
  | 'scope_too_large'
  | 'embeddings_off'
  | 'filter_syntax'
  | 'filter_too_large'
  | 'value_error'
  | 'type_rule'
  | 'unknown_keyword'

/** A rate limit is exceeded. Retry after `waitSeconds`. */
export class RateLimitedError extends AppError {
  readonly limit: Limit
  readonly waitSeconds: number

  constructor(what: string, limit: Limit, waitSeconds: number) {
    super('rate_limited', `Too many ${what}; try again in ${plural(waitSeconds, 'second')}`)
    this.limit = limit
    this.waitSeconds = waitSeconds
  }
}

/**
 * A problem of a request. `type` uses pydantic's names. `loc` begins with body, query, path or header. `msg` is a
 * sentence that is right without `loc`.
 */
export interface Problem {
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: ProblemType
  readonly input?: unknown
  readonly ctx?: Readonly<Record<string, unknown>>
}

/** 422: a well-formed request that breaks a rule. */
export class ValidationError extends Error {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map((problem) => `${problem.loc.join('.')}: ${problem.msg}`).join('; '))
    this.name = 'ValidationError'
    this.problems = problems
  }
}

/** Returns an error with one problem of type `value_error` at `loc`. */
export function invalid(loc: readonly (string | number)[], msg: string, input?: unknown): ValidationError {
  return new ValidationError([{ loc, msg, type: 'value_error', ...(input === undefined ? {} : { input }) }])
}

/** The client has disconnected. Work that stops for this reason has not failed. */
export class ClientDisconnectedError extends Error {
  constructor() {
    super('The client has disconnected')
    this.name = 'ClientDisconnectedError'
  }
}
