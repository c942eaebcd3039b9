/** A refused form of a conversation. Its text is never lost. */

import { Hidden, TextArea } from './comment-form.tsx'
import { type Refusal, type ReviewAct, withLooserAnchors } from './review-acts.ts'
import { type Conversing, isOwn, viewLink } from './talk.ts'
import { type Choice, choices, VerdictChoices } from './verdict.tsx'

const labels: Readonly<Record<ReviewAct, string>> = {
  comment: 'Comment',
  answer: 'Reply',
  resolve: 'Resolve',
  'reopen-thread': 'Reopen',
  edit: 'Save',
  delete: 'Delete this comment',
  erase: 'Delete permanently',
  review: 'Submit',
  withdraw: 'Withdraw',
  dismiss: 'Dismiss',
  ask: 'Save',
  apply: 'Apply',
  override: 'Merge anyway',
}

/** Acts that need a text, or that a form without text can repeat. */
const textActs: ReadonlySet<ReviewAct> = new Set(['review', 'comment', 'answer', 'dismiss', 'override'])

interface RefusedProps {
  readonly talk: Conversing
  readonly refusal: Refusal
}

/** Says why the form was refused, and offers it again. It now names the current head. */
export function RefusedForm({ talk, refusal }: RefusedProps) {
  const { act, says, fields, seen, comments: named = [] } = refusal
  const { visit, pr } = talk
  const { text = '', suggestion, verdict, commit, target, comments, ...hidden } = fields
  // If the form already named the current head, only the anchors can be of another history.
  const isRewritten = seen === pr.source_commit && comments !== undefined
  const collected = isRewritten ? withLooserAnchors(comments, seen) : comments
  const hasText = text.trim() !== '' || suggestion !== undefined || textActs.has(act)
  const sent = {
    commit: seen === undefined ? commit : pr.source_commit,
    target: seen === undefined ? target : pr.target_branch,
  }
  const chosen = (Object.keys(choices) as Choice[]).find((one) => one === verdict)
  return (
    <section class="card refused" id="refused" aria-label="Refused form">
      <p class="problem" role="alert">
        {says}{' '}
        {named.map((entry) => (
          <>
            <a href={`#c${entry}`}>Comment {entry}</a>{' '}
          </>
        ))}
        {seen !== undefined && <a href={`?since=${seen}`}>What changed since</a>}
      </p>
      {hasText && (
        <form class="comment-form" method="post" action={viewLink(visit.query)} data-talk={hidden.draft} data-refused>
          <Hidden fields={{ ...hidden, comments: collected, ...sent }} />
          {act === 'review' && (
            <VerdictChoices isOnlyComment={isOwn(talk, pr)} {...(chosen !== undefined && { chosen })} />
          )}
          {suggestion !== undefined && <TextArea name="suggestion" label="Suggested text" text={suggestion} rows={6} />}
          <TextArea label="Your text" text={text} rows={6} />
          <p class="form-acts">
            <button class="btn go small" type="submit" name="act" value={act}>
              {labels[act]}
            </button>
            <span class="why">Nothing was written yet.</span>
          </p>
        </form>
      )}
    </section>
  )
}

/** The page if the proposal cannot be shown any more. */
export function LostPage({ says, text, signIn }: { says: string; text: string; signIn: string | undefined }) {
  return (
    <main id="main" class="page narrow">
      <h1>Your text was not saved</h1>
      <p class="problem" role="alert">
        {says}
      </p>
      {signIn !== undefined && (
        <p>
          <a class="btn" href={signIn}>
            Sign in
          </a>
        </p>
      )}
      {text.trim() !== '' && (
        <form class="comment-form">
          <p class="why">Copy the text before you leave this page:</p>
          <TextArea label="Your text" text={text} rows={10} />
        </form>
      )}
    </main>
  )
}
