/** The open proposals that each rule holds up now. */

import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import type { Rule } from '../text/rule-words.ts'
import type { Urls } from '../urls.ts'
import type { Pull } from './talk.ts'

/** `read`: open proposals that are read, the newest. `atOnce`: those read at the same time. `shown`: links of a rule. */
const most = { read: 50, atOnce: 5, shown: 5 } as const

type Held = Pick<Pull, 'node_id' | 'number' | 'title'>

export interface HeldUp {
  /** The proposals of each rule, in the order of the rules. */
  readonly byRule: readonly (readonly Held[])[]
  /** Open proposals that were not read. */
  readonly unread: number
}

/** Reads the newest open proposals with the visitor's rights. Sorts them by the rules that hold them up. */
export async function readHeldUp(
  visit: PageContext,
  { id, rules = [] }: Pick<AnswerOf<'getOrg'>, 'id' | 'rules'>,
): Promise<HeldUp> {
  if (!rules.some(demands)) return { byRule: [], unread: 0 }
  const path = { org_id: id }
  const { pull_requests, total } = await visit.api.listOrgPulls({ path, query: { status: 'open', limit: most.read } })
  const pulls: Pull[] = []
  for (let at = 0; at < pull_requests.length; at += most.atOnce) {
    const some = pull_requests.slice(at, at + most.atOnce).map((pull) => readPull(visit, { ...path, ...pull }))
    pulls.push(...(await Promise.all(some)).flatMap((pull) => pull ?? []))
  }
  const byRule = rules.map((rule, place) =>
    pulls
      .filter((pull) => isHeldUp(pull, rule, place))
      .map(({ node_id, number, title }) => ({ node_id, number, title })),
  )
  return { byRule, unread: Math.max(0, total - pull_requests.length) }
}

/** Undefined if it was deleted since it was listed. */
async function readPull(
  { api }: PageContext,
  { org_id, node_id, number }: { readonly org_id: string; readonly node_id: string; readonly number: number },
): Promise<Pull | undefined> {
  try {
    return (await api.getPull({ path: { org_id, node_id, number } })).pr
  } catch (error) {
    if (error instanceof AppError && error.code.endsWith('_not_found')) return undefined
    throw error
  }
}

function demands({ approvals, checks, resolved }: Rule): boolean {
  return approvals > 0 || checks.length > 0 || resolved
}

/** True if the rule holds for the target, and a reason is of its kind. */
function isHeldUp({ merge_reasons, consent }: Pull, rule: Rule, place: number): boolean {
  if (!consent.rules.includes(place)) return false
  if (consent.missing.some((one) => one.rule === place)) return true
  if (rule.approvals > 0 && merge_reasons.includes('changes_requested')) return true
  if (rule.resolved && merge_reasons.includes('threads_open')) return true
  const names = new Set(rule.checks.map(({ name }) => name))
  return consent.checks.some(({ name, state }) => state !== 'success' && names.has(name))
}

interface LineProps {
  readonly urls: Urls
  readonly org: string
  readonly pulls: readonly Held[]
}

/** `Holds up: …`, or nothing. */
export function HeldUpLine({ urls, org, pulls }: LineProps) {
  if (pulls.length === 0) return null
  return (
    <small class="held-up">
      Holds up now:{' '}
      {pulls.slice(0, most.shown).map(({ node_id, number, title }, at) => (
        <>
          {at > 0 && ', '}
          <a href={urls.proposal(org, node_id, number)}>
            <bdi>{title}</bdi> #{number}
          </a>
        </>
      ))}
      {pulls.length > most.shown && ` and ${pulls.length - most.shown} more`}
    </small>
  )
}
