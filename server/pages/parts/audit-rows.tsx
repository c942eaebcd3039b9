/** Entries of the audit as a list. */

import { type AuditAction, auditCatalog } from '../../base/audit-actions.ts'
import { eventCatalog } from '../../base/event-types.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { clientName } from '../text/client-name.ts'
import type { Urls } from '../urls.ts'
import type { PageNames } from './activity-names.ts'
import { When } from './dates.tsx'

type AuditEntry = AnswerOf<'listOrgAudit'>['entries'][number]

interface RowsProps {
  readonly entries: readonly AuditEntry[]
  readonly urls: Urls
  readonly names: PageNames
  /** The signed-in user, who is not named. */
  readonly ownId?: string
}

export function AuditRows({ entries, urls, names, ownId }: RowsProps) {
  return (
    <ul class="rows audit">
      {entries.map((entry) => (
        <li>
          <div>
            <strong title={entry.action}>{auditWords(entry.action)}</strong>
            {(ownId === undefined || entry.actor.id !== ownId) && ` by ${actorName(entry)}`}
            <Target {...{ entry, urls, names }} />
            <small>
              <When time={entry.at} as="on" /> <When time={entry.at} as="clock" />
              {factsOf(entry).map((fact) => ` · ${fact}`)}
            </small>
          </div>
        </li>
      ))}
    </ul>
  )
}

/** Actions of other versions are called by their names. */
export function auditWords(action: string): string {
  return auditCatalog[action as AuditAction]?.says ?? (action in eventCatalog ? eventWords(action) : action)
}

/** Nouns of subjects that are not the first part of the event's type. */
const nouns: Readonly<Record<string, string>> = {
  node: 'page',
  org: 'organisation',
  pull_request: 'proposal',
  tag: 'Git tag',
}

/** Says an event as a sentence: `node.created` is "Created a page". */
function eventWords(type: string): string {
  const [subject = '', did = ''] = type.replaceAll('_', ' ').split('.')
  const noun = nouns[subject.replaceAll(' ', '_')] ?? subject
  return `${did.charAt(0).toUpperCase()}${did.slice(1)} ${/^[aeio]/.test(noun) ? 'an' : 'a'} ${noun}`
}

interface TargetProps extends Pick<RowsProps, 'urls' | 'names'> {
  readonly entry: AuditEntry
}

/** The page that an entry is about. Its id is in the tooltip. */
function Target({ entry: { org_id, target }, urls, names: { pages, deleted } }: TargetProps) {
  if (org_id === undefined || target?.type !== 'node') return null
  const title = pages[target.id]
  return (
    <>
      {': '}
      {deleted.includes(target.id) ? (
        <span title={target.id}>{title === undefined ? 'a deleted page' : `${title} (deleted)`}</span>
      ) : (
        <a href={urls.node(org_id, target.id)} title={target.id}>
          {title ?? 'a page'}
        </a>
      )}
    </>
  )
}

function actorName({ actor: { kind, name, id } }: AuditEntry): string {
  if (kind === 'anonymous') return 'an anonymous caller'
  if (kind === 'unknown') return 'an unknown user'
  if (kind === 'service') return 'the service'
  if (kind === 'operator') return `the operator ${name ?? ''}`.trim()
  return name || `a deleted user (${id ?? 'unknown'})`
}

/** Lists what is known of the request. */
function factsOf({ outcome, detail, origin, actor }: AuditEntry): string[] {
  const { count } = detail
  return [
    ...(outcome === 'success' ? [] : [outcome === 'refused' ? 'refused' : 'failed']),
    ...(typeof count === 'number' ? [`${count} times`] : []),
    ...(origin.address === undefined ? [] : [origin.address]),
    ...(origin.user_agent === undefined ? [] : [clientName(origin.user_agent)]),
    ...(actor.token_id === undefined ? [] : ['with a token']),
    ...(origin.via === 'command' ? ['by a command'] : []),
  ]
}
