/** The tags of an organisation, or with `?tag=` the pages of one. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { Empty } from '../kit/empty.tsx'
import { type Page, type PageContext, param } from '../page-context.ts'
import { plural, When } from '../parts/dates.tsx'
import { FilterForm } from '../parts/filter-form.tsx'
import { countOpen, OrgTabs } from '../parts/org-tabs.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { mayPropose } from '../parts/rights.ts'
import { searchUrl } from '../parts/search-form.tsx'
import type { Urls } from '../urls.ts'

type Org = AnswerOf<'getOrg'>
type Tags = AnswerOf<'listOrgTags'>
type Tagged = AnswerOf<'listTaggedNodes'>

/** `tags`, `pages`: on a page. `nested`: tags below one. `shown`: other tags of a page. */
const most = { tags: 200, pages: 100, nested: 60, shown: 8, level: 8 } as const

export function showTags(visit: PageContext): Promise<Page> {
  const tag = visit.query.get('tag') ?? ''
  // A longer tag would be refused, and nothing can have it.
  return tag === '' || [...tag].length > limits.tag ? showAll(visit) : showOne(visit, tag)
}

async function showAll(visit: PageContext): Promise<Page> {
  const { api, urls, query } = visit
  const path = { org_id: param(visit, 'org') }
  const q = (query.get('filter') ?? '').trim().slice(0, limits.tag)
  const offset = pageOffset(query.get('from'))
  const org = await api.getOrg({ path })
  const asked = { order: 'name' as const, limit: most.tags, offset, ...(q !== '' && { q }) }
  const [tags, open] = await Promise.all([api.listOrgTags({ path, query: asked }), countOpen(visit, org)])
  const base = `${urls.tags(org.id)}${q === '' ? '' : `?${new URLSearchParams({ filter: q })}`}`
  return {
    ...{ kind: 'page', place: { org, crumb: 'Tags' }, facts: { org, tags, open, q } },
    head: { title: `Tags · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="tags" />
        <main id="main" class="wide tags-page">
          <h1>Tags</h1>
          {(tags.total > 0 || q !== '') && (
            <FilterForm action={urls.tags(org.id)} label="Filter tags" words={q} maxLength={limits.tag} />
          )}
          {tags.total === 0 && q === '' ? (
            <NoTags urls={urls} org={org} />
          ) : (
            <p class="why said" role="status">
              {saidOfTags(tags, q)}
            </p>
          )}
          <ul class="tag-list">
            {tags.tags.map((tag) => (
              <TagItem urls={urls} org={org} tag={tag} isNested={q === ''} />
            ))}
          </ul>
          <Pages base={base} offset={offset} size={most.tags} total={tags.total} names={['Previous', 'Next']} />
        </main>
      </>
    ),
  }
}

function NoTags({ urls, org }: { readonly urls: Urls; readonly org: Org }) {
  const begin = mayPropose(org.role) && (
    <a class="btn go" href={urls.table(org.id)}>
      Choose a page to tag
    </a>
  )
  return (
    <Empty example="tags" begin={begin}>
      Tags group pages across the tree. They are next to the text in the editor, and a slash nests them.
    </Empty>
  )
}

function saidOfTags({ tags, total, offset }: Tags, q: string): string {
  const matching = q === '' ? '' : ` with “${q}”`
  if (total === 0) return `No tag has “${q}” in it.`
  const count = `${plural(total, 'tag')}${matching}`
  if (tags.length === 0) return `There are only ${count}. Go back to the first ones.`
  const range = `${(offset + 1).toLocaleString('en')} to ${(offset + tags.length).toLocaleString('en')} of `
  return `${total > tags.length ? range : ''}${count}`
}

interface TagItemProps {
  readonly urls: Urls
  readonly org: Org
  readonly tag: Tags['tags'][number]
  /** True if it is shown below the tags above it. */
  readonly isNested: boolean
}

function TagItem({ urls, org, tag: { name, num_nodes, num_nodes_within }, isNested }: TagItemProps) {
  const { above, last } = partsOf(name)
  return (
    <li class={isNested ? `in-${above.length}` : undefined}>
      <a href={urls.tags(org.id, name)}>
        {above.length > 0 && <span class="above">{name.slice(0, name.length - last.length)}</span>}
        {last}
      </a>{' '}
      <span class="n">{countOf(num_nodes, num_nodes_within)}</span>
    </li>
  )
}

/** Says how many pages have a tag, and how many with nested tags. */
function countOf(own: number, within: number): string {
  const [some, all] = [own.toLocaleString('en'), within.toLocaleString('en')]
  if (own === within) return some
  return own === 0 ? `${all} in nested tags` : `${some}, ${all} with nested tags`
}

/** Returns the tags above a nested tag, from the top, and its name below them. The rule is that of `GET …/tags`. */
function partsOf(tag: string): { readonly above: readonly string[]; readonly last: string } {
  const slashes = [...tag.matchAll(/(?<=[^/])\/(?=[^/])/g)].slice(0, most.level - 1).map(({ index }) => index)
  return { above: slashes.map((at) => tag.slice(0, at)), last: tag.slice((slashes.at(-1) ?? -1) + 1) }
}

async function showOne(visit: PageContext, tag: string): Promise<Page> {
  const { api, urls, query } = visit
  const path = { org_id: param(visit, 'org') }
  const exact = query.has('exact')
  const offset = pageOffset(query.get('from'))
  const org = await api.getOrg({ path })
  const [tagged, nested, open] = await Promise.all([
    api.listTaggedNodes({ path, query: { tag, exact, limit: most.pages, offset } }),
    api.listOrgTags({ path, query: { under: tag, order: 'name', limit: most.nested } }),
    countOpen(visit, org),
  ])
  return {
    ...{ kind: 'page', place: { org, crumb: 'Tags' }, facts: { org, tag, tagged, nested, open, exact } },
    head: { title: `${tag} · Tags · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="tags" />
        <main id="main" class="wide tags-page" data-cards>
          <TagPath urls={urls} org={org} tag={tag} />
          <h1>{tag}</h1>
          <NestedTags urls={urls} org={org} tag={tag} nested={nested} />
          <Which urls={urls} org={org} tag={tag} tagged={tagged} exact={exact} />
          <TaggedList urls={urls} org={org} tag={tag} tagged={tagged} />
          <Pages
            base={`${urls.tags(org.id, tag)}${exact ? '&exact' : ''}`}
            offset={offset}
            size={most.pages}
            total={tagged.total}
            names={['Previous', 'Next']}
          />
          {tagged.num_nodes > 0 && (
            <p class="more">
              <a href={searchUrl(urls, org.id, { tag })}>Search the pages with this tag</a>
            </p>
          )}
        </main>
      </>
    ),
  }
}

interface TagProps {
  readonly urls: Urls
  readonly org: Org
  readonly tag: string
}

function TagPath({ urls, org, tag }: TagProps) {
  const { above } = partsOf(tag)
  return (
    <nav class="path" aria-label="Tags above this one">
      <a href={urls.tags(org.id)}>Tags</a>
      {above.map((one) => (
        <>
          <span aria-hidden="true">›</span>
          <a href={urls.tags(org.id, one)}>{partsOf(one).last}</a>
        </>
      ))}
    </nav>
  )
}

function NestedTags({ urls, org, tag, nested: { tags, total } }: TagProps & { readonly nested: Tags }) {
  if (total === 0) return null
  return (
    <nav class="tags" aria-label="Nested tags">
      {tags.map(({ name, num_nodes_within }) => (
        <a class="tag" href={urls.tags(org.id, name)}>
          {name.slice(tag.length + 1)} <span class="n">{num_nodes_within.toLocaleString('en')}</span>
        </a>
      ))}
      {total > tags.length && (
        <a href={`${urls.tags(org.id)}?${new URLSearchParams({ filter: `${tag}/` })}`}>
          All {plural(total, 'nested tag')}
        </a>
      )}
    </nav>
  )
}

interface WhichProps extends TagProps {
  readonly tagged: Tagged
  readonly exact: boolean
}

/** Says which pages are listed, and leads to the other list. */
function Which({ urls, org, tag, tagged: { nodes, total, offset, num_nodes, num_nodes_within }, exact }: WhichProps) {
  if (num_nodes_within === 0)
    return (
      <p class="why said" role="status">
        No page has this tag. <a href={urls.tags(org.id)}>All tags</a>
      </p>
    )
  const count = plural(total, 'page')
  const end = offset + nodes.length
  const range =
    total > nodes.length && nodes.length > 0
      ? `${(offset + 1).toLocaleString('en')} to ${end.toLocaleString('en')} of ${count}`
      : count
  const here = urls.tags(org.id, tag)
  return (
    <p class="why said" role="status">
      {nodes.length === 0 && total > 0 ? `There are only ${count}. Go back to the first ones.` : range}
      {num_nodes !== num_nodes_within && (
        <>
          {exact ? ' with exactly this tag. ' : ' with this tag or a nested one. '}
          {exact && <a href={here}>Show all {plural(num_nodes_within, 'page')}</a>}
          {!exact && num_nodes > 0 && (
            <a href={`${here}&exact`}>Show only the {plural(num_nodes, 'page')} with exactly this tag</a>
          )}
        </>
      )}
    </p>
  )
}

function TaggedList({ urls, org, tag, tagged: { nodes } }: TagProps & { readonly tagged: Tagged }) {
  if (nodes.length === 0) return null
  return (
    <ul class="tagged">
      {nodes.map(({ id, title, slug, tags, updated_at }) => (
        <li>
          <a class="t" href={urls.node(org.id, id, slug)}>
            {title}
          </a>
          <span class="others">
            {tags
              .filter((one) => one !== tag)
              .slice(0, most.shown)
              .map((one) => (
                <a class="tag" href={urls.tags(org.id, one)}>
                  {one}
                </a>
              ))}
          </span>
          <span class="why">
            <When time={updated_at} />
          </span>
        </li>
      ))}
    </ul>
  )
}
