/** The codes that an answer may name, and what to do next where that is known. Any other code is words of others. */
import { type ErrorCode, statusOf } from '../base/errors.ts'

/** Codes of the client and of the tools, which no answer of the service has. */
const ownCodes = ['invalid', 'no_answer', 'unknown', 'not_a_text'] as const

const known: ReadonlySet<string> = new Set([...Object.keys(statusOf), ...ownCodes])

const advice: Readonly<Partial<Record<ErrorCode | (typeof ownCodes)[number], string>>> = {
  invalid_token:
    'it was revoked, has ended or is mistyped: a person makes another on the page /me/tokens of Grove and gives it to this client as GROVE_TOKEN',
  forbidden: 'the role in this organisation does not allow it; another call will not change that',
  token_scope: 'the token of this connection does not allow it; another call will not change that',
  org_not_found: 'list_organisations has the ids',
  node_not_found: 'search and list_nodes have the ids',
  branch_not_found: 'without branch, main is read',
  head_moved: 'read the node again and propose on what it says now',
  diverged: 'main has moved meanwhile: the same call again proposes on what it says now',
  invalid_content: 'nothing was proposed',
  rate_limited: 'wait, then call again',
  busy: 'call again in a few seconds',
  draining: 'call again in a few seconds',
  no_answer:
    'call again later; if it lasts, a person sees to it that the service runs, and that GROVE_URL is its address',
}

const advices: ReadonlyMap<string, string> = new Map(Object.entries(advice))

export function isKnownCode(code: string): boolean {
  return known.has(code)
}

/** What to do next; undefined where nothing is known. */
export function adviceOn(code: string): string | undefined {
  return advices.get(code)
}
