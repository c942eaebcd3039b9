/** The filter above the table of pages: its field, its conditions and its errors. */

import type { AnswerOf } from '../../http/in-process.ts'
import { renamedIn } from '../text/property-names.ts'
import type { Urls } from '../urls.ts'
import { Chips, cut, cutOut, longestShown } from './chips.tsx'
import { columnsText, longestFilter, type TableView, viewUrl } from './table-view.ts'

type Queried = AnswerOf<'queryNodes'>

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
  readonly trouble?: FilterTrouble | undefined
}

export function TableFilter({ urls, org, view, trouble }: FilterProps) {
  const isWrong = trouble?.field === 'where'
  return (
    <search class="table-filter">
      <form class="filter" action={urls.table(org)}>
        <label class="vh" for="where">
          Filter pages
        </label>
        <input
          id="where"
          type="search"
          name="where"
          value={view.where}
          placeholder="Filter, such as status:done serves>=4"
          maxLength={longestFilter}
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
      <FilterHelp />
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
function Wrong({ urls, org, view, trouble: { field, says, at } }: FilterProps & { readonly trouble: FilterTrouble }) {
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

function renamed(view: TableView, name: string, other: string): TableView {
  return { ...view, where: renamedIn(view.where, name, other), sort: renamedIn(view.sort, name, other) }
}

const help: readonly (readonly [text: string, meaning: string])[] = [
  ['status:done', 'the property is this value. Case does not matter'],
  ['status=Done', 'the same, but case matters. != is the opposite'],
  ['status:done,dropped', 'it is one of these values'],
  ['serves>=4', 'it is at least this. Also >, <= and <'],
  ['due<2026-12-01', 'it is before this day. Days are those of UTC, and today is the current one'],
  ['name~soup', 'it contains this'],
  ['name:sou*', 'it begins so'],
  ['due:*', 'the page has this property. -due:* finds pages without it'],
  ['-status:done', 'the condition does not hold'],
  ['(a:1 OR b:2)', 'one of the conditions holds. Conditions without OR must all hold'],
  ['"in work":"not yet"', 'quotes go around names and values with spaces'],
  ['title~whale tag:sea', 'fields of every page are title, tag, type, id, created and updated'],
  ['.created>2026-12-01', 'the property created, where created alone is the field'],
]

function FilterHelp() {
  return (
    <details class="filter-help">
      <summary>How to write a filter</summary>
      <dl>
        {help.map(([text, meaning]) => (
          <div>
            <dt>
              <code>{text}</code>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
