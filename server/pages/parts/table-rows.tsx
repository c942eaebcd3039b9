/** The table of pages: headers that sort, and a row for each page. */

import type { AnswerOf } from '../../http/in-process.ts'
import { columnText, nameText, readColumns, type TableColumn } from '../text/property-names.ts'
import { connectionWords } from '../text/type-labels.ts'
import type { Urls } from '../urls.ts'
import { cut } from './chips.tsx'
import { When } from './dates.tsx'
import { Value } from './property-list.tsx'
import { type TableView, viewUrl } from './table-view.ts'

type Node = AnswerOf<'queryNodes'>['nodes'][number]
type Connection = AnswerOf<'listConnections'>['connections'][number]

/** `tags`, `targets`: of a page. `sort`: UTF-16 units of a sort, as in the API. */
const most = { tags: 6, targets: 6, sort: 1_000 } as const

const fieldTitles = { id: 'Id', title: 'Title', tags: 'Tags', created_at: 'Created', updated_at: 'Changed' } as const

interface TableProps {
  readonly urls: Urls
  readonly org: string
  readonly view: TableView
  readonly columns: readonly TableColumn[]
  readonly nodes: readonly Node[]
  readonly labelOf: LabelOf
  /** The connections that start at nodes of the table, by the node. */
  readonly connections: ReadonlyMap<string, readonly Connection[]>
}

/** Returns the name of a column for people; undefined: the usual one. */
type LabelOf = (column: TableColumn) => string | undefined

export function TableRows({ urls, org, view, columns, nodes, labelOf, connections }: TableProps) {
  const title = { field: 'title' } as const
  return (
    // The region scrolls, so it must be reachable with the keyboard.
    <section class="table-scroll card" aria-label="Pages" tabindex={0}>
      <table class="nodes">
        <thead>
          <tr>
            {[title, ...columns].map((column) => (
              <Header {...{ urls, org, view, column, labelOf }} />
            ))}
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <tr>
              <th scope="row">
                <a href={urls.node(org, node.id, node.slug)}>
                  <bdi>{node.title}</bdi>
                </a>
                {node.properties_omitted && <small>Its properties are too long to be listed.</small>}
              </th>
              {columns.map((column) => (
                <Cell {...{ urls, org, node, column }} connections={connections.get(node.id) ?? []} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

export function titleOf(column: TableColumn, labelOf: LabelOf): string {
  if ('field' in column) return fieldTitles[column.field]
  const known = labelOf(column)
  if (known !== undefined) return cut(known)
  return cut('connection' in column ? connectionWords(column.connection) : column.property.join('.'))
}

interface HeaderProps extends Pick<TableProps, 'urls' | 'org' | 'view' | 'labelOf'> {
  readonly column: TableColumn
}

/** Sorts by the column; if the table is sorted by it, the other way round. */
function Header({ urls, org, view, column, labelOf }: HeaderProps) {
  const key = sortKey(column)
  const title = <bdi>{titleOf(column, labelOf)}</bdi>
  if (key === undefined || key.length >= most.sort) return <th scope="col">{title}</th>
  const first = /^-?((?:"(?:[^"]|"")*"?|[^",])+)/.exec(view.sort)?.[1] ?? ''
  const isSorted = sortedBy(first) === columnText(column)
  const state = !isSorted ? undefined : view.sort.startsWith('-') ? 'descending' : 'ascending'
  const sort = state === 'ascending' ? `-${key}` : key
  return (
    <th scope="col" aria-sort={state}>
      <a href={viewUrl(urls, org, { ...view, sort, page: 1 })}>
        {title}
        <span class="arrow" aria-hidden="true">
          {state === 'ascending' ? '▲' : state === 'descending' ? '▼' : '↕'}
        </span>
      </a>
    </th>
  )
}

/** Returns the text of the column that a key of a sort means. There, `tags` is a property. */
function sortedBy(key: string): string | undefined {
  const [column] = readColumns(key === 'tags' ? '"tags"' : key)
  return column && columnText(column)
}

/** Undefined for connections, which have no order. */
function sortKey(column: TableColumn): string | undefined {
  if ('connection' in column) return undefined
  if ('field' in column) return column.field === 'tags' ? 'tag' : column.field
  const [only = ''] = column.property
  return column.property.length === 1 ? nameText(only) : columnText(column)
}

interface CellProps {
  readonly urls: Urls
  readonly org: string
  readonly node: Node
  readonly column: TableColumn
  readonly connections: readonly Connection[]
}

function Cell({ urls, org, node, column, connections }: CellProps) {
  if ('connection' in column)
    return <Targets {...{ urls, org }} connections={connections.filter(({ type }) => type === column.connection)} />
  if (!('field' in column)) {
    const value = valueIn(node.properties, column.property)
    if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return <td />
    return (
      <td class={typeof value === 'number' ? 'num' : undefined}>
        <div class="v">
          <Value value={value} />
        </div>
      </td>
    )
  }
  if (column.field === 'tags')
    return (
      <td>
        <span class="tags">
          {node.tags.slice(0, most.tags).map((tag) => (
            <a class="tag" href={urls.tags(org, tag)}>
              {tag}
            </a>
          ))}
          {node.tags.length > most.tags && <span class="why">+{node.tags.length - most.tags}</span>}
        </span>
      </td>
    )
  if (column.field === 'id' || column.field === 'title')
    return (
      <td>
        <code>{node[column.field]}</code>
      </td>
    )
  return (
    <td class="when">
      <When time={node[column.field]} />
    </td>
  )
}

interface TargetsProps extends Pick<CellProps, 'urls' | 'org' | 'connections'> {}

/** The targets of connections, as links. A deleted page has no title. */
function Targets({ urls, org, connections }: TargetsProps) {
  return (
    <td>
      <div class="v">
        {connections.slice(0, most.targets).map(({ target, target_title }, at) => (
          <>
            {at > 0 && ', '}
            {target_title === '' ? (
              <span class="why">a deleted page</span>
            ) : (
              <a href={urls.node(org, target, target_title)}>
                <bdi>{target_title}</bdi>
              </a>
            )}
          </>
        ))}
        {connections.length > most.targets && ` and ${(connections.length - most.targets).toLocaleString('en')} more`}
      </div>
    </td>
  )
}

function valueIn(properties: object, names: readonly string[]): unknown {
  let value: unknown = properties
  for (const name of names) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = Reflect.get(value, name)
  }
  return value
}
