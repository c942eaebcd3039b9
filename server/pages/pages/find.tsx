/** Search results, without script. `?title=` redirects to the node with that title. */

import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { plural } from '../parts/dates.tsx'
import { readTree, TreeSide } from '../parts/tree.tsx'
import type { Urls } from '../urls.ts'
import { BigSearch } from './org.tsx'

type Found = AnswerOf<'searchNodes'>
type Suggestions = AnswerOf<'suggestTitles'>['suggestions']

/** `matches`: on the page. `all`: on the longer page, the maximum of a search. `titles`: above the matches. */
const most = { matches: 20, all: 50, titles: 5 } as const
const longestQuery = 1_000

export async function showFind(visit: PageContext): Promise<PageResult> {
  const { api, urls, query } = visit
  const path = { org_id: param(visit, 'org') }
  const title = query.get('title')?.trim().slice(0, longestQuery)
  if (title) {
    const { suggestions } = await api.suggestTitles({ path, query: { q: title, limit: 1 } })
    const [first] = suggestions
    if (first?.title.toLowerCase() === title.toLowerCase()) return redirect(302, urls.node(path.org_id, first.node_id))
  }
  const words = (query.get('q') ?? title ?? '').trim().slice(0, longestQuery)
  const asked = query.get('top') === String(most.all) ? most.all : most.matches
  const org = await api.getOrg({ path })
  const [tree, found, titles] = await Promise.all([
    readTree(visit, org),
    words === '' ? undefined : api.searchNodes({ path, body: { query: words, top_k: asked } }),
    words === ''
      ? []
      : api.suggestTitles({ path, query: { q: words, limit: most.titles } }).then((told) => told.suggestions),
  ])
  return page(visit, { org, tree, words, asked, found, titles })
}

interface Facts {
  readonly org: AnswerOf<'getOrg'>
  readonly tree: Awaited<ReturnType<typeof readTree>>
  readonly words: string
  /** Maximum number of matches. */
  readonly asked: number
  readonly found: Found | undefined
  readonly titles: Suggestions
}

function page({ urls }: PageContext, facts: Facts): Page {
  const { org, tree, words, asked, found, titles } = facts
  const matched = new Set(found?.matches.map(({ node_id }) => node_id))
  const others = titles.filter(({ node_id }) => !matched.has(node_id))
  return {
    ...{ kind: 'page', facts, place: { org, hasSide: true } },
    head: { title: `${words === '' ? 'Search' : words} · ${org.name}`, noIndex: true },
    body: () => (
      <div class="cols two">
        <TreeSide tree={tree} urls={urls} org={org.id} />
        <main id="main" class="org">
          <div class="wide found">
            <h1>Search</h1>
            <BigSearch urls={urls} org={org} words={words} />
            {found && <p class="why said">{saidOf(found, others.length, asked)}</p>}
            {(found?.matches.length ?? 0) + others.length > 0 && (
              <ul class="results">
                {others.map(({ node_id, title }) => (
                  <li>
                    <a class="t" href={urls.node(org.id, node_id)}>
                      {title}
                    </a>
                  </li>
                ))}
                {found?.matches.map((match) => (
                  <Match key={match.node_id} match={match} urls={urls} org={org.id} />
                ))}
              </ul>
            )}
            {found?.matches.length === asked && asked < most.all && (
              <p class="more">
                <a
                  class="btn"
                  href={`${urls.find(org.id)}?${new URLSearchParams({ q: words, top: String(most.all) })}`}
                >
                  Show the best {most.all}
                </a>
              </p>
            )}
          </div>
        </main>
      </div>
    ),
  }
}

const hints: Readonly<Record<string, string>> = {
  only_stop_words: 'Almost every text contains these words. Add a more specific one',
  no_term_known: 'No title or text contains any of these words',
  scope_is_empty: 'There is nothing to search yet',
}

/** Describes the result. If it is as long as the limit, there may be more. */
function saidOf({ matches, hint }: Found, others: number, asked: number): string {
  if (matches.length === asked)
    return `The best ${asked} nodes${asked < most.all ? '' : '; add a word to find others'}.`
  if (matches.length + others > 0) return plural(matches.length + others, 'node')
  return `${hints[hint ?? ''] ?? 'Nothing was found'}.`
}

interface MatchProps {
  readonly match: Found['matches'][number]
  readonly urls: Urls
  readonly org: string
}

function Match({ match: { node_id, title, snippet, passage, matched_terms }, urls, org }: MatchProps) {
  return (
    <li>
      <a class="t" href={urls.node(org, node_id)}>
        <span>
          <Marked text={title} terms={matched_terms} />
        </span>
        {passage?.heading && passage.heading !== title && <span class="where">{passage.heading}</span>}
      </a>
      <p>
        <Marked text={snippet} terms={matched_terms} />
      </p>
    </li>
  )
}

/** Marks words that begin with a term, because terms are word stems in lower case. */
function Marked({ text, terms }: { readonly text: string; readonly terms: readonly string[] }) {
  const starts = terms.map((term) => term.toLowerCase()).filter((term) => term.length > 1)
  const pieces = text.split(/([\p{L}\p{M}\p{N}]+)/u)
  return (
    <>
      {pieces.map((piece, at) => {
        const small = piece.toLowerCase()
        return at % 2 === 1 && starts.some((start) => small.startsWith(start)) ? <mark>{piece}</mark> : piece
      })}
    </>
  )
}
