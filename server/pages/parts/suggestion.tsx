/** Suggestions of a proposal: as differences, with the forms that apply them. */

import { TextDiff } from '../text/diff.tsx'
import { Hidden } from './comment-form.tsx'
import { isOpen, mayApply } from './suggesting.ts'
import { type Comment, type Conversing, viewLink } from './talk.ts'

interface SuggestionProps {
  readonly talk: Conversing
  readonly comment: Comment
}

/** Shows what the suggestion of a comment replaces, and its state. */
export function SuggestionView({ talk, comment }: SuggestionProps) {
  const { suggestion, thread, entry } = comment
  if (suggestion === undefined) return null
  const { replaced, effort } = talk.suggesting
  const before = replaced.get(thread)
  return (
    <div class="suggestion" id={`s${entry}`}>
      <p class="why">
        Suggestion{suggestion === '' && ': remove this text'}
        {before === undefined && suggestion !== '' && ', for the text of its thread'}
      </p>
      <TextDiff before={before ?? ''} after={suggestion} effort={effort} />
      <State talk={talk} comment={comment} />
    </div>
  )
}

function State({ talk, comment }: SuggestionProps) {
  const { visit, at, pr, suggesting } = talk
  const { entry, thread, applied_at, applied_by, applied_commit = '' } = comment
  if (applied_at !== undefined)
    return (
      <p class="why">
        Applied in{' '}
        <a href={visit.urls.commit(at.path.org_id, at.path.node_id, applied_commit)}>{applied_commit.slice(0, 8)}</a> by{' '}
        <bdi class="name">{applied_by}</bdi>
      </p>
    )
  if (pr.status !== 'open') return null
  if (suggesting.outdated.has(thread))
    return <p class="why">Outdated: the text that it replaces is gone, so it cannot be applied.</p>
  if (!mayApply(talk)) return null
  return (
    <form method="post" action={viewLink(visit.query)}>
      <Hidden fields={{ commit: pr.source_commit, chosen: entry }} />
      <button class="btn small" type="submit" name="act" value="apply" aria-label={`Apply suggestion ${entry}`}>
        Apply
      </button>
    </form>
  )
}

/** Characters of a suggestion in a list. */
const shortCharacters = 60

interface BoxProps {
  readonly talk: Conversing
  readonly comments: readonly Comment[]
}

/** The box that applies several suggestions in one commit. */
export function SuggestionsBox({ talk, comments }: BoxProps) {
  const open = comments.filter((comment) => isOpen(talk, comment))
  if (open.length < 2 || !mayApply(talk)) return null
  const { visit, pr } = talk
  return (
    <section class="box" id="suggestions">
      <h2>{open.length} open suggestions</h2>
      <form method="post" action={viewLink(visit.query)}>
        <Hidden fields={{ commit: pr.source_commit }} />
        <fieldset class="choices suggestions">
          <legend class="vh">Suggestions to apply</legend>
          {open.map(({ entry, author, suggestion = '' }) => (
            <label>
              <input type="checkbox" name="chosen" value={entry} />
              <span>
                <bdi class="name">{author}</bdi>: {suggestion.trim() === '' ? <em>remove</em> : shortened(suggestion)}{' '}
                <a href={`#c${entry}`} aria-label={`show comment ${entry}`}>
                  show
                </a>
              </span>
            </label>
          ))}
        </fieldset>
        <input name="message" aria-label="Message of the commit" placeholder="Message of the commit" />
        <button class="btn" type="submit" name="act" value="apply">
          Apply selected
        </button>
      </form>
    </section>
  )
}

function shortened(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length <= shortCharacters ? line : `${line.slice(0, shortCharacters).replace(/[\uD800-\uDBFF]$/, '')}…`
}
