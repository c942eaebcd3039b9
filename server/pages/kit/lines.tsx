/** Lists of acts: a line each, with who, what and when. */

import type { ComponentChildren } from 'preact'
import { When } from '../parts/dates.tsx'
import { Icon, type IconName } from '../parts/icons.tsx'
import { Avatar } from '../parts/people.tsx'

/** The sign of an act or a state. */
export interface Sign {
  readonly icon: IconName
  readonly tone?: 'add' | 'del' | 'info'
  /** Its words, if the line does not have them. */
  readonly label?: string
}

const bySubject: Readonly<Record<string, Sign>> = {
  node: { icon: 'pen' },
  'node.created': { icon: 'plus', tone: 'add' },
  'node.imported': { icon: 'down', tone: 'add' },
  'node.deleted': { icon: 'cross', tone: 'del' },
  'node.restored': { icon: 'undo' },
  branch: { icon: 'branch' },
  pull_request: { icon: 'branch', tone: 'add' },
  'pull_request.draft': { icon: 'branch' },
  'pull_request.merged': { icon: 'check', tone: 'info' },
  'pull_request.closed': { icon: 'cross', tone: 'del' },
  comment: { icon: 'comment' },
  thread: { icon: 'comment' },
  review: { icon: 'eye' },
  suggestion: { icon: 'pen' },
  check: { icon: 'tasks' },
  tag: { icon: 'tag' },
  member: { icon: 'person' },
}

/** Returns the sign of an event type, such as `node.created`. */
export function signOf(type: string): Sign {
  return bySubject[type] ?? bySubject[type.split('.')[0] ?? ''] ?? { icon: 'leaf' }
}

export function Lines({ children }: { readonly children: ComponentChildren }) {
  return <ul class="lines">{children}</ul>
}

interface LineProps {
  /** The user whose initial is the avatar. Default: unknown. */
  readonly who?: string | undefined
  readonly sign: Sign
  readonly time?: string | undefined
  readonly timesAs?: 'ago' | 'clock'
  /** The sentence or the title. */
  readonly children: ComponentChildren
  /** More, in quiet letters. */
  readonly facts?: ComponentChildren
  readonly acts?: ComponentChildren
  /** Before everything else, such as a choice. */
  readonly lead?: ComponentChildren
  readonly isUnread?: boolean
}

export function Line(props: LineProps) {
  const { who = '', sign, time, timesAs = 'ago', children, facts, acts, lead, isUnread = false } = props
  const { icon, tone = '', label } = sign
  return (
    <li class={isUnread ? 'unread' : undefined}>
      {lead}
      {who.trim() === '' ? (
        <span class="me" aria-hidden="true">
          <Icon name="leaf" size={14} />
        </span>
      ) : (
        <Avatar name={who} />
      )}
      <span class={`sign ${tone}`} title={label}>
        <Icon name={icon} />
        {label && <span class="vh">{label}</span>}
      </span>
      <div class="line">
        {time && <When time={time} as={timesAs} />}
        {isUnread && <span class="dot" role="img" aria-label="Unread" title="Unread" />}
        {children} {facts && <small>{facts}</small>}
        {acts && <div class="at-end">{acts}</div>}
      </div>
    </li>
  )
}
