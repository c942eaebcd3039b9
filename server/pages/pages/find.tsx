/** Search results, without script. `?title=` redirects to the node with that title. */

import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, type PageResult, param, redirect } from '../page-context.ts'
import { Chips, cutOut } from '../parts/chips.tsx'
import { plural, When } from '../parts/dates.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { mayPropose } from '../parts/rights.ts'
import { type Asked, hasFilter, type Place, SearchForm, searchIn, searchUrl } from '../parts/search-form.tsx'
import { areasOf, readTree, TreeSide } from '../parts/tree.tsx'
import type { Urls } from '../urls.ts'

type Found = AnswerOf<'searchNodes'>
type Org = AnswerOf<'getOrg'>
type Suggestions = AnswerOf<'suggestTitles'>['suggestions']

/** `matches`, `recent`: on a page. `all`: that can be reached. `titles`: if nothing matches. */
const most = { matches: 20, recent: 10, all: 1_000, titles: 5, tags: 40, places: 200, title: 500 } as const

export async function showFind(visit: PageContext): Promise<PageResult> {
  const { api, urls, query } = visit
  const path = { org_id: param(visit, 'org') }
  const org = await api.getOrg({ path })
  const title = query.get('title')?.trim().slice(0, 1_000)
  if (title) {
    const { suggestions } = await api.suggestTitles({ path, query: { q: title, limit: 1 } })
    const [first] = suggestions
    if (first?.title.toLowerCase() === title.toLowerCase())
      return redirect(302, urls.node(org.id, first.node_id, first.title))
  }
  const sent = searchIn(query)
  const asked = { ...sent, words: sent.words === '' ? (title ?? '') : sent.words }
  const offset = Math.min(pageOffset(query.get('from')), most.all)
  const [tree, found, { tags }] = await Promise.all([
    readTree(visit, org),
    api.searchNodes({ path, body: bodyOf(asked, offset) }),
    api.listOrgTags({ path, query: { limit: most.tags } }),
  ])
  const places = await placesOf(visit, areasOf(tree), asked.under)
  const titles =
    found.total === 0 && asked.words !== '' && !hasFilter(asked) ? await similarTitles(visit, asked.words) : []
  return page(visit, { org, tree, asked, offset, found, titles, tags, places })
}

/** The part of a query before the words. Without quotes in it, the tag can be found in any case. */
function tagPart({ tag, syntax }: Asked): string {
  return syntax !== '' || tag === '' || tag.includes('"') ? '' : `tag:"${tag}" `
}

/** Returns the search to ask for. Without words, it lists the latest changes. */
function bodyOf(asked: Asked, offset: number) {
  const { words, under, tag, since, syntax } = asked
  const isBlank = `${words}${under}${tag}${since}` === ''
  const byQuery = tagPart(asked) !== ''
  const query = `${tagPart(asked)}${words}`.trim()
  return {
    query: query === '' ? '*' : query,
    ...(syntax === 'plain' && ({ syntax } as const)),
    top_k: isBlank ? most.recent : most.matches,
    offset: isBlank ? 0 : offset,
    scope: {
      ...(under !== '' && { under }),
      ...(tag !== '' && !byQuery && { tags: [tag] }),
      ...(since !== '' && { updated_after: new Date(Date.parse(since) - 1).toISOString() }),
    },
  }
}

async function similarTitles({ api, params }: PageContext, words: string): Promise<Suggestions> {
  const query = { q: words.slice(0, most.title), limit: most.titles }
  return (await api.suggestTitles({ path: { org_id: params.org ?? '' }, query })).suggestions
}

/** Returns the top pages with subpages. Also the page in which the user searches. */
async function placesOf(
  { api, params }: PageContext,
  areas: ReturnType<typeof areasOf>,
  under: string,
): Promise<Place[]> {
  const places: Place[] = areas.filter(({ num_children }) => num_children > 0).slice(0, most.places)
  if (under === '' || places.some(({ id }) => id === under)) return places
  try {
    const { title } = await api.getNode({ path: { org_id: params.org ?? '', node_id: under } })
    return [{ id: under, title }, ...places]
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'node_not_found')) throw error
    return [{ id: under, title: 'a deleted page' }, ...places]
  }
}

interface Facts {
  readonly org: Org
  readonly tree: Awaited<ReturnType<typeof readTree>>
  readonly asked: Asked
  /** The number of matches on the pages before. */
  readonly offset: number
  readonly found: Found
  readonly titles: Suggestions
  readonly tags: AnswerOf<'listOrgTags'>['tags']
  readonly places: readonly Place[]
}

function page({ urls }: PageContext, facts: Facts): Page {
  const { org, tree, asked, tags, places } = facts
  const isBlank = asked.words === '' && !hasFilter(asked)
  return {
    ...{ kind: 'page', facts, place: { org, hasSide: true } },
    head: { title: `${asked.words === '' ? 'Search' : asked.words} · ${org.name}`, noIndex: true },
    body: () => (
      <div class="cols two">
        <TreeSide tree={tree} urls={urls} org={org.id} />
        <main id="main" class="org">
          <div class="wide found">
            <h1>Search</h1>
            <SearchForm {...{ urls, org, asked, places, tags }} />
            <IndexNotice found={facts.found} />
            {isBlank ? <Start urls={urls} facts={facts} /> : <Results urls={urls} facts={facts} />}
          </div>
        </main>
      </div>
    ),
  }
}

interface PartProps {
  readonly urls: Urls
  readonly facts: Facts
}

/** The tags and the latest changes, if no search was sent. */
function Start({ urls, facts: { org, found, tags } }: PartProps) {
  return (
    <>
      {tags.length > 0 && (
        <section>
          <h2>Tags</h2>
          <p class="tags">
            {tags.map(({ name, num_nodes }) => (
              <a class="tag" href={urls.tags(org.id, name)}>
                {name} <span class="n">{num_nodes}</span>
              </a>
            ))}
          </p>
          <p class="more">
            <a href={urls.tags(org.id)}>All tags</a>
          </p>
        </section>
      )}
      <section>
        <h2>Recent changes</h2>
        {found.matches.length === 0 ? <p class="why">There is nothing to search yet.</p> : null}
        <Matches urls={urls} org={org.id} matches={found.matches} />
        <p class="more">
          <a href={urls.changes(org.id)}>All changes</a>
        </p>
      </section>
    </>
  )
}

function Results({ urls, facts: { org, asked, offset, found, titles } }: PartProps) {
  const { matches, total } = found
  return (
    <>
      <FoundConditions urls={urls} org={org.id} asked={asked} found={found} />
      <p class="why said">{saidOf(found, asked, offset)}</p>
      <MeaningNotice found={found} />
      <Make urls={urls} org={org} asked={asked} found={found} />
      <Matches urls={urls} org={org.id} matches={matches} />
      {titles.length > 0 && (
        <section>
          <h2>Similar titles</h2>
          <ul class="results">
            {titles.map(({ node_id, title }) => (
              <li>
                <a class="t" href={urls.node(org.id, node_id, title)}>
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Pages
        base={searchUrl(urls, org.id, asked)}
        offset={offset}
        size={most.matches}
        total={Math.min(total, most.all)}
        names={['Previous', 'Next']}
      />
    </>
  )
}

interface ConditionsProps {
  readonly urls: Urls
  readonly org: string
  readonly asked: Asked
  readonly found: Found
}

/** The parts of the words that were read as conditions. A search of only conditions can also be a table. */
function FoundConditions({ urls, org, asked, found: { conditions = [] } }: ConditionsProps) {
  if (conditions.length === 0) return null
  const start = tagPart(asked).length
  const without = (some: typeof conditions) =>
    some
      .toReversed()
      .reduce((words, { from, to }) => cutOut(words, { from: from - start, to: to - start }), asked.words)
  const rest = without(conditions)
  const { under, tag, since } = asked
  const where = [
    ...conditions.map(({ text }) => text),
    ...(tag === '' ? [] : [`tag:"${tag.replaceAll('"', '""')}"`]),
    ...(under === '' ? [] : [`under:${under}`]),
    ...(since === '' ? [] : [`updated>=${since}`]),
  ].join(' ')
  return (
    <div class="conditions">
      <Chips
        conditions={conditions}
        urlWithout={(one) => searchUrl(urls, org, { ...asked, words: without([one]) })}
        urlWithoutAll={searchUrl(urls, org, { ...asked, words: rest })}
      />
      <p class="more">
        <a href={searchUrl(urls, org, { ...asked, syntax: 'plain' })}>Search for these words instead</a>
      </p>
      {rest === '' && (
        <p class="more">
          <a href={urls.table(org, { where })}>Show as a table</a>
        </p>
      )}
    </div>
  )
}

/** Describes the result: the number of pages, or why there are none. */
function saidOf(
  { matches, total, total_is_exact: isExact, hint, conditions }: Found,
  asked: Asked,
  offset: number,
): string {
  const count = `${isExact ? '' : 'more than '}${plural(total, 'page')}`
  if (matches.length > 0) {
    const range = total > matches.length ? `${offset + 1} to ${offset + matches.length} of ` : ''
    return `${range}${range === '' ? capital(count) : count}${total > most.all ? `. The best ${plural(most.all, 'page')} can be shown` : ''}`
  }
  if (total > 0) return `There are only ${count}. Go back to the first ones.`
  if (conditions !== undefined) return 'No page matches the conditions.'
  if (hint === 'only_stop_words') return 'These words are too common. Add a more specific one.'
  if (hint === 'scope_is_empty')
    return hasFilter(asked) ? 'No page matches the filters.' : 'There is nothing to search yet.'
  return asked.words === '' ? 'No page matches the filters.' : `No results for “${asked.words}”.`
}

/** Says that some pages are missing, because the index is being built. */
function IndexNotice({ found: { unindexed_nodes: left } }: { readonly found: Found }) {
  if (left === undefined) return null
  return <p class="why">The search index is being built: {plural(left, 'page')} left. Search again in a moment.</p>
}

/** Says why the meaning of the words was not compared, if that can change. */
function MeaningNotice({ found: { matches, meaning } }: { readonly found: Found }) {
  const byWords = matches.length === 0 ? '' : '; these are the matches by words'
  if (meaning?.state === 'unavailable') return <p class="why">Search by meaning is not available now{byWords}.</p>
  if (meaning?.state !== 'catching_up') return null
  return <p class="why">Search by meaning is being prepared: {Math.floor((meaning.covered ?? 0) * 100)} % of pages.</p>
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

interface MakeProps {
  readonly urls: Urls
  readonly org: Org
  readonly asked: Asked
  readonly found: Found
}

/** Offers to create a page with the words as its title. Not if it exists, or the words have syntax. */
function Make({ urls, org, asked: { words, under }, found }: MakeProps) {
  const isTitle =
    found.conditions === undefined &&
    words !== '' &&
    words.length <= most.title &&
    !/["*]|(^|\s)-|(^|\s)(tag|title):/.test(words)
  const exists = found.matches.some(({ title }) => title.toLowerCase() === words.toLowerCase())
  if (!isTitle || exists || !mayPropose(org.role)) return null
  return (
    <p class="make">
      <a href={urls.newNode(org.id, { title: words, ...(under !== '' && { parent: under }) })}>
        Create the page “{words}”
      </a>
    </p>
  )
}

interface MatchesProps {
  readonly urls: Urls
  readonly org: string
  readonly matches: Found['matches']
}

function Matches({ urls, org, matches }: MatchesProps) {
  if (matches.length === 0) return null
  return (
    <ul class="results">
      {matches.map((match) => (
        <Match key={match.node_id} match={match} urls={urls} org={org} />
      ))}
    </ul>
  )
}

interface MatchProps {
  readonly match: Found['matches'][number]
  readonly urls: Urls
  readonly org: string
}

function Match({ match, urls, org }: MatchProps) {
  const { node_id, title, snippet, passage, matched_terms, meaning, path, updated_at } = match
  return (
    <li>
      <a class="t" href={urls.node(org, node_id, title)}>
        <span>
          <Marked text={title} terms={matched_terms} />
        </span>
        {passage?.heading && passage.heading !== title && <span class="where">{passage.heading}</span>}
      </a>
      {meaning !== undefined && matched_terms.length === 0 && (
        <div class="from">found by meaning, no words in common</div>
      )}
      {snippet !== '' && (
        <p>
          <Marked text={snippet} terms={matched_terms} />
        </p>
      )}
      <div class="from">
        {path.map((above) => (
          <>
            <a href={urls.node(org, above.id, above.title)}>{above.title}</a>
            <span aria-hidden="true"> / </span>
          </>
        ))}
        <When time={updated_at} />
      </div>
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
