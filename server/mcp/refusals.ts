/** Formats refusals for a model. A line has the status, the code and any advice; the reason follows. */

import { adviceOn, isKnownCode } from './codes.ts'
import { cleaned, newMarks } from './quoted.ts'
import type { RefusalFacts, Session } from './session.ts'

/** A refusal by a tool itself, not by the service. */
export class ToolError extends Error {
  readonly facts: RefusalFacts

  constructor(
    status: number,
    code: string,
    message: string,
    problems: RefusalFacts['problems'] = [],
    currentHead?: RefusalFacts['currentHead'],
  ) {
    super(message)
    this.name = 'ToolError'
    this.facts = { status, code, message, problems, currentHead, isOwn: true }
  }
}

/** Largest length of one reason, in characters. */
const reasonChars = 500
const shownProblems = 10

/**
 * Formats a refusal for a model, with the reason between marks.
 *
 * The reason comes from the service, which may be untrusted, and it may name files and titles.
 */
export function refusalText(
  facts: RefusalFacts,
  where: (loc: RefusalFacts['problems'][number]['loc']) => string = joined,
): string {
  const { code, message, problems, isOwn } = facts
  const named = problems.slice(0, shownProblems).map(({ loc, msg, ctx }) => {
    const [field, reason] = [asReason(where(loc)), `${asReason(msg)}${noteOf(ctx)}`]
    const isNamed = field === '' || (reason.startsWith(field) && /^(?::? |[.[])/.test(reason.slice(field.length)))
    return isNamed ? reason : `${field}: ${reason}`
  })
  const more = problems.length - named.length
  const reasons = [
    ...(isKnownCode(code) ? [] : [asReason(code)]),
    ...(isOwn || isMoved(facts) ? [] : [asReason(message)]),
    ...named,
    ...(more > 0 ? [`and ${more} more`] : []),
  ]
  if (reasons.length === 0) return ownLine(facts)
  const { open, close } = newMarks()
  return [ownLine(facts), open({ of: 'the reason' }), ...reasons, close].join('\n')
}

/** Ends a reason with its place in a filter, or the type of the rule. */
function noteOf(ctx: RefusalFacts['problems'][number]['ctx']): string {
  if (typeof ctx?.at === 'number') return ` (at character ${ctx.at + 1})`
  return typeof ctx?.rule === 'string' && typeof ctx.type === 'string' ? ` (type ${asReason(ctx.type)})` : ''
}

/** Formats a refusal for a terminal: one line, without marks. */
export function refusalLine(facts: RefusalFacts): string {
  const { code, message, isOwn } = facts
  const words = isOwn || isMoved(facts) ? [] : [`${isKnownCode(code) ? '' : `${code}: `}${asReason(message)}`]
  return [ownLine(facts), ...words].join('. ')
}

/** Writes the first line: status, code, this program's own message, and advice. */
function ownLine(facts: RefusalFacts): string {
  const { status, code, message, currentHead, isOwn } = facts
  const head = isMoved(facts) ? `main is now at ${currentHead}` : isOwn ? asReason(message) : undefined
  const words = [head, adviceOn(code)].filter((one) => one !== undefined).join('. ')
  const named = isKnownCode(code) ? ` ${code}` : ''
  return `${status}${named}${words === '' ? '' : `: ${words}`}`
}

function isMoved({ code, currentHead }: RefusalFacts): boolean {
  return code === 'head_moved' && /^[\da-f]{40}$/.test(currentHead ?? '')
}

export function factsOf(session: Session, error: unknown): RefusalFacts {
  return error instanceof ToolError ? error.facts : session.factsOf(error)
}

/** Records the error that ends a call, and returns its facts. */
export function ended(session: Session, error: unknown): RefusalFacts {
  if (!(error instanceof ToolError)) session.ends(error)
  return factsOf(session, error)
}

function joined(loc: RefusalFacts['problems'][number]['loc']): string {
  return loc.slice(1).join('.') || String(loc[0])
}

/** Returns the text on one line, shortened. */
function asReason(text: unknown): string {
  const line = cleaned(String(text)).replace(/\s+/g, ' ').trim()
  return line.length > reasonChars ? `${line.slice(0, reasonChars)}…` : line
}
