/** The author, date and proposal of each paragraph of a node. */

import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { Page, PageContext } from '../page-context.ts'
import { dayOf, When } from '../parts/dates.tsx'
import { NodePath, readAtNode } from '../parts/node-head.tsx'

type Blame = AnswerOf<'getBlame'>

export async function showBlame(visit: PageContext): Promise<Page> {
  const { urls, query } = visit
  const revision = query.get('at') || 'main'
  const at = await readAtNode(visit)
  const { org, node } = at
  const blame = node.head === undefined ? undefined : await readBlame(visit, at.path, revision)
  const commits = new Map(blame?.commits.map((commit) => [commit.id, commit]))
  return {
    ...{ kind: 'page', place: { org, crumb: node.title }, facts: { at, blame } },
    head: { title: `Authors of ${node.title} · ${org.name}`, noIndex: true },
    body: () => (
      <main id="main" class="wide">
        <NodePath visit={visit} at={at} />
        <h1>Authors</h1>
        <div class="meta">
          <a href={urls.history(org.id, node.id, revision)}>History</a>
          <a href={urls.node(org.id, node.id, node.title)}>View the page</a>
        </div>
        {blame === undefined && <p class="why">This page has no text yet.</p>}
        <ol class="blame">
          {blame?.paragraphs.map(({ text, commit_id, commit_ids, first_line }, index, all) => {
            const commit = commits.get(commit_id)
            const isFirst = all[index - 1]?.commit_id !== commit_id
            return (
              <li class={isFirst ? 'first' : undefined}>
                <div class="who">
                  {commit && isFirst && (
                    <>
                      <a href={urls.commit(org.id, node.id, commit_id)} title={commit.summary}>
                        {commit.author}
                      </a>
                      <When time={commit.created_at} />
                      {commit.pull_request !== undefined && (
                        <a href={urls.proposal(org.id, node.id, commit.pull_request)}>
                          proposal #{commit.pull_request}
                        </a>
                      )}
                    </>
                  )}
                  {commit_ids.length > 1 && <small>and {othersOf(commit_ids, commits)}</small>}
                </div>
                <p id={`line-${first_line}`}>{text}</p>
              </li>
            )
          })}
        </ol>
      </main>
    ),
  }
}

type Path = { org_id: string; node_id: string }

async function readBlame({ api }: PageContext, path: Path, revision: string): Promise<Blame | undefined> {
  for (const name of ['content.md', 'README.md']) {
    try {
      return await api.getBlame({ path: { ...path, branch: revision, path: name } })
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'file_not_found') throw error
    }
  }
  return undefined
}

/** Returns the author and the date of the oldest lines of a paragraph. */
function othersOf(ids: readonly string[], commits: ReadonlyMap<string, Blame['commits'][number]>): string {
  const named = ids.map((id) => commits.get(id)).filter((commit) => commit !== undefined)
  const oldest = named.reduce(
    (one, other) => (other.created_at < one.created_at ? other : one),
    named[0] ?? { author: '', created_at: '' },
  )
  return `${oldest.author}, ${oldest.created_at === '' ? '' : dayOf(oldest.created_at)}`
}
