/** The form of the search page: words, and filters by place, tag and time. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { Urls } from '../urls.ts'
import { Icon } from './icons.tsx'

type Org = AnswerOf<'getOrg'>

/** A page below which to search. */
export interface Place {
  readonly id: string
  readonly title: string
}

/** A search, as in the query of the URL. Empty strings: not given. */
export interface Asked {
  readonly words: string
  /** The id of a page. */
  readonly under: string
  readonly tag: string
  /** A date, such as 2026-07-30. */
  readonly since: string
  /** `plain`: the words have no syntax. */
  readonly syntax: string
}

const longest = { query: 1_000 } as const

/** Reads the search from the URL. Leaves out filters that are not valid. */
export function searchIn(query: URLSearchParams): Asked {
  const sent = (name: string, most: number) => (query.get(name) ?? '').trim().slice(0, most)
  const [under, since] = [sent('under', 40), sent('since', 10)]
  return {
    words: sent('q', longest.query),
    under: /^[0-9a-f-]{36}$/.test(under) ? under : '',
    tag: sent('tag', limits.tag),
    syntax: query.get('syntax') === 'plain' ? 'plain' : '',
    since: /^\d{4}-\d{2}-\d{2}$/.test(since) && !Number.isNaN(Date.parse(since)) ? since : '',
  }
}

export function hasFilter({ under, tag, since }: Asked): boolean {
  return `${under}${tag}${since}` !== ''
}

/** Returns the URL of a search, without empty fields. */
export function searchUrl(urls: Urls, org: string, { words, ...others }: Partial<Asked>): string {
  const fields = Object.entries({ q: words, ...others }).filter(([, value]) => value)
  return `${urls.find(org)}?${new URLSearchParams(fields.map(([name, value]) => [name, value ?? '']))}`
}

interface WordsFormProps {
  readonly urls: Urls
  readonly org: Org
  readonly words?: string
  readonly id?: string
  readonly hasFocus?: boolean
}

/** The large field for the words of a search. */
export function WordsForm({ urls, org, words, id, hasFocus }: WordsFormProps) {
  return (
    <form class="bigfind" id={id} action={urls.find(org.id)} data-search>
      <button type="submit" aria-label="Search">
        <Icon name="search" size={20} />
      </button>
      <label class="vh" for="q">
        Search {org.name}
      </label>
      <input
        id="q"
        type="search"
        name="q"
        value={words}
        placeholder="Search titles and texts"
        autocomplete="off"
        maxLength={longest.query}
        autofocus={hasFocus}
      />
    </form>
  )
}

interface SearchFormProps {
  readonly urls: Urls
  readonly org: Org
  readonly asked: Asked
  readonly places: readonly Place[]
  readonly tags: readonly { readonly name: string }[]
}

export function SearchForm({ urls, org, asked, places, tags }: SearchFormProps) {
  const { words, under, tag, since, syntax } = asked
  return (
    <search class="find-form">
      <div class="search here">
        <WordsForm {...{ urls, org, words }} id="find" hasFocus={words === '' && !hasFilter(asked)} />
      </div>
      <div class="filters">
        <label>
          In{' '}
          <select name="under" form="find">
            <option value="">all pages</option>
            {places.map(({ id, title }) => (
              <option value={id} selected={id === under}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label>
          Tag <input name="tag" form="find" value={tag} list="tags" maxLength={limits.tag} autocomplete="off" />
        </label>
        <datalist id="tags">
          {tags.map(({ name }) => (
            <option value={name} />
          ))}
        </datalist>
        <label>
          Changed since <input type="date" name="since" form="find" value={since} />
        </label>
        <label>
          <input type="checkbox" name="syntax" value="plain" form="find" checked={syntax !== ''} /> Plain words
        </label>
        <button type="submit" class="btn" form="find">
          Search
        </button>
        {hasFilter(asked) && <a href={searchUrl(urls, org.id, { words, syntax })}>Clear filters</a>}
      </div>
      <p class="why syntax">
        <code>"exact words"</code>, <code>-without</code>, <code>title:word</code>, <code>tag:name</code>,{' '}
        <code>property:value</code>. The last word may be unfinished.
      </p>
    </search>
  )
}
