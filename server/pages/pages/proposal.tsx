/** One proposal: its changes to graph and text, its commits, and its next action. */

import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { plural, When } from '../parts/dates.tsx'
import { MergeBox } from '../parts/merge-box.tsx'
import { type AtNode, NodePath, readAtNode } from '../parts/node-head.tsx'
import { actOnProposal, toldRefusals } from '../parts/proposal-acts.ts'
import { changesGraph, ProposedImpact, readPullImpact } from '../parts/pull-impact.tsx'
import { mayWrite } from '../parts/rights.ts'
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
            <MergeBox visit={visit} org={org} pr={pr} problem={problem}>
              {pr.status === 'merged' && mayWrite(org.role) && <UndoButton urls={urls} org={org.id} pr={pr} />}
            </MergeBox>
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

export async function takeProposal(visit: PageContext): Promise<PageResult> {
  const { urls } = visit
  const path = { org_id: param(visit, 'org'), node_id: param(visit, 'node'), number: numberOf(visit) }
  try {
    await actOnProposal(visit, path)
  } catch (error) {
    if (!(error instanceof AppError) || !toldRefusals.has(error.code)) throw error
    const paths = Array.isArray(error.facts.paths) ? ` Conflicting files: ${error.facts.paths.join(', ')}.` : ''
    return { ...(await proposalPage(visit, `${asSentence(error.message)}${paths}`)), status: 409 }
  }
  return redirect(303, urls.proposal(path.org_id, path.node_id, path.number))
}
