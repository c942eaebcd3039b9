/** Refusals of the domain, which a caller can act on; `http/error-responses.ts` has the status of each code. */

import { counted } from './counted.ts'
import type { Limit } from './counters.ts'

export type RefusalCode =
  // 400, 408, 417
  | 'bad_request'
  | 'request_timeout'
  | 'expectation_failed'
  // 401
  | 'unauthenticated'
  | 'invalid_token'
  | 'invalid_credentials'
  // 403
  | 'forbidden'
  | 'token_scope'
  | 'account_disabled'
  | 'signup_closed'
  // 404
  | 'org_not_found'
  | 'node_not_found'
  | 'branch_not_found'
  | 'commit_not_found'
  | 'file_not_found'
  | 'object_not_found'
  | 'pull_request_not_found'
  | 'member_not_found'
  | 'account_not_found'
  | 'parent_not_found'
  | 'connection_not_found'
  | 'token_not_found'
  | 'session_not_found'
  | 'invitation_not_found'
  | 'not_found'
  // 409
  | 'email_taken'
  | 'head_moved'
  | 'no_changes'
  | 'node_exists'
  | 'branch_exists'
  | 'branch_name_taken'
  | 'branch_protected'
  | 'connection_exists'
  | 'last_owner'
  | 'own_account'
  | 'too_many_tokens'
  | 'too_many_invitations'
  | 'too_many_branches'
  | 'too_many_commits'
  | 'too_many_members'
  | 'pull_request_exists'
  | 'pull_request_required'
  | 'merged'
  | 'merge_conflict'
  | MergeRefusal
  // 413, 415, 416, 405, 429
  | 'too_large'
  | 'range_not_satisfiable'
  | 'unsupported_media_type'
  | 'method_not_allowed'
  | 'rate_limited'
  // 503
  | 'busy'
  | 'storage_full'
  | 'storage_readonly'
  | 'storage_error'
  | 'repo_damaged'
  | 'draining'
  | 'outcome_unknown'
  | 'search_unavailable'
  | 'moving'

/** Why a pull request cannot merge; the 409 of a merge has the first reason. */
export type MergeRefusal =
  | 'already_merged'
  | 'closed'
  | 'source_branch_missing'
  | 'target_branch_missing'
  | 'no_commits_ahead'
  | 'diverged'
  | 'invalid_content'
  | 'draft'

/**
 * `detail` is a sentence for people. `facts` are further members of the response; `location` becomes its header.
 */
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly facts: Readonly<Record<string, unknown>>

  constructor(code: RefusalCode, detail: string, facts: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(detail, options)
    this.name = 'Refusal'
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
  | 'value_error'

/** A rate limit is exceeded; retry after so many seconds. */
export class RateLimited extends Refusal {
  readonly limit: Limit
  readonly waitSeconds: number

  constructor(what: string, limit: Limit, waitSeconds: number) {
    super('rate_limited', `Too many ${what}; try again in ${counted(waitSeconds, 'second')}`)
    this.limit = limit
    this.waitSeconds = waitSeconds
  }
}

/** A problem of a request. `type` uses pydantic's names; `loc` begins with body, query, path or header. */
export interface Problem {
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: ProblemType
  readonly input?: unknown
  readonly ctx?: Readonly<Record<string, unknown>>
}

/** 422: a well-formed request that breaks a rule. */
export class Invalid extends Error {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map((problem) => `${problem.loc.join('.')}: ${problem.msg}`).join('; '))
    this.name = 'Invalid'
    this.problems = problems
  }
}

/** A problem of type `value_error` at `loc`. */
export function invalid(loc: readonly (string | number)[], msg: string, input?: unknown): Invalid {
  return new Invalid([{ loc, msg, type: 'value_error', ...(input === undefined ? {} : { input }) }])
}

/** The client has disconnected; work that stops for this reason has not failed. */
export class ClientGone extends Error {
  constructor() {
    super('The client has gone')
    this.name = 'ClientGone'
  }
}
