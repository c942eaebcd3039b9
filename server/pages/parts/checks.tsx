/** The checks of a commit: what machines have reported about it. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import { plural, When } from './dates.tsx'
import { unlessBusy } from './degraded.ts'
import { Icon } from './icons.tsx'
import { Name } from './thread.tsx'

type CommitChecks = AnswerOf<'listChecks'>
/** `required` and `missing` are only known for a proposal, from the rules of its target. */
type Check = CommitChecks['checks'][number] | AnswerOf<'getPull'>['pr']['consent']['checks'][number]

interface Shown {
  readonly checks: readonly Check[]
  readonly is_damaged: boolean
}

/** Passed checks that are shown without unfolding. */
const mostPassed = 5

/** The words for each state, in the order of the list. */
const words: Readonly<Record<Check['state'], string>> = {
  failure: 'failed',
  damaged: 'cannot be read',
  unknown: 'has a state of a later version',
  missing: 'has not been reported',
  pending: 'is running',
  success: 'passed',
}
const order = Object.keys(words)

/**
 * Reads the checks of a commit, which only members see. Undefined if the visitor is not one, or if the commit is in no
 * branch.
 */
export async function readChecks(
  { api }: PageContext,
  { path, org }: { readonly path: { org_id: string; node_id: string }; readonly org: { readonly role?: string } },
  commit: string,
): Promise<CommitChecks | undefined> {
  if (org.role === undefined) return undefined
  return unlessBusy(api.listChecks({ path: { ...path, commit_id: commit } }), undefined, ['commit_not_found'])
}

/** Shows the checks, failed ones first. Shows nothing if there are none. */
export function ChecksBox({ shown }: { readonly shown: Shown | undefined }) {
  if (shown === undefined || (shown.checks.length === 0 && !shown.is_damaged)) return null
  const checks = [...shown.checks].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
  const passed = checks.filter(({ state }) => state === 'success')
  const others = checks.filter(({ state }) => state !== 'success')
  return (
    <section class="box commit-checks" id="checks">
      <h2>Checks</h2>
      {shown.is_damaged && <p class="why">Some reports were damaged and cannot be read.</p>}
      {others.length > 0 && <List checks={others} />}
      {passed.length > 0 && passed.length <= mostPassed && <List checks={passed} />}
      {passed.length > mostPassed && (
        <details>
          <summary>{plural(passed.length, 'check')} passed</summary>
          <List checks={passed} />
        </details>
      )}
    </section>
  )
}

function List({ checks }: Pick<Shown, 'checks'>) {
  return (
    <ul>
      {checks.map((check) => (
        <li class={`check-${check.state}`}>
          <span class="mark" aria-hidden="true">
            <Mark state={check.state} />
          </span>
          <div>
            <CheckName check={check} /> <span class={check.state === 'success' ? 'vh' : 'state'}>{wordsOf(check)}</span>
            {'required' in check && check.required && <span class="state"> · required</span>}
            {check.description !== undefined && (
              <p>
                <bdi>{check.description}</bdi>
              </p>
            )}
            {check.reported_by && check.reported_at !== undefined && (
              <p class="why">
                <Name>{check.reported_by.name}</Name>, <When time={check.reported_at} />
              </p>
            )}
          </div>
        </li>
      ))}
    </ul>
  )
}

/** Says of a report that it does not count. Its user opened the proposal, or a rule names another one. */
function wordsOf({ state, reported_by }: Check): string {
  return state === 'missing' && reported_by ? 'has no report that counts' : words[state]
}

function Mark({ state }: Pick<Check, 'state'>) {
  if (state === 'success') return <Icon name="check" size={15} />
  if (state === 'failure') return <Icon name="cross" size={15} />
  return <>{state === 'pending' ? '…' : state === 'missing' ? '○' : '?'}</>
}

/** The name, with a link if the report has one. */
function CheckName({ check: { name, url } }: { readonly check: Check }) {
  // The service has checked it. This is the last place before a browser follows it.
  if (url === undefined || !/^https?:\/\//i.test(url)) return <Name>{name}</Name>
  return (
    <a href={url} rel="nofollow noopener noreferrer">
      <Name>{name}</Name>
    </a>
  )
}
