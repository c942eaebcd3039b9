/** Refusals as a model reads them: a line with status, code and reason, and what to do next where that is known. */

import { cleaned } from './quoted.ts'
import type { RefusalFacts, Session } from './session.ts'

/** A tool refuses by itself. */
export class ToolRefusal extends Error {
  readonly facts: RefusalFacts

  constructor(
    status: number,
    code: string,
    message: string,
    problems: RefusalFacts['problems'] = [],
    currentHead?: RefusalFacts['currentHead'],
  ) {
    super(message)
    this.name = 'ToolRefusal'
    this.facts = { status, code, message, problems, currentHead }
  }
}

/** Characters of one reason. */
const reasonChars = 500
const shownProblems = 10

const advice: Readonly<Record<string, string>> = {
  head_moved: 'read the node again and propose on what it says now',
  token_scope: 'the token of this connection does not allow it; another call will not change that',
  forbidden: 'the role in this organisation does not allow it; another call will not change that',
  org_not_found: 'list_organisations has the ids',
  node_not_found: 'search and list_nodes have the ids',
  branch_not_found: 'without branch, main is read',
  diverged: 'main has moved meanwhile: the same call again proposes on what it says now',
  invalid_content: 'nothing was proposed',
  busy: 'call again in a few seconds',
  rate_limited: 'wait, then call again',
  draining: 'call again in a few seconds',
  no_answer:
    'call again later; if it lasts, a person sees to it that the service runs, and that GROVE_URL is its address',
  invalid_token:
    'it was revoked, has ended or is mistyped: a person makes another on the page /me/tokens of Grove and gives it to this client as GROVE_TOKEN',
}

/** `where` names the field of a problem in the words of the tool. */
export function refusalText(
  facts: RefusalFacts,
  where: (loc: RefusalFacts['problems'][number]['loc']) => string = joined,
): string {
  const { status, code, message, problems, currentHead } = facts
  const hint = advice[code]
  const head = code === 'head_moved' && currentHead !== undefined ? `main is now at ${currentHead}` : asReason(message)
  const first = `${status} ${code}: ${head}${hint ? `; ${hint}` : ''}`
  const rest = problems.slice(0, shownProblems).map(({ loc, msg }) => {
    const [field, reason] = [asReason(where(loc)), asReason(msg)]
    return reason.startsWith(`${field}: `) ? reason : `${field}: ${reason}`
  })
  const more = problems.length - rest.length
  return [first, ...rest, ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}

export function factsOf(session: Session, error: unknown): RefusalFacts {
  return error instanceof ToolRefusal ? error.facts : session.factsOf(error)
}

/** What a call ends with. */
export function ended(session: Session, error: unknown): RefusalFacts {
  if (!(error instanceof ToolRefusal)) session.ends(error)
  return factsOf(session, error)
}

function joined(loc: RefusalFacts['problems'][number]['loc']): string {
  return loc.slice(1).join('.') || String(loc[0])
}

/** One line. */
function asReason(text: string): string {
  const line = cleaned(text).replace(/\s+/g, ' ').trim()
  return line.length > reasonChars ? `${line.slice(0, reasonChars)}…` : line
}
