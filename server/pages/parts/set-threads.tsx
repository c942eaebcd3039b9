/** The reviews and open threads of one page of a proposal of several. They are answered in the conversation about it. */

import type { PageContext } from '../page-context.ts'
import { When } from './dates.tsx'
import { readQuotes } from './quotes.ts'
import type { Item, SetTalk } from './set-needs.ts'
import { noSuggestions } from './suggesting.ts'
import { type Conversing, entryLink, type Pull, type Review, renderTexts, type Thread } from './talk.ts'
import { Name, Quoted, TextOf } from './thread.tsx'
import { reviewWords } from './verdict.tsx'

/** Open threads of a page that are shown. */
const mostThreads = 20
/** Reviews of a page that are read. */
const mostReviews = 100

interface ItemThreads {
  readonly threads: readonly Thread[]
  /** The quoted lines by first comment. */
  readonly quotes: ReadonlyMap<number, string>
  /** The HTML of comments by entry. `renderThreads` fills it. */
  readonly said: Map<number, string>
}

/** Reads the open threads of a page, if it has any. */
export async function readItemThreads(
  { api }: PageContext,
  org_id: string,
  { node_id, number, open_threads }: Item,
): Promise<ItemThreads> {
  const path = { org_id, node_id, number }
  const query = { state: 'open', limit: mostThreads } as const
  const { threads } = open_threads === 0 ? { threads: [] } : await api.listThreads({ path, query })
  const firsts = threads.flatMap(({ comments }) => comments[0] ?? [])
  return { threads, quotes: await readQuotes(api, path, firsts), said: new Map() }
}

export interface ItemTalk extends ItemThreads {
  /** The reviews that hold, with a text or a request for changes. */
  readonly reviews: readonly Review[]
}

/** Reads the reviews of a page, if it has a verdict. Approvals without text have no line. */
export async function readItemReviews(
  { api }: PageContext,
  path: { readonly org_id: string; readonly node_id: string; readonly number: number },
  { consent }: Pull,
): Promise<readonly Review[]> {
  if (consent.verdicts.length === 0) return []
  const { reviews } = await api.listReviews({ path, query: { limit: mostReviews } })
  const holds = ({ state }: Review) => state === 'current' || state === 'stale'
  return reviews.filter((one) => holds(one) && (one.text !== '' || one.verdict === 'request_changes'))
}

interface About extends ItemTalk {
  readonly pr: Pull
}

function conversingOf({ visit, org, members }: SetTalk, node_id: string, { pr, said: html }: About): Conversing {
  const at = { org, path: { org_id: org.id, node_id } }
  return { visit, at, pr, members, base: null, suggesting: noSuggestions(), html }
}

export async function renderThreads(talk: SetTalk, node: string, about: About): Promise<void> {
  const texts = [...about.reviews, ...about.threads.flatMap(({ comments }) => comments)]
  await renderTexts(conversingOf(talk, node, about), texts)
}

interface Props {
  readonly talk: SetTalk
  readonly item: Item
  readonly about: About
  /** The URL of the page's own proposal. */
  readonly href: string
}

/** The verdicts on a page with their texts. */
export function ReviewsOfItem({ talk, item, about }: Omit<Props, 'href'>) {
  const conversing = conversingOf(talk, item.node_id, about)
  return (
    <>
      {about.reviews.map(({ entry, author, verdict, state, created_at }) => (
        <section class="thread" aria-label={`Review of ${item.title}`}>
          <article class="comment">
            <header>
              <span>
                <Name>{author}</Name> {reviewWords[verdict]}
                {state === 'stale' && ' before the last change'}
              </span>
              <When time={created_at} />
            </header>
            <TextOf talk={conversing} entry={entry} />
          </article>
        </section>
      ))}
    </>
  )
}

export function ThreadsOfItem({ talk, item, about, href }: Props) {
  const conversing = conversingOf(talk, item.node_id, about)
  return (
    <>
      {about.threads.map(({ comments }) => {
        const [first] = comments
        if (first === undefined) return null
        const link = href + entryLink(first.entry)
        return (
          <section class="thread" aria-label={`Open thread about ${item.title}`}>
            <Quoted text={about.quotes.get(first.entry)} />
            {comments.map(({ entry, author, created_at }) => (
              <article class="comment">
                <header>
                  <Name>{author}</Name>
                  <When time={created_at} />
                </header>
                <TextOf talk={conversing} entry={entry} />
              </article>
            ))}
            <a class="btn small" href={link}>
              Answer
            </a>
          </section>
        )
      })}
    </>
  )
}
