/** The codes that an answer may name, and what to do next where that is known. Any other code is words of others. */
import type { ErrorCode } from '../../spec/client/errors.ts'

/** Codes of tools themselves. */
type OwnCode = 'not_a_text'

const nothing = undefined

const advice: Readonly<Record<ErrorCode | OwnCode, string | undefined>> = {
  bad_request: nothing,
  unauthenticated: nothing,
  invalid_token:
    'it was revoked, has ended or is mistyped: a person makes another on the page /me/tokens of Grove and gives it to this client as GROVE_TOKEN',
  invalid_credentials: nothing,
  forbidden: 'the role in this organisation does not allow it; another call will not change that',
  token_scope: 'the token of this connection does not allow it; another call will not change that',
  account_disabled: nothing,
  signup_closed: nothing,
  org_not_found: 'list_organisations has the ids',
  node_not_found: 'search and list_nodes have the ids',
  branch_not_found: 'without branch, main is read',
  commit_not_found: nothing,
  file_not_found: nothing,
  object_not_found: nothing,
  pull_request_not_found: nothing,
  member_not_found: nothing,
  account_not_found: nothing,
  parent_not_found: nothing,
  connection_not_found: nothing,
  token_not_found: nothing,
  session_not_found: nothing,
  invitation_not_found: nothing,
  not_found: nothing,
  method_not_allowed: nothing,
  request_timeout: nothing,
  email_taken: nothing,
  head_moved: 'read the node again and propose on what it says now',
  no_changes: nothing,
  node_exists: nothing,
  branch_exists: nothing,
  branch_name_taken: nothing,
  branch_protected: nothing,
  connection_exists: nothing,
  last_owner: nothing,
  own_account: nothing,
  too_many_tokens: nothing,
  too_many_invitations: nothing,
  too_many_branches: nothing,
  too_many_commits: nothing,
  too_many_members: nothing,
  pull_request_exists: nothing,
  pull_request_required: nothing,
  merged: nothing,
  merge_conflict: nothing,
  already_merged: nothing,
  closed: nothing,
  source_branch_missing: nothing,
  target_branch_missing: nothing,
  no_commits_ahead: nothing,
  diverged: 'main has moved meanwhile: the same call again proposes on what it says now',
  invalid_content: 'nothing was proposed',
  draft: nothing,
  too_large: nothing,
  unsupported_media_type: nothing,
  range_not_satisfiable: nothing,
  expectation_failed: nothing,
  rate_limited: 'wait, then call again',
  headers_too_large: nothing,
  internal_error: nothing,
  busy: 'call again in a few seconds',
  storage_full: nothing,
  storage_readonly: nothing,
  storage_error: nothing,
  repo_damaged: nothing,
  draining: 'call again in a few seconds',
  outcome_unknown: nothing,
  search_unavailable: nothing,
  moving: nothing,
  invalid: nothing,
  no_answer:
    'call again later; if it lasts, a person sees to it that the service runs, and that GROVE_URL is its address',
  unknown: nothing,
  not_a_text: nothing,
}

const known: ReadonlyMap<string, string | undefined> = new Map(Object.entries(advice))

export function isKnownCode(code: string): boolean {
  return known.has(code)
}

/** What to do next; undefined where nothing is known. */
export function adviceOn(code: string): string | undefined {
  return known.get(code)
}
