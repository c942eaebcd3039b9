/** Undoing a merged proposal. A page says why it cannot be undone. */

import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { problemOf } from '../parts/editor-form.tsx'
import { NodePath, readAtNode } from '../parts/node-head.tsx'
import { numberOf } from '../parts/proposal-acts.ts'
import type { Urls } from '../urls.ts'

interface ButtonProps {
  readonly urls: Urls
  readonly org: string
  readonly pr: AnswerOf<'getPull'>['pr']
}

/** Opens a proposal that undoes a merged one. */
export function UndoButton({ urls, org, pr }: ButtonProps) {
  return (
    <form method="post" action={urls.undo(org, pr.node_id, pr.number)}>
      <button class="btn" type="submit">
        Undo
      </button>
      <p>This opens a proposal that reverts these changes. Later changes stay.</p>
    </form>
  )
}

/** Leads back from the URL of a refused form. */
export async function showUndo(visit: PageContext): Promise<PageResult> {
  return redirect(303, visit.urls.proposal(param(visit, 'org'), param(visit, 'node'), numberOf(visit)))
}

/** Opens the proposal, or leads to the one that is open already. */
export async function takeUndo(visit: PageContext): Promise<PageResult> {
  const { api, urls } = visit
  const [org, node, number] = [param(visit, 'org'), param(visit, 'node'), numberOf(visit)]
  try {
    const { pr } = await api.undoPull({ path: { org_id: org, node_id: node, number }, body: {} })
    return redirect(303, urls.proposal(org, node, pr.number))
  } catch (error) {
    if (error instanceof AppError && error.code === 'pull_request_exists')
      return redirect(303, urls.proposal(org, node, Number(error.facts.number)))
    const [problem, status] = problemOf(error)
    if (status !== 409 && status !== 422) throw error
    return refusedPage(visit, number, { problem, status, paths: pathsOf(error) })
  }
}

function pathsOf(error: unknown): readonly string[] {
  return error instanceof AppError && Array.isArray(error.facts.paths) ? error.facts.paths.map(String) : []
}

interface Refusal {
  readonly problem: string
  readonly status: number
  /** The files that were changed again. */
  readonly paths: readonly string[]
}

async function refusedPage(visit: PageContext, number: number, refusal: Refusal): Promise<Page> {
  const { api, urls } = visit
  const at = await readAtNode(visit)
  const { org, node } = at
  const { pr } = await api.getPull({ path: { ...at.path, number } })
  const back = urls.proposal(org.id, node.id, number)
  const between = [
    { title: 'Proposals', href: urls.proposals(org.id, node.id) },
    { title: `#${number}`, href: back },
  ]
  const { problem, status, paths } = refusal
  return {
    ...{ kind: 'page', status, facts: { at, pr, refusal }, place: { org, crumb: node.title } },
    head: { title: `Undo ${pr.title} · ${node.title}`, noIndex: true },
    body: () => (
      <main id="main" class="page narrow">
        <NodePath visit={visit} at={at} between={between} />
        <h1>Undo “{pr.title}”</h1>
        <div class="problem" role="alert">
          {paths.length > 0 ? overlapping : problem}
          {paths.length > 0 && (
            <ul>
              {paths.map((path) => (
                <li>
                  <span class="ref">{path}</span>
                </li>
              ))}
            </ul>
          )}
        </div>
        {paths.length > 0 && (
          <>
            <p class="why">Edit the text by hand, or resolve the conflict in a clone and propose the result:</p>
            <pre class="sha">{commandsFor(pr)}</pre>
          </>
        )}
        <p>
          <a class="btn" href={back}>
            Back to the proposal
          </a>
        </p>
      </main>
    ),
  }
}

const overlapping = 'Later commits changed the same files, so this cannot be undone automatically. Nothing was changed.'

function commandsFor({ number, target_branch, target_commit, source_commit }: ButtonProps['pr']): string {
  return [
    'git fetch origin',
    `git switch -c undo-${number} origin/${target_branch}`,
    `git revert --no-commit ${target_commit.slice(0, 12)}..${source_commit.slice(0, 12)}`,
  ].join('\n')
}
