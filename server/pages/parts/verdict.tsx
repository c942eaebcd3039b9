/** The visitor's review of a proposal as a form. */

import { Hidden, TextArea } from './comment-form.tsx'
import { isOwn, type Talk, viewLink } from './talk.ts'

/** The words for each verdict, after the name of a user. */
export const reviewWords = { approve: 'approved', request_changes: 'asks for changes', comment: 'commented' } as const

export const choices = { comment: 'Comment', approve: 'Approve', request_changes: 'Ask for changes' } as const
export type Choice = keyof typeof choices

interface ChoicesProps {
  /** Only a comment is possible. */
  readonly isOnlyComment: boolean
  readonly chosen?: Choice
}

export function VerdictChoices({ isOnlyComment, chosen = 'comment' }: ChoicesProps) {
  const names = (Object.keys(choices) as Choice[]).filter((name) => !isOnlyComment || name === 'comment')
  return (
    <fieldset class="choices">
      <legend class="vh">Verdict</legend>
      {names.map((name) => (
        <label>
          <input type="radio" name="verdict" value={name} checked={name === chosen} /> {choices[name]}
        </label>
      ))}
    </fieldset>
  )
}

/** The box "Your review". It sends the head that the visitor saw. */
export function YourReview({ talk }: { readonly talk: Talk }) {
  const { visit, pr } = talk
  const isAuthor = isOwn(talk, pr)
  return (
    <section class="box" id="review">
      <h2>Your review</h2>
      <form method="post" action={viewLink(visit.query)} data-talk="review" data-review>
        <Hidden fields={{ commit: pr.source_commit, seen: pr.last_activity_at }} />
        {!isAuthor && <VerdictChoices isOnlyComment={false} />}
        {isAuthor && (
          <p class="why">This is your own proposal, so you can comment on it, and other members approve it.</p>
        )}
        <TextArea label="What do you think of it?" rows={3} />
        <div data-collected hidden />
        <button class="btn go" type="submit" name="act" value="review">
          Submit
        </button>
      </form>
    </section>
  )
}
