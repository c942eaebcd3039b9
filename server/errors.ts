/** What the domain refuses, in words that a caller can act on; `http/answers.ts` turns each code into a status. */

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
  | 'too_many_tokens'
  | 'too_many_branches'
  | 'too_many_commits'
  | 'too_many_members'
  | 'pull_request_exists'
  | 'pull_request_required'
  | 'merged'
  | 'merge_conflict'
  | MergeRefusal
  // 413, 415, 405, 429
  | 'too_large'
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

/** Why a pull request cannot merge; the 409 of a merge carries the first that holds. */
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
 * The caller can act on it: `detail` is a sentence for people, `facts` are additional members of the answer, `location`
 * among them its header.
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

/** Pydantic's names of what can be wrong. */
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
  | 'value_error'

/** One too many of something, for so many seconds. */
export class RateLimited extends Refusal {
  readonly limit: Limit
  readonly waitSeconds: number

  constructor(what: string, limit: Limit, waitSeconds: number) {
    super('rate_limited', `Too many ${what}; try again in ${waitSeconds} ${waitSeconds === 1 ? 'second' : 'seconds'}`)
    this.limit = limit
    this.waitSeconds = waitSeconds
  }
}

/** One thing wrong with what was sent; `type` uses pydantic's names, `loc` begins with body, query, path or header. */
export interface Problem {
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: ProblemType
  readonly input?: unknown
  readonly ctx?: Readonly<Record<string, unknown>>
}

/** 422: the request is understood and breaks a rule. */
export class Invalid extends Error {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map((problem) => `${problem.loc.join('.')}: ${problem.msg}`).join('; '))
    this.name = 'Invalid'
    this.problems = problems
  }
}

/** A rule of the domain that `loc` breaks: type `value_error`. */
export function invalid(loc: readonly (string | number)[], msg: string, input?: unknown): Invalid {
  return new Invalid([{ loc, msg, type: 'value_error', ...(input === undefined ? {} : { input }) }])
}

/** Nobody waits for the answer any more; what stops for this reason is no fault. */
export class ClientGone extends Error {
  constructor() {
    super('The client has gone')
    this.name = 'ClientGone'
  }
}
