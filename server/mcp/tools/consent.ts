/** The demands of rules on a proposal, so that a model can say them. No tool approves, resolves or merges. */

import type { Output } from '../../../spec/client/api.ts'
import { mergersOf, needsOf } from '../../base/consent-words.ts'
import { brief } from '../quoted.ts'

type Pull = Output<'getPull'>['pr']

/** The most items of each list, and characters of an item. */
const mostOf = { whole: { items: 20, chars: 300 }, short: { items: 4, chars: 100 } } as const
type Most = (typeof mostOf)[keyof typeof mostOf]

/** Parts of consent that a service of an earlier version does not send. */
type Received = Pick<Pull, 'status' | 'can_merge' | 'merge_reasons'> &
  Partial<Pick<Pull, 'merge_problems' | 'type_problems'>> & {
    readonly consent: Partial<Pull['consent']>
  }

/** Returns facts for between marks. Only open proposals have demands. Absent fields have nothing to say. */
export function consentFacts(
  { status, can_merge, merge_reasons, merge_problems = [], type_problems = [], consent }: Received,
  length: keyof typeof mostOf = 'short',
): object {
  const most = mostOf[length]
  const { approvals, changes_requested, required = 0, checks = [], verdicts = [], missing = [] } = consent
  const { open_threads = 0, merge_role } = consent
  const given = { approvals, changes_requested }
  if (status !== 'open') return given
  const worded = { changes_requested: changes_requested ?? 0, missing, verdicts, checks, open_threads }
  const needs = needsOf(merge_reasons, worded)
  return {
    ...given,
    approvals_required: required > 0 ? required : undefined,
    can_merge,
    merge_reasons: can_merge ? undefined : merge_reasons,
    problems: shortened(
      merge_problems.map(({ path, reason }) => `${path}: ${reason}`),
      most,
    ),
    type_problems: shortened(type_problems.map(ruleWords), most),
    missing: shortened(needs, most),
    checks: shortened(checks.map(checkWords), most),
    threads_must_be_resolved: consent.threads_must_be_resolved || undefined,
    who_may_merge: merge_role && mergersOf(merge_role),
  }
}

function checkWords({ name, state, required }: Pull['consent']['checks'][number]): string {
  return `${name}: ${state}${required ? ', required' : ''}`
}

function ruleWords({ msg, type }: Pull['type_problems'][number]): string {
  return type === undefined ? msg : `${msg} (type ${type})`
}

/** Undefined if there are none. */
function shortened(words: readonly string[], { items, chars }: Most): string[] | undefined {
  if (words.length === 0) return undefined
  const shown = words.slice(0, items).map((one) => brief(one, chars))
  return words.length > shown.length ? [...shown, `and ${words.length - shown.length} more`] : shown
}
