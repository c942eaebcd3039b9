/** Reviews as facts of an answer. */

import type { Output } from '../../../spec/client/api.ts'
import type { Section } from '../answer.ts'
import { brief } from '../quoted.ts'
import type { Session } from '../session.ts'

const shownReason = 300
const shownName = 120
const shownComments = 20
/** The most reviews that are read, the newest. */
const mostReviews = 100

export interface At {
  readonly org_id: string
  readonly node_id: string
  readonly number: number
}

export type Review = Output<'getReview'>

/** The proposal of a discussion. */
export interface Discussed {
  readonly lead: readonly string[]
  /** The numbers of the reviews that count now. Undefined: each node has its own. */
  readonly counting?: ReadonlySet<number>
  readonly reviewers: Output<'getPull'>['pr']['reviewers']
  readonly source_commit?: string | null
  /** The nodes of a proposal of several. */
  readonly sections: readonly Section[]
}

/** Reads the newest reviews. */
export async function readReviews({ api }: Session, path: At): Promise<Output<'listReviews'>> {
  const first = await api.listReviews({ path, query: { limit: mostReviews } })
  if (first.total <= mostReviews) return first
  return api.listReviews({ path, query: { limit: mostReviews, offset: first.total - mostReviews } })
}

/** @param counts whether the verdict counts now, if that is known */
export function reviewFacts(review: Review, counts: boolean | undefined, chars: number): object {
  const { entry, author, created_at, verdict, state, comments, dismissed_by, dismissed_reason, erased_at, text } =
    review
  return {
    review: entry,
    author: brief(author, Math.min(shownName, chars)),
    ...{ created_at, verdict, state, counts: verdict === 'comment' ? undefined : counts },
    dismissed_by: dismissed_by && brief(dismissed_by, Math.min(shownName, chars)),
    dismissed_reason: dismissed_reason && brief(dismissed_reason, Math.min(shownReason, chars)),
    comments: comments.length > 0 ? comments.slice(0, shownComments) : undefined,
    erased_at,
    ...textFacts(text, chars),
  }
}

/** The beginning of a text, and its length if that is not all. */
export function textFacts(text: string, chars: number): object {
  return {
    text_chars: text.length > chars ? text.length : undefined,
    text: text === '' ? undefined : brief(text, chars),
  }
}
