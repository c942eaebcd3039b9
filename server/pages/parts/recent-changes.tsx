/** Recent changes in words. Many changes of one kind are one group. */

import type { AnswerOf } from '../../http/in-process.ts'
import { Line, Lines, signOf } from '../kit/lines.tsx'
import type { Urls } from '../urls.ts'
import { messageLine, type Titles } from './commit-words.ts'
import { plural } from './dates.tsx'

export type Change = AnswerOf<'listChanges'>['changes'][number]

type Kind = 'imported' | 'created' | 'edited'

const signs = {
  imported: signOf('node.imported'),
  created: signOf('node.created'),
  edited: signOf('node.updated'),
} as const

/** Consecutive changes of one author and one kind, newest first. */
export interface Group {
  readonly kind: Kind
  /** Undefined if no commit says it. */
  readonly author: string | undefined
  readonly changes: readonly [Change, ...Change[]]
  /** The number of changes, also of those that were not read. */
  readonly total: number
  /** True if there are more. */
  readonly isMore: boolean
}

/** Changes further apart than this are not of one group. In milliseconds. */
export const longestPause = 6 * 3_600_000

function kindOf({ commit }: Change): Kind {
  if (commit === undefined) return 'created'
  if (commit.parent_commits.length > 0) return 'edited'
  // The message that imports write.
  return commit.message.startsWith('Import ') ? 'imported' : 'created'
}

/** True if two changes are of one author and one kind. */
export function isAlike(a: Change, b: Change): boolean {
  return (
    kindOf(a) === kindOf(b) &&
    a.commit?.author === b.commit?.author &&
    a.commit?.author_email === b.commit?.author_email
  )
}

/** Groups changes. `isWhole`: there are no older ones, so that the last group is complete. */
export function groupChanges(changes: readonly Change[], isWhole: boolean): Group[] {
  const runs: [Change, ...Change[]][] = []
  for (const change of changes) {
    const run = runs.at(-1)
    const before = run?.at(-1)
    const isNear = before && Date.parse(before.updated_at) - Date.parse(change.updated_at) <= longestPause
    if (run && before && isNear && isAlike(before, change)) run.push(change)
    else runs.push([change])
  }
  return runs.map((run, at) => ({
    kind: kindOf(run[0]),
    author: run[0].commit?.author,
    changes: run,
    total: run.length,
    isMore: at === runs.length - 1 && !isWhole,
  }))
}

/** Pages listed below a group. */
const mostListed = 10

interface GroupsProps {
  readonly urls: Urls
  readonly org: string
  readonly groups: readonly Group[]
  readonly titles: Titles
}

export function ChangeGroups({ urls, org, groups, titles }: GroupsProps) {
  return (
    <Lines>
      {groups.map((group) => {
        const [first, ...others] = group.changes
        return others.length === 0 ? (
          <ChangeItem {...{ urls, org, titles }} change={first} />
        ) : (
          <Many urls={urls} org={org} group={group} />
        )
      })}
    </Lines>
  )
}

function Many({ urls, org, group }: { readonly urls: Urls; readonly org: string; readonly group: Group }) {
  const { kind, author, changes, total, isMore } = group
  const hidden = total - Math.min(mostListed, changes.length)
  return (
    <Line who={author} sign={signs[kind]} time={changes[0].updated_at}>
      <details>
        <summary>
          <Author name={author} /> {kind} {isMore && 'more than '}
          {plural(total, 'page')}
        </summary>
        <ul>
          {changes.slice(0, mostListed).map(({ node_id, title }) => (
            <li>
              <a href={urls.node(org, node_id, title)}>{title}</a>
            </li>
          ))}
          {hidden > 0 && (
            <li>
              <a href={urls.changes(org)}>and {hidden.toLocaleString('en')} more</a>
            </li>
          )}
        </ul>
      </details>
    </Line>
  )
}

interface ItemProps {
  readonly urls: Urls
  readonly org: string
  readonly change: Change
  /** Titles of pages that messages name by their ids. */
  readonly titles: Titles
}

/** One change: who did what to which page, the summary, and when. */
export function ChangeItem({ urls, org, change, titles }: ItemProps) {
  const { node_id, title, commit, updated_at } = change
  const [kind, summary] = [kindOf(change), summaryOf(change, titles)]
  const facts = summary !== '' && commit && <a href={urls.commit(org, node_id, commit.id, title)}>{summary}</a>
  return (
    <Line who={commit?.author} sign={signs[kind]} time={updated_at} facts={facts}>
      <span>
        <Author name={commit?.author} /> {kind} <a href={urls.node(org, node_id, title)}>{title}</a>
      </span>
    </Line>
  )
}

function Author({ name }: { readonly name: string | undefined }) {
  return <strong>{name === undefined || name.trim() === '' ? 'Somebody' : name}</strong>
}

/** Maximum characters of a summary. */
const longestSummary = 200

/** Returns the first line of the commit's message; '' if it only repeats what happened. */
function summaryOf(change: Change, titles: Titles): string {
  const { commit, title } = change
  const line = messageLine(commit?.message ?? '', titles)
  const isPlain =
    ['Create node', 'Edit node', `Edit ${title}`, `Create ${title}`].includes(line) || kindOf(change) === 'imported'
  return isPlain ? '' : [...line].slice(0, longestSummary).join('')
}
