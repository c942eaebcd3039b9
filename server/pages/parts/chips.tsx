/** The conditions of a text, each as a link that removes it. */

import type { AnswerOf } from '../../http/in-process.ts'
import { Icon } from './icons.tsx'

type Condition = NonNullable<AnswerOf<'queryNodes'>['conditions']>[number]

/** UTF-16 units of a name or a condition that are shown. */
export const longestShown = 80

interface ChipsProps {
  readonly conditions: readonly Condition[]
  /** Returns the address without a condition. */
  readonly urlWithout: (condition: Condition) => string
  readonly urlWithoutAll: string
}

export function Chips({ conditions, urlWithout, urlWithoutAll }: ChipsProps) {
  if (conditions.length === 0) return null
  return (
    <ul class="chips" aria-label="Conditions">
      {conditions.map((condition) => (
        <li>
          <a
            class="chip"
            href={urlWithout(condition)}
            aria-label={`Remove the condition ${condition.text}`}
            title={condition.text}
          >
            <bdi>{cut(condition.text)}</bdi>
            <Icon name="cross" size={13} />
          </a>
        </li>
      ))}
      {conditions.length > 1 && (
        <li>
          <a class="all" href={urlWithoutAll}>
            Remove all
          </a>
        </li>
      )}
    </ul>
  )
}

/** Returns a text without one of its conditions. */
export function cutOut(text: string, { from, to }: Pick<Condition, 'from' | 'to'>): string {
  return `${text.slice(0, from).trimEnd()} ${text.slice(to).trimStart()}`.trim()
}

export function cut(text: string): string {
  if (text.length <= longestShown) return text
  return `${text.slice(0, longestShown - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
