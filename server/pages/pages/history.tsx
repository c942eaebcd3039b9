/** The commits of a node by day, and one commit with its changes. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { Line, Lines, signOf } from '../kit/lines.tsx'
import { type Page, type PageContext, param } from '../page-context.ts'
import { ChecksBox, readChecks } from '../parts/checks.tsx'
import { messageLine, readTitles, type Titles } from '../parts/commit-words.ts'
import { type Pair, PickHead, PickVersion } from '../parts/compare-form.tsx'
import { byDay, plural, When } from '../parts/dates.tsx'
import { Impact, readImpact } from '../parts/impact.tsx'
import { type AtNode, NodePath, readAtNode } from '../parts/node-head.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { findOnMain, findRestorable, type Restorable, RestoreLink } from '../parts/restore-link.tsx'
import { mayWrite } from '../parts/rights.ts'
import { ViaName } from '../parts/via.tsx'
import { FileDiffs, readFileChanges } from '../text/diff.tsx'
import type { Urls } from '../urls.ts'

/** Commits on a page. */
const pageSize = 50
const empty = { history: [], total: 0 }

type Commit = AnswerOf<'listCommits'>['history'][number]

export async function showHistory(visit: PageContext): Promise<Page> {
  const { api, urls, query } = visit
  const at = await readAtNode(visit)
  const offset = pageOffset(query.get('from'))
  const revision = query.get('at') || 'main'
  const told =
    at.node.head === undefined
      ? empty
      : await api.listCommits({ path: { ...at.path, branch: revision }, query: { limit: pageSize, offset } })
  const { history, total } = told
  const { org, node } = at
  const restorable = await findRestorable(visit, at, revision)
  const messages = history.map(({ message }) => message)
  const titles = await readTitles(api, org.id, messages)
  return {
    ...{ kind: 'page', place: { org, crumb: node.title }, facts: { at, told, restorable, titles } },
    head: { title: `History of ${node.title} · ${org.name}`, noIndex: true },
    body: () => (
      <main id="main" class="wide">
        <NodePath visit={visit} at={at} />
        <h1>History</h1>
        <div class="meta">
          <span>
            {plural(total, 'version')}
            {revision !== 'main' && ` on ${revision}`}
          </span>
          <a href={urls.blame(org.id, node.id, revision)}>Authors</a>
        </div>
        <CommitDays {...{ urls, at, restorable, titles }} commits={history} />
        <Pages base={urls.history(org.id, node.id, revision)} offset={offset} size={pageSize} total={total} />
      </main>
    ),
  }
}

interface DaysProps {
  readonly urls: Urls
  readonly at: AtNode
  readonly commits: readonly Commit[]
  readonly restorable: Restorable | undefined
  readonly titles: Titles
}

/** The commits by day. If there are several, two of them can be chosen to be compared. */
function CommitDays({ urls, at: { org, node }, commits, restorable, titles }: DaysProps) {
  const [newest, oldest] = [commits[0], commits.at(-1)]
  const first = commits.length > 1 && newest && oldest ? { from: oldest.id, to: newest.id } : undefined
  const days = (
    <div class="days" data-days>
      {byDay(commits, ({ created_at }) => created_at).map(([day, ofDay]) => (
        <section class="card">
          <header>
            {first && <PickHead />}
            <h2>{day}</h2>
          </header>
          <CommitList {...{ urls, restorable, first, titles }} org={org.id} commits={ofDay} timesAs="clock" />
        </section>
      ))}
    </div>
  )
  if (first === undefined) return days
  return (
    <form class="picking" action={urls.compare(org.id, node.id)} aria-label="Compare two versions">
      {days}
      <p class="pick-acts">
        <button class="btn go" type="submit">
          Compare
        </button>
        <span class="why">the two chosen versions</span>
      </p>
    </form>
  )
}

interface CommitListProps {
  readonly urls: Urls
  readonly org: string
  readonly commits: readonly Commit[]
  /** The branch that the commits belong to, if the visitor may restore them. */
  readonly restorable?: Restorable | undefined
  readonly timesAs?: 'ago' | 'clock'
  /** The versions that are chosen first, if two can be chosen to be compared. */
  readonly first?: Pair | undefined
  /** Titles of pages that messages name by their ids. */
  readonly titles?: Titles
}

const noTitles: Titles = {}

export function CommitList(props: CommitListProps) {
  const { urls, org, commits, restorable, timesAs = 'ago', first, titles = noTitles } = props
  return (
    <Lines>
      {commits.map(({ id, node_id, message, author, created_at, via, parent_commits }) => {
        const title = firstLine(message, titles)
        const facts = (
          <>
            {author}
            <ViaName via={via} /> · <span class="sha">{id.slice(0, 8)}</span>
          </>
        )
        const restore = restorable && restorable.head !== id && (
          <RestoreLink href={urls.restore(org, node_id, id, restorable.branch)} of={title} />
        )
        return (
          <Line
            who={author}
            sign={signOf(parent_commits.length === 0 ? 'node.created' : 'node.updated')}
            lead={first && <PickVersion id={id} title={title} first={first} />}
            acts={restore}
            facts={facts}
            time={created_at}
            timesAs={timesAs}
          >
            <a href={urls.commit(org, node_id, id)}>{title}</a>
          </Line>
        )
      })}
    </Lines>
  )
}

export function firstLine(message: string, titles = noTitles): string {
  return messageLine(message, titles).slice(0, 200) || 'No message'
}

export async function showCommit(visit: PageContext): Promise<Page> {
  const { api, urls } = visit
  const at = await readAtNode(visit)
  const id = param(visit, 'id')
  const onMain = await findOnMain(api, at, id)
  const commit = onMain ?? (await api.getCommit({ path: { ...at.path, branch: id, commit_id: id } }))
  const [files, edges, checks] = await Promise.all([
    readFileChanges(api, at.path, commit.changes),
    readImpact(api, at.path, commit.changes),
    readChecks(visit, at, commit.id),
  ])
  const { org, node } = at
  const titles = await readTitles(api, org.id, [commit.message])
  const line = firstLine(commit.message, titles)
  const isRestorable = onMain !== undefined && commit.id !== node.head && mayWrite(org.role)
  // The changes of a commit never change, so the ETag does not need them.
  const { changes: _, ...whole } = commit
  const fields = { ...whole, message: commit.message.slice(0, limits.messageBytes) }
  const [, ...rest] = fields.message.split('\n')
  return {
    ...{ kind: 'page', place: { org, crumb: node.title }, facts: { at, fields, edges, checks, isRestorable, titles } },
    head: { title: `${line} · ${node.title}`, noIndex: true },
    body: () => (
      <main id="main" class="wide">
        <NodePath visit={visit} at={at} between={[{ title: 'History', href: urls.history(org.id, node.id) }]} />
        <h1>{line}</h1>
        <div class="meta">
          <span>
            {commit.author}
            <ViaName via={commit.via} />, <When time={commit.created_at} />
          </span>
          <span class="ref">{commit.id}</span>
          <a href={urls.version(org.id, node.id, commit.id)}>View this version</a>
          {node.head !== undefined && commit.id !== node.head && (
            <a href={urls.compare(org.id, node.id, commit.id)}>Compare with the current version</a>
          )}
          {isRestorable && <RestoreLink href={urls.restore(org.id, node.id, commit.id)} isButton />}
        </div>
        {rest.join('\n').trim() && <p class="message">{rest.join('\n').trim()}</p>}
        {edges.length > 0 && <Impact urls={urls} org={org.id} title={node.title} edges={edges} />}
        <ChecksBox shown={checks} />
        <FileDiffs files={files} />
      </main>
    ),
  }
}
