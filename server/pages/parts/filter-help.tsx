/** How to write a filter, below the field for it. */

import type { AnswerOf } from '../../http/in-process.ts'
import { columnText } from '../text/property-names.ts'
import { connectionsOf } from '../text/type-labels.ts'
import { cut } from './chips.tsx'

type NodeType = AnswerOf<'getType'>
type Help = readonly (readonly [text: string, meaning: string])[]

/** Connections of a type that are named. */
const mostConnections = 10

const help: Help = [
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
  ['->author:ID', 'a connection leads to the page with this id. ->author:* finds pages with such a connection'],
  ['.created>2026-12-01', 'the property created, where created alone is the field'],
]

/** Names the connections of the type, because each type has its own. */
export function FilterHelp({ type }: { readonly type: NodeType | undefined }) {
  const own = (type === undefined ? [] : connectionsOf(type.definition))
    .slice(0, mostConnections)
    .map(({ name, label }) => [`${columnText({ connection: name })}:*`, `pages with ${cut(label)}`] as const)
  return (
    <details class="filter-help">
      <summary>How to write a filter</summary>
      <dl>
        {[...help, ...own].map(([text, meaning]) => (
          <div>
            <dt>
              <code>{text}</code>
            </dt>
            <dd>
              <bdi>{meaning}</bdi>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
