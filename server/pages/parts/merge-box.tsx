/** The box of a proposal that says whether it can be merged, with its actions. */

import type { ComponentChildren } from 'preact'
import { checkWords, needsOf, objectionWords } from '../../base/consent-words.ts'
import type { PageContext } from '../page-context.ts'
import { Hidden } from './comment-form.tsx'
import { AskForReview, mayAskFirst } from './consent.tsx'
import { plural } from './dates.tsx'
import { Icon } from './icons.tsx'
import { Overridden, OverrideForm } from './override.tsx'
import { isEditable, rightsOn } from './rights.ts'
import { nameOf, type Pull, type Talk } from './talk.ts'

interface BoxProps {
  readonly talk: Talk
  readonly problem: string | undefined
  /** Actions on a merged proposal. */
  readonly children?: ComponentChildren
}

/** Shows why the proposal can or cannot be merged, and the possible actions. */
export function MergeBox({ talk, problem, children }: BoxProps) {
  const { visit, at, pr } = talk
  const { org } = at
  const { title, says, act: next, hasDoubts = false } = stateOf(pr)
  const set = pr.status === 'open' ? pr.change_set : undefined
  const act = set === undefined || next === 'update' ? next : undefined
  const needs = needsOf(pr.merge_reasons, pr.consent, (id) => nameOf(talk, id))
  const rights = rightsOn(pr, org, visit.person)
  const may = act && rights[act === 'ready' ? 'change' : act]
  const asks = mayAskFirst(talk)
  const fields = { commit: pr.source_commit, target: pr.target_branch }
  const isGood = (pr.can_merge && !hasDoubts) || pr.merge_reason === 'in_change_set' || pr.status === 'merged'
  return (
    <section class={isGood ? 'merge' : 'merge not'} id="merge">
      <h2>
        <Icon name={isGood ? 'check' : 'branch'} size={18} />
        {title}
      </h2>
      <p>{says}</p>
      <Needs needs={needs} isFirst={needsOf([pr.merge_reason], pr.consent).length > 0} />
      {pr.overridden && <Overridden overridden={pr.overridden} />}
      <Trouble pr={pr} problem={problem} />
      {set !== undefined && (
        <p>
          This page is part of <a href={visit.urls.changeSet(org.id, set, pr.node_id)}>a proposal of several pages</a>.
          They merge together.
        </p>
      )}
      {asks && <AskForReview talk={talk} isMain />}
      {act && may && (
        <ActForm {...{ visit, act, fields }} isMain={!hasDoubts && !(asks && act === 'merge')}>
          {act === 'merge' && pr.target_branch !== 'main' ? `Merge into ${pr.target_branch}` : acts[act]}
        </ActForm>
      )}
      {act && !may && <p>{roleWords(act, pr)}</p>}
      {pr.consent.may_override && <OverrideForm {...{ visit, fields }} reasons={pr.merge_reasons} />}
      {isEditable(pr, org, visit.person) && (
        <a class="btn" href={visit.urls.edit(org.id, pr.node_id, pr.source_branch)} data-key="e">
          Edit this proposal
        </a>
      )}
      {pr.status === 'open' && set === undefined && rights.change && (
        <ActForm {...{ visit, fields }} act="close">
          Close
        </ActForm>
      )}
      {pr.status === 'closed' && pr.change_set === undefined && rights.change && (
        <ActForm {...{ visit, fields }} act="reopen">
          Reopen
        </ActForm>
      )}
      {children}
    </section>
  )
}

interface NeedsProps {
  readonly needs: readonly string[]
  /** False if something else must be done before. */
  readonly isFirst: boolean
}

/** Lists what the rules ask for. */
function Needs({ needs, isFirst }: NeedsProps) {
  if (needs.length === 0) return null
  return (
    <>
      {!isFirst && <p>The rules also hold it up:</p>}
      <ul class="needs">
        {needs.map((need) => (
          <li>
            <bdi>{need}</bdi>
          </li>
        ))}
      </ul>
    </>
  )
}

/** Says which role the action needs. */
function roleWords(act: keyof typeof acts, { consent: { merge_role } }: Pull): string {
  return act === 'merge' && merge_role !== 'editor'
    ? `You need the ${merge_role} role to merge this.`
    : 'You need the editor role to do this.'
}

interface TroubleProps {
  readonly pr: Pull
  readonly problem: string | undefined
}

/** Says why an act was refused, and what is wrong with the files. */
function Trouble({ pr, problem }: TroubleProps) {
  return (
    <>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {pr.merge_problems.length > 0 && (
        <ul class="problems">
          {pr.merge_problems.map(({ path, reason }) => (
            <li>
              <span class="ref">{path}</span> {reason}
            </li>
          ))}
        </ul>
      )}
      {pr.type_problems.length > 0 && (
        <>
          <p>After a merge, the page breaks these rules of its type more than now:</p>
          <ul class="problems">
            {pr.type_problems.map(({ msg, type }) => (
              <li>
                {msg} {type !== undefined && <span class="ref">{type}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

const acts = {
  merge: 'Merge',
  update: 'Update',
  ready: 'Mark as ready for review',
} as const

interface State {
  readonly title: string
  readonly says: ComponentChildren
  readonly act?: keyof typeof acts
  /** True if it can be merged, but a reviewer or a check says no. */
  readonly hasDoubts?: boolean
}

/** The state of a proposal that can be merged. */
function mergeableState({ consent }: Pull): State {
  const failed = consent.checks.filter(({ state }) => state === 'failure')
  const threads = consent.open_threads > 0 && ` It has ${plural(consent.open_threads, 'open thread')}.`
  if (consent.changes_requested + failed.length > 0) {
    const doubts = [...(consent.changes_requested > 0 ? [objectionWords(consent)] : []), ...checkWords(failed)]
    const says = (
      <>
        <bdi>{doubts.join(' ')}</bdi>
        {threads} No rule holds it up, so it can still be merged.
      </>
    )
    const title = consent.changes_requested > 0 ? 'Changes requested' : 'A check has failed'
    return { title, says, act: 'merge', hasDoubts: true }
  }
  const says = <>No conflicts.{threads}</>
  return { title: 'Ready to merge', says, act: 'merge' }
}

function stateOf(pull: Pull): State {
  const { merge_reason, target_branch, source_branch, merged_by, closed_by } = pull
  const by = (name: string | undefined) => (name === undefined ? '' : ` by ${name}`)
  const held = 'The rules hold this proposal up:'
  switch (merge_reason) {
    case 'mergeable':
      return mergeableState(pull)
    case 'diverged':
      return {
        title: 'The page has changed since',
        says: 'This proposal began with an older version. Update it to see whether both changes fit together.',
        act: 'update',
      }
    case 'draft':
      return {
        title: 'Draft',
        says: 'This proposal is not ready for review yet, so it cannot be merged.',
        act: 'ready',
      }
    case 'already_merged':
      return { title: 'Merged', says: `Merged${by(merged_by)}.` }
    case 'closed':
      return { title: 'Closed', says: `Closed${by(closed_by)} without merging.` }
    case 'source_branch_missing':
      return { title: 'Branch deleted', says: `The branch ${source_branch} was deleted, and the changes with it.` }
    case 'target_branch_missing':
      return { title: 'Target branch deleted', says: `The branch ${target_branch} was deleted.` }
    case 'no_commits_ahead':
      return { title: 'Nothing to merge', says: 'The page already has all changes of this proposal.' }
    case 'invalid_content':
      return { title: 'Invalid files', says: 'Some files of this proposal are not valid, so it cannot be merged.' }
    case 'changes_requested':
      return { title: 'Changes requested', says: held }
    case 'approvals_missing':
      return { title: 'Needs approval', says: held }
    case 'checks_failed':
      return { title: 'A check has failed', says: held }
    case 'checks_missing':
      return { title: 'Waits for a check', says: held }
    case 'threads_open':
      return { title: 'Open threads', says: held }
    case 'in_change_set':
      return { title: 'Ready to merge', says: 'Nothing holds this page up.' }
  }
}

interface ActProps {
  readonly visit: PageContext
  readonly act: string
  /** The state that was shown, so that no other is merged. */
  readonly fields?: Readonly<Record<string, string | number | undefined>>
  readonly isMain?: boolean
  readonly children: ComponentChildren
}

/** An action as a form. */
export function ActForm({ visit, act, fields = {}, isMain = false, children }: ActProps) {
  return (
    <form method="post" action={visit.here.split('?')[0]}>
      <Hidden fields={{ act, ...fields }} />
      <button class={isMain ? 'btn go' : 'btn'} type="submit">
        {children}
      </button>
    </form>
  )
}
