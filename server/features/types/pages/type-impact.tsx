/** The effect of a new definition on pages, and the history of a type. */

import type { AnswerOf } from '../../../http/in-process.ts'
import { plural, When } from '../../../pages/parts/dates.tsx'
import { asSentence } from '../../../pages/text/broken-rules.ts'
import type { Urls } from '../../../pages/urls.ts'

export type Impact = AnswerOf<'checkType'>

/** Pages that are listed, and sentences of each. */
const most = { pages: 20, problems: 3 } as const

interface ImpactProps {
  readonly impact: Impact
  readonly org: string
  readonly urls: Urls
}

/** Shows what a check found. Nothing was saved yet. */
export function ImpactOf({ impact, org, urls }: ImpactProps) {
  const { nodes, newly_broken, mended, still_broken, leaving, examples } = impact
  const counts = [
    newly_broken > 0 && `${plural(newly_broken, 'page')} would newly break a rule`,
    mended > 0 && `${plural(mended, 'page')} would no longer break a rule`,
    still_broken > 0 && `${plural(still_broken, 'page')} would still break a rule`,
  ].filter((said) => said !== false)
  return (
    <section id="impact" class="type-impact" aria-labelledby="impact-title">
      <h2 id="impact-title">If you save this</h2>
      <p>
        {nodes === 1 ? '1 page has' : `${nodes.toLocaleString('en')} pages have`} this type.{' '}
        {counts.length === 0 ? 'None would break a rule.' : `${counts.join('; ')}.`}{' '}
        {leaving > 0 &&
          `${leaving === 1 ? '1 page leaves' : `${leaving.toLocaleString('en')} pages leave`} the type, because their “type” no longer names it. `}
        Saving the type changes no page.
      </p>
      {examples.length > 0 && (
        <ul class="rows">
          {examples.slice(0, most.pages).map(({ node_id, title, problems }) => (
            <li>
              <div>
                <a href={urls.node(org, node_id, title)}>{title}</a>
                {problems.slice(0, most.problems).map(({ msg }) => (
                  <small>{asSentence(msg)}</small>
                ))}
                {problems.length > most.problems && <small>and {problems.length - most.problems} more.</small>}
              </div>
            </li>
          ))}
        </ul>
      )}
      {newly_broken + still_broken > most.pages && <p class="why">The first {most.pages} pages are shown.</p>}
    </section>
  )
}

type History = AnswerOf<'listTypeHistory'>

/** Lists the last changes of a type. */
export function TypeHistory({ history: { history, total } }: { readonly history: History }) {
  return (
    <section aria-labelledby="type-history">
      <h2 id="type-history">History</h2>
      <ul class="rows">
        {history.map(({ version, author, created_at }, at) => (
          <li>
            <div>
              {version === null
                ? 'Deleted'
                : at === history.length - 1 && total === history.length
                  ? 'Defined'
                  : 'Saved'}{' '}
              by {author}
              <small>
                <When time={created_at} />
              </small>
            </div>
          </li>
        ))}
      </ul>
      {total > history.length && <p class="why">and {plural(total - history.length, 'older change')}</p>}
    </section>
  )
}
