/** Values of properties with few of them, as links that narrow the table of pages. */

import type { AnswerOf } from '../../http/in-process.ts'
import { nameText, type TableColumn, valueText } from '../text/property-names.ts'
import type { Urls } from '../urls.ts'
import { cut, cutOut } from './chips.tsx'
import { type TableView, viewUrl } from './table-view.ts'

type Queried = AnswerOf<'queryNodes'>
type Facet = NonNullable<Queried['facets']>[number]
type Condition = NonNullable<Queried['conditions']>[number]
type PropertyNames = AnswerOf<'listProperties'>['properties']

/** `asked`: properties of which values are counted. `atOnce`: of one query. `value`, `name`: UTF-16 units. */
const most = { asked: 9, atOnce: 5, values: 10, value: 200, name: 100 } as const

/** The bookkeeping of imports, and texts that differ on each page. */
const apart: readonly string[] = ['description', 'source_path', 'source_files']

type AskedFacet = { field: 'tag'; limit: number } | { property: string; limit: number }

/** Returns the facets to ask for, in groups of one query each. @param chosen names of properties with few values */
export function facetsOf(properties: PropertyNames, chosen?: readonly string[]): AskedFacet[][] {
  const names = (chosen ?? usualNames(properties)).filter((name) => name.length <= most.name).slice(0, most.asked)
  const all: AskedFacet[] = [
    { field: 'tag', limit: most.values },
    ...names.map((name) => ({ property: name, limit: most.values })),
  ]
  return [all.slice(0, most.atOnce), all.slice(most.atOnce)].filter((some) => some.length > 0)
}

function usualNames(properties: PropertyNames): string[] {
  return properties
    .filter(({ name, kinds: { text = 0, number = 0, boolean = 0, date = 0, object = 0 } }) => {
      const isPlain = name !== '' && name.length <= most.name && !apart.includes(name)
      return isPlain && text + number + boolean > date + object
    })
    .map(({ name }) => name)
}

interface FacetsProps {
  readonly urls: Urls
  readonly org: string
  readonly view: TableView
  readonly facets: readonly Facet[]
  readonly conditions: readonly Condition[]
  readonly total: number
  /** True if the properties are known to have few values. */
  readonly isChosen: boolean
  /** Returns the name of a property for people; undefined: its name in the nodes. */
  readonly labelOf: (column: TableColumn) => string | undefined
}

export function Facets({ urls, org, view, facets, conditions, total, isChosen, labelOf }: FacetsProps) {
  const shown = facets.filter((facet) => narrows(facet, conditions, total, isChosen))
  if (shown.length === 0) return null
  return (
    <nav class="facets" aria-label="Narrow the table">
      {shown.map((facet) => {
        const title = facet.field ?? String(facet.property)
        const name = facet.field ?? nameText(title)
        const label = labelOf({ property: [title] }) ?? title
        return (
          <section>
            <h2>
              <bdi>{facet.field === undefined ? cut(label) : 'Tags'}</bdi>
            </h2>
            <ul>
              {facet.values
                .filter(({ value }) => String(value).length <= most.value)
                .map(({ value, count }) => (
                  <FacetLink
                    {...{ urls, org, view, conditions, count }}
                    text={`${name}${facet.field === undefined ? '=' : ':'}${valueText(value)}`}
                    label={wordOf(value)}
                  />
                ))}
              {facet.missing > 0 && facet.missing < total && (
                <FacetLink
                  {...{ urls, org, view, conditions }}
                  count={facet.missing}
                  text={`-${name}:*`}
                  label={facet.field === undefined ? 'no value' : 'no tag'}
                />
              )}
            </ul>
            {facet.more > 0 && <p class="why">and {facet.more.toLocaleString('en')} more</p>}
          </section>
        )
      })}
    </nav>
  )
}

/** True if the facet is in the filter, or would narrow the table. */
function narrows(
  { field, property, values, missing, more }: Facet,
  conditions: readonly Condition[],
  total: number,
  isChosen: boolean,
): boolean {
  const name = field ?? nameText(String(property))
  if (conditions.some(({ text }) => text.startsWith(`${name}=`) || text.startsWith(`-${name}:`))) return true
  const isFew = isChosen || field !== undefined || (more === 0 && values.some(({ count }) => count > 1))
  return isFew && values.some(({ count }) => count < total) && values.length + (missing > 0 ? 1 : 0) > 1
}

function wordOf(value: string | number | boolean): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return value === '' ? 'empty' : cut(String(value))
}

interface FacetLinkProps extends Omit<FacetsProps, 'facets' | 'total' | 'isChosen' | 'labelOf'> {
  /** The condition. */
  readonly text: string
  readonly label: string
  readonly count: number
}

/** Adds the condition, or removes it if the filter has it. */
function FacetLink({ urls, org, view, conditions, text, label, count }: FacetLinkProps) {
  const present = conditions.find((one) => one.text === text)
  const where = present === undefined ? withCondition(view.where, conditions, text) : cutOut(view.where, present)
  return (
    <li>
      <a
        href={viewUrl(urls, org, { ...view, where, page: 1 })}
        aria-current={present === undefined ? undefined : 'true'}
      >
        <bdi>{label}</bdi> <span class="n">{count.toLocaleString('en')}</span>
      </a>
    </li>
  )
}

/** Alternatives need parentheses before another condition. */
function withCondition(where: string, conditions: readonly Condition[], text: string): string {
  const isAlternatives = conditions.length === 1 && /\sOR\s/.test(where)
  return `${isAlternatives ? `(${where})` : where} ${text}`.trim()
}
