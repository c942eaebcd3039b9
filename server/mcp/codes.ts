/** The error codes that an answer may name, with advice on some. Any other code is untrusted text. */
import { type ErrorCode, statusOf } from '../base/errors.ts'

/** Codes of the client and the tools. The service itself never sends them. */
const ownCodes = ['invalid', 'no_answer', 'unknown', 'not_a_text'] as const

const known: ReadonlySet<string> = new Set([...Object.keys(statusOf), ...ownCodes])

const advice: Readonly<Partial<Record<ErrorCode | (typeof ownCodes)[number], string>>> = {
  invalid_token:
    'The token was revoked, has expired or is mistyped. Ask a user to create another on the page /me/tokens of Grove and to set it as GROVE_TOKEN in this client',
  forbidden: 'Your role does not allow this. Retrying will not help',
  token_scope: 'This token does not allow this. Retrying will not help',
  type_not_found: 'Get the name from list_types',
  org_not_found: 'Get the id from list_organisations',
  node_not_found: 'Get the id from search or list_nodes',
  pull_request_not_found: 'Get the number from list_proposals',
  change_set_not_found: 'Get the number from list_proposals or waiting',
  thread_not_found: 'Get the number of the thread from read_discussion',
  review_not_found: 'Get the number of the comment or review from read_discussion',
  too_many_comments: 'Ask a user to continue in another proposal',
  branch_not_found: 'Omit branch to read main',
  commit_not_found: 'Get the id from history',
  file_not_found: 'read_node without path lists the files of the node',
  not_a_text: 'Ask a user to open it on the node page',
  no_changes: 'main has this content already. Read the node again',
  closed: 'Ask a user to reopen it on that page, or propose another change',
  quota_exceeded: 'Ask an owner of the organisation or an administrator',
  too_large: 'Ask for a part, or send less',
  head_moved: 'Read the node again and propose the change on its current content',
  diverged: 'main moved during the call. Repeat the call to propose the change on the current main',
  invalid_content: 'Nothing was proposed',
  rate_limited: 'Wait, then call again',
  busy: 'Call again in a few seconds',
  draining: 'Call again in a few seconds',
  no_answer:
    'Call again later. If this persists, ask a user to check that the service runs and that GROVE_URL is its URL',
}

const advices: ReadonlyMap<string, string> = new Map(Object.entries(advice))

export function isKnownCode(code: string): boolean {
  return known.has(code)
}

/** Returns the next step after an error; undefined if none is known. */
export function adviceOn(code: string): string | undefined {
  return advices.get(code)
}
