/** Two compared versions side by side, and how far apart they are. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { Urls } from '../urls.ts'
import { plural, When } from './dates.tsx'
import { RestoreLink } from './restore-link.tsx'

/** One of the two versions. */
export interface Side {
  /** The name that the visitor gave; '' without one. */
  readonly name: string
  readonly commit?: Pick<AnswerOf<'listCommits'>['history'][number], 'id' | 'message' | 'author' | 'created_at'>
  /** True if the visitor may restore it on main. */
  readonly isRestorable?: boolean
  /** Why there is no commit; undefined without a name. */
  readonly says?: string
}

interface CardsProps {
  readonly urls: Urls
  readonly org: string
  readonly node: string
  readonly sides: readonly [Side, Side]
}

export function VersionCards({ urls, org, node, sides }: CardsProps) {
  return (
    <div class="compared">
      {sides.map(({ name, commit, isRestorable }, at) => {
        if (commit === undefined) return null
        const { id, message, author, created_at } = commit
        const title = message.split('\n', 1)[0]?.trim().slice(0, 200) || 'No message'
        return (
          <section class="card">
            <header>
              <h2>{at === 0 ? 'From' : 'To'}</h2>
              <span class="r">
                {name !== id && !id.startsWith(name) && <span class="ref">{name.slice(0, 200)}</span>}
                <span class="sha">{id.slice(0, 8)}</span>
              </span>
            </header>
            <div class="version">
              <a href={urls.commit(org, node, id)}>{title}</a>
              <small>
                {author}, <When time={created_at} />
              </small>
              <p>
                <a href={urls.version(org, node, id)} aria-label={`View this version: ${title}`}>
                  View this version
                </a>
                {isRestorable && <RestoreLink href={urls.restore(org, node, id)} of={title} />}
              </p>
            </div>
          </section>
        )
      })}
    </div>
  )
}

type Comparison = Pick<
  AnswerOf<'compareCommits'>,
  'base_commit' | 'head_commit' | 'merge_base' | 'commits_ahead' | 'commits_behind'
>

/** Says how the versions are related. */
export function Distance({ found, differs }: { readonly found: Comparison; readonly differs: boolean }) {
  return (
    <p class="notice">
      {distanceOf(found)}
      {!differs && found.base_commit !== found.head_commit && ' Their files are the same.'}
    </p>
  )
}

function distanceOf({ base_commit, head_commit, merge_base, commits_ahead, commits_behind }: Comparison): string {
  if (base_commit === head_commit) return 'These are the same version.'
  if (commits_behind === 0) return `The second version is ${plural(commits_ahead, 'commit')} later.`
  if (commits_ahead === 0) return `The second version is ${plural(commits_behind, 'commit')} earlier.`
  const direct = 'Neither follows from the other, so they are compared directly.'
  if (merge_base === null) return `These versions have no common history. ${direct}`
  return `These versions have diverged: since their last common version, the first has ${plural(commits_behind, 'commit')} and the second has ${plural(commits_ahead, 'commit')}. ${direct}`
}
