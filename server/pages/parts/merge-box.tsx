/** The box of a proposal that says whether it can be merged, with its actions. */

import type { ComponentChildren } from 'preact'
import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import { plural } from './dates.tsx'
import { Icon } from './icons.tsx'
import { isEditable, mayPropose, rightsOn } from './rights.ts'

type Pull = AnswerOf<'getPull'>['pr']
type Org = AnswerOf<'getOrg'>

interface BoxProps {
  readonly visit: PageContext
  readonly org: Org
  readonly pr: Pull
  readonly problem: string | undefined
  /** The paths that conflict with the target, after an update was refused. */
  readonly conflicts: readonly string[] | undefined
  /** Actions on a merged proposal. */
  readonly children?: ComponentChildren
}

/** Shows why the proposal can or cannot be merged, and the possible actions. */
export function MergeBox({ visit, org, pr, problem, conflicts, children }: BoxProps) {
  const { title, says, act } = stateOf(pr)
  const { needsMaintainer, ...rights } = rightsOn(pr, org, visit.person)
  const may = act && rights[act === 'ready' ? 'change' : act]
  return (
    <section class={pr.can_merge || pr.status === 'merged' ? 'merge' : 'merge not'}>
      <h2>
        <Icon name={pr.can_merge || pr.status === 'merged' ? 'check' : 'branch'} size={18} />
        {title}
      </h2>
      <p>{says}</p>
      <Trouble {...{ visit, org, pr, problem, conflicts }} />
      {act && may && (
        <Act visit={visit} pr={pr} act={act} isMain={conflicts === undefined}>
          {acts[act].replace('{target}', pr.target_branch)}
        </Act>
      )}
      {act && !may && (
        <p>
          {act === 'merge' && needsMaintainer
            ? 'You need the maintainer role to merge this.'
            : 'You need the editor role to do this.'}
        </p>
      )}
      {isEditable(pr, org, visit.person) && (
        <a class="btn" href={visit.urls.edit(org.id, pr.node_id, pr.source_branch)} data-key="e">
          Edit this proposal
        </a>
      )}
      {pr.status === 'open' && rights.change && (
        <Act visit={visit} pr={pr} act="close">
          Close
        </Act>
      )}
      {pr.status === 'closed' && rights.change && (
        <Act visit={visit} pr={pr} act="reopen">
          Reopen
        </Act>
      )}
      {children}
      {pr.status === 'open' && (
        <dl class="facts">
          <dt>Ahead</dt>
          <dd>{plural(pr.commits_ahead, 'commit')}</dd>
          <dt>Behind</dt>
          <dd>{plural(pr.commits_behind, 'commit')}</dd>
        </dl>
      )}
    </section>
  )
}

/** Says why an act was refused, and what is wrong with the files. */
function Trouble({ visit, org, pr, problem, conflicts }: Omit<BoxProps, 'children'>) {
  return (
    <>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {conflicts && <Resolving visit={visit} org={org} pr={pr} conflicts={conflicts} />}
      {pr.merge_problems.length > 0 && (
        <ul class="problems">
          {pr.merge_problems.map(({ path, reason }) => (
            <li>
              <span class="ref">{path}</span> {reason}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** Files that the editor can combine. */
const edited: ReadonlySet<string> = new Set(['content.md', 'README.md', 'node.json'])

interface ResolvingProps {
  readonly visit: PageContext
  readonly org: Org
  readonly pr: Pull
  readonly conflicts: readonly string[]
}

/** Says how to continue after a conflict. */
function Resolving({ visit: { urls }, org, pr, conflicts }: ResolvingProps) {
  const { source_branch, target_branch, node_id } = pr
  const isEdited = target_branch === 'main' && conflicts.every((path) => edited.has(path))
  if (!isEdited || !mayPropose(org.role))
    return (
      <p>
        Merge {target_branch} into {source_branch} with Git, resolve the conflict in these files, and push.
      </p>
    )
  return (
    <>
      <p>
        See both versions in the editor, and propose the result on the current version of the page. Then close this
        proposal.
      </p>
      <a class="btn go" href={urls.redo(org.id, node_id, source_branch)}>
        Resolve in a new proposal
      </a>
    </>
  )
}

const acts = {
  merge: 'Merge into {target}',
  update: 'Update from {target}',
  ready: 'Mark as ready for review',
} as const

interface State {
  readonly title: string
  readonly says: ComponentChildren
  readonly act?: keyof typeof acts
}

function stateOf(pull: Pull): State {
  const { merge_reason, target_branch, source_branch, source_commit, merged_by, closed_by, consent } = pull
  const by = (name: string | undefined) => (name === undefined ? '' : ` by ${name}`)
  switch (merge_reason) {
    case 'mergeable': {
      const head = <span class="sha">{source_commit.slice(0, 8)}</span>
      const says = (
        <>
          {target_branch} has no newer commits. Merging moves it forward to {head}, and every clone can follow.
        </>
      )
      return { title: 'Ready to merge', says, act: 'merge' }
    }
    case 'diverged':
      return {
        title: `${target_branch} has moved`,
        says: `It has commits that this proposal does not have. Updating rebases ${source_branch} onto them.`,
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
      return { title: 'Branch deleted', says: `The branch ${source_branch} was deleted.` }
    case 'target_branch_missing':
      return { title: 'Target branch deleted', says: `The branch ${target_branch} was deleted.` }
    case 'no_commits_ahead':
      return { title: 'Nothing to merge', says: `${source_branch} has no commits that ${target_branch} does not have.` }
    case 'invalid_content':
      return { title: 'Invalid files', says: `Some files on ${source_branch} are not valid, so they cannot be merged.` }
    case 'changes_requested':
      return { title: 'Changes requested', says: 'A reviewer asks for changes, so this cannot be merged yet.' }
    case 'approvals_missing':
      return {
        title: 'Needs approval',
        says: `${plural(consent.approvals, 'approval')} of ${consent.required} that the rules demand.`,
      }
    case 'checks_failed':
      return { title: 'A check has failed', says: 'The rules demand that it passes.' }
    case 'checks_missing':
      return { title: 'A check is missing', says: 'The rules demand a result that has not been reported yet.' }
    case 'threads_open':
      return {
        title: 'Open threads',
        says: `The rules demand that each thread is resolved. ${plural(consent.open_threads, 'thread')} open.`,
      }
  }
}

interface ActProps {
  readonly visit: PageContext
  readonly pr: Pull
  readonly act: string
  readonly isMain?: boolean
  readonly children: ComponentChildren
}

/** An action as a form. It sends the commit that was shown, so that only that commit is merged. */
function Act({ visit, pr, act, isMain = false, children }: ActProps) {
  return (
    <form method="post" action={visit.here.split('?')[0]}>
      <input type="hidden" name="act" value={act} />
      <input type="hidden" name="commit" value={pr.source_commit} />
      <input type="hidden" name="target" value={pr.target_branch} />
      <button class={isMain ? 'btn go' : 'btn'} type="submit">
        {children}
      </button>
    </form>
  )
}
