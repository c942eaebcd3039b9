/** The filter above the table of pages: its field, its conditions and its errors. */

import type { AnswerOf } from '../../http/in-process.ts'
import { valuesWithoutId } from '../text/connection-values.ts'
import { renamedIn } from '../text/property-names.ts'
import type { Urls } from '../urls.ts'
import { Chips, cut, cutOut, longestShown } from './chips.tsx'
import { FilterHelp } from './filter-help.tsx'
import { columnsText, longestFilter, type TableView, viewUrl } from './table-view.ts'

type Queried = AnswerOf<'queryNodes'>
type NodeType = AnswerOf<'getType'>

/** Why the API refused a filter or a sort. */
export interface FilterTrouble {
  readonly field: 'where' | 'sort'
  readonly says: string
  /** The position in the text, in UTF-16 units. */
  readonly at?: number
}

interface FilterProps {
  readonly urls: Urls
  readonly org: string
  readonly view: TableView
  /** The type of all pages of the table. */
  readonly type: NodeType | undefined
  readonly trouble?: FilterTrouble | undefined
  /** UTF-16 units. */
  readonly longest?: number
}

export function TableFilter({ urls, org, view, type, trouble, longest = longestFilter }: FilterProps) {
  const isWrong = trouble?.field === 'where'
  return (
    <search class="table-filter">
      <form class="filter" action={urls.table(org, {}, view.type)}>
        <label class="vh" for="where">
          Filter pages
        </label>
        <input
          id="where"
          type="search"
          name="where"
          value={view.where}
          placeholder="Filter, such as status:done serves>=4"
          maxLength={longest}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          {...(isWrong ? { 'aria-invalid': true, 'aria-describedby': 'where-wrong' } : {})}
        />
        <HiddenFields view={view} without="where" />
        <button class="btn" type="submit">
          Filter
        </button>
      </form>
      {trouble !== undefined && <Wrong {...{ urls, org, view, trouble }} />}
      <FilterHelp type={type} />
    </search>
  )
}

/** The parts of the view that a form does not change. */
export function HiddenFields({ view, without }: { readonly view: TableView; readonly without: 'where' | 'columns' }) {
  return (
    <>
      {without !== 'where' && view.where !== '' && <input type="hidden" name="where" value={view.where} />}
      {view.sort !== '' && <input type="hidden" name="sort" value={view.sort} />}
      {without !== 'columns' && view.columns !== undefined && (
        <input type="hidden" name="columns" value={columnsText(view.columns)} />
      )}
    </>
  )
}

/** Shows the sentence of the API, and the text with the position marked. */
function Wrong({
  urls,
  org,
  view,
  trouble: { field, says, at },
}: Pick<FilterProps, 'urls' | 'org' | 'view'> & { readonly trouble: FilterTrouble }) {
  const text = view[field]
  return (
    <div class="wrong" id="where-wrong" role="alert">
      <p>
        {field === 'sort' && 'The sort is not valid. '}
        <WithCode text={says} />
      </p>
      {at !== undefined && (
        <p class="place">
          <code>
            {text.slice(Math.max(0, at - longestShown), at)}
            <mark>{characterAt(text, at)}</mark>
            {text.slice(at + characterAt(text, at).length, at + longestShown)}
          </code>
        </p>
      )}
      {field === 'sort' && <a href={viewUrl(urls, org, { ...view, sort: '' })}>Remove the sort</a>}
    </div>
  )
}

/** Shows the parts of a sentence between backticks as code. */
function WithCode({ text }: { readonly text: string }) {
  return <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code>{part}</code> : part))}</>
}

/** Returns the character at a position; after the end, a space that can be marked. */
function characterAt(text: string, at: number): string {
  const code = text.codePointAt(at)
  return code === undefined ? '\u00a0' : String.fromCodePoint(code)
}

interface ConditionsProps {
  readonly urls: Urls
  readonly org: string
  readonly view: TableView
  readonly conditions: NonNullable<Queried['conditions']>
}

/** Each condition as a link that removes it. */
export function Conditions({ urls, org, view, conditions }: ConditionsProps) {
  const urlOf = (where: string) => viewUrl(urls, org, { ...view, where, page: 1 })
  return (
    <Chips conditions={conditions} urlWithout={(one) => urlOf(cutOut(view.where, one))} urlWithoutAll={urlOf('')} />
  )
}

interface UnknownProps {
  readonly urls: Urls
  readonly org: string
  readonly view: TableView
  readonly unknown: NonNullable<Queried['unknown']>
}

/** Names that no page has, each with the nearest name as a link. */
export function UnknownNames({ urls, org, view, unknown }: UnknownProps) {
  return (
    <>
      {Object.entries(unknown).map(([name, nearest]) => (
        <p class="unknown">
          No page has a property <bdi class="name">{cut(name)}</bdi>.{' '}
          {nearest !== null && (
            <>
              Did you mean{' '}
              <a href={viewUrl(urls, org, { ...renamed(view, name, nearest), page: 1 })}>
                <bdi>{cut(nearest)}</bdi>
              </a>
              ?
            </>
          )}
        </p>
      ))}
    </>
  )
}

/** Says why no page matches a connection that is compared with a title. */
export function WrongTargets({ where }: { readonly where: string }) {
  return (
    <>
      {[...new Set(valuesWithoutId(where))].map((text) => (
        <p class="unknown">
          A connection is compared with the id of a page, and <bdi class="name">{cut(text)}</bdi> is not an id. The
          settings of a page show its id.
        </p>
      ))}
    </>
  )
}

function renamed(view: TableView, name: string, other: string): TableView {
  return { ...view, where: renamedIn(view.where, name, other), sort: renamedIn(view.sort, name, other) }
}
