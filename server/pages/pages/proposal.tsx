/** One proposal: its changes to graph and text, its commits, and its next action. */

import type { ComponentChildren } from 'preact'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { plural, When } from '../parts/dates.tsx'
import { Icon } from '../parts/icons.tsx'
import { type AtNode, NodePath, readAtNode } from '../parts/node-head.tsx'
import { changesGraph, ProposedImpact, readPullImpact } from '../parts/pull-impact.tsx'
import { mayWrite, rightsOn } from '../parts/rights.ts'
import { asSentence } from '../text/broken-rules.ts'
import { FileDiffs, readFileChanges } from '../text/diff.tsx'
import { resolver } from '../text/links.ts'
import { showText } from '../text/texts.ts'
import { CommitList } from './history.tsx'
import { Pill } from './proposal-list.tsx'
import { UndoButton } from './undo.tsx'

type Pull = AnswerOf<'getPull'>['pr']

/** Maximum commits in the list. */
const mostCommits = 100

export function showProposal(visit: PageContext): Promise<Page> {
  return proposalPage(visit)
}

async function proposalPage(visit: PageContext, problem?: string): Promise<Page> {
  const { api, urls } = visit
  const at = await readAtNode(visit)
  const path = { ...at.path, number: numberOf(visit) }
  const [{ pr }, changes, { commits, total }, impact] = await Promise.all([
    api.getPull({ path }),
    api.getPullChanges({ path }),
    api.listPullCommits({ path, query: { limit: mostCommits } }),
    readPullImpact(api, path),
  ])
  const files = await readFileChanges(api, at.path, changes)
  const { org, node } = at
  const proposals = { title: 'Proposals', href: urls.proposals(org.id, node.id) }
  // The difference between two commits never changes, so their ids are enough for the ETag.
  const between = [changes.base_commit_id, changes.target_commit_id]
  let description = ''
  return {
    ...{ kind: 'page', place: { org, crumb: node.title }, facts: { at, pr, between, commits, impact, problem } },
    head: { title: `${pr.title} · ${node.title}`, noIndex: true },
    prepare: async () => {
      description = await descriptionOf(visit, at, pr)
    },
    body: () => (
      <main id="main" class="wide" data-cards>
        <NodePath visit={visit} at={at} between={[proposals]} />
        <div class="pr-head">
          <div>
            <h1>
              {pr.title} <span class="num">#{pr.number}</span>
            </h1>
            <div class="meta">
              <Pill pull={pr} />
              <span>
                <strong>{pr.author}</strong> proposes {plural(total, 'commit')} from
              </span>
              <span class="ref">{pr.source_branch}</span>
              <span>into</span>
              <span class="ref">{pr.target_branch}</span>
              <When time={pr.created_at} />
            </div>
          </div>
        </div>
        <div class="pr-grid">
          <div>
            {description !== '' && <div class="prose small" dangerouslySetInnerHTML={{ __html: description }} />}
            <nav class="tabs" aria-label="Proposal">
              <a href="#changes" aria-current="true">
                Changes <span class="n">{files.length + (changesGraph(impact) ? 1 : 0)}</span>
              </a>
              <a href="#commits">
                Commits <span class="n">{total}</span>
              </a>
              <a href={`${urls.node(org.id, node.id)}?at=${encodeURIComponent(readableAt(pr))}`}>View as proposed</a>
            </nav>
            <div id="changes" class="changes">
              <ProposedImpact urls={urls} org={org.id} title={node.title} impact={impact} />
              <FileDiffs files={files} />
            </div>
            <section class="card" id="commits">
              <header>
                <h2>{plural(total, 'commit')}</h2>
              </header>
              <CommitList urls={urls} org={org.id} commits={commits} />
            </section>
          </div>
          <aside class="aside" aria-label="Actions">
            <Box visit={visit} at={at} pr={pr} problem={problem} />
            <h2>With Git</h2>
            <p class="sha">git fetch origin {pr.source_branch}</p>
          </aside>
        </div>
      </main>
    ),
  }
}

/** Returns the number in the path. @throws AppError pull_request_not_found if it is not a number */
function numberOf(visit: PageContext): number {
  const text = param(visit, 'number')
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new AppError('pull_request_not_found', 'Pull request not found')
  return Number(text)
}

/** Returns the branch while the proposal is open, else its last commit. */
function readableAt({ status, source_branch, source_commit }: Pull): string {
  return status === 'open' ? source_branch : source_commit
}

/** Renders the description as HTML; '' without one. */
async function descriptionOf({ urls }: PageContext, { path }: AtNode, pr: Pull): Promise<string> {
  if (pr.description.trim() === '') return ''
  const place = { org: path.org_id, node: path.node_id, revision: 'main' }
  const key = `proposal ${pr.id} ${pr.updated_at} ${urls.root}`
  const { html } = await showText({ key, text: pr.description, title: pr.title, resolve: resolver(urls, place, []) })
  return html
}

interface BoxProps {
  readonly visit: PageContext
  readonly at: AtNode
  readonly pr: Pull
  readonly problem: string | undefined
}

/** Shows why the proposal can or cannot be merged, and the possible actions. */
function Box({ visit, at: { org }, pr, problem }: BoxProps) {
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
      {act && may && (
        <Act visit={visit} pr={pr} act={act} isMain>
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
      {pr.status === 'merged' && mayWrite(org.role) && <UndoButton urls={visit.urls} org={org.id} pr={pr} />}
      <dl class="facts">
        <dt>Ahead</dt>
        <dd>{plural(pr.commits_ahead, 'commit')}</dd>
        <dt>Behind</dt>
        <dd>{plural(pr.commits_behind, 'commit')}</dd>
      </dl>
    </section>
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

function stateOf({ merge_reason, target_branch, source_branch, source_commit, merged_by, closed_by }: Pull): State {
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

export async function takeProposal(visit: PageContext): Promise<PageResult> {
  const { urls } = visit
  const path = { org_id: param(visit, 'org'), node_id: param(visit, 'node'), number: numberOf(visit) }
  try {
    await perform(visit, path)
  } catch (error) {
    // The page shows the current state in addition to the error.
    if (!(error instanceof AppError) || !told.has(error.code)) throw error
    const paths = Array.isArray(error.facts.paths) ? ` Conflicting files: ${error.facts.paths.join(', ')}.` : ''
    return { ...(await proposalPage(visit, `${asSentence(error.message)}${paths}`)), status: 409 }
  }
  return redirect(303, urls.proposal(path.org_id, path.node_id, path.number))
}

const told: ReadonlySet<string> = new Set([
  'head_moved',
  'merged',
  'merge_conflict',
  'already_merged',
  'closed',
  'source_branch_missing',
  'target_branch_missing',
  'no_commits_ahead',
  'diverged',
  'invalid_content',
  'draft',
  'pull_request_exists',
  'pull_request_required',
])

/** Performs the action of the form. @throws AppError, ValidationError */
async function perform(
  { api, form }: PageContext,
  path: { org_id: string; node_id: string; number: number },
): Promise<void> {
  const [commit, target] = [form.get('commit') ?? '', form.get('target') ?? '']
  switch (form.get('act')) {
    case 'merge':
      await api.mergePull({ path, body: { expected_source_commit: commit, expected_target_branch: target } })
      return
    case 'update':
      await api.updatePullBranch({ path })
      return
    case 'ready':
      await api.updatePull({ path, body: { is_draft: false } })
      return
    case 'close':
      await api.updatePull({ path, body: { status: 'closed' } })
      return
    case 'reopen':
      await api.updatePull({ path, body: { status: 'open' } })
      return
    default:
      throw new AppError('bad_request', 'The form does not name a known action')
  }
}
