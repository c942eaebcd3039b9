/** Entries of the audit as a list. */

import { type AuditAction, auditCatalog } from '../../base/audit-actions.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { clientName } from '../text/client-name.ts'
import type { Urls } from '../urls.ts'
import { When } from './dates.tsx'

type AuditEntry = AnswerOf<'listOrgAudit'>['entries'][number]

interface RowsProps {
  readonly entries: readonly AuditEntry[]
  readonly urls: Urls
  /** The signed-in user, who is not named. */
  readonly ownId?: string
}

export function AuditRows({ entries, urls, ownId }: RowsProps) {
  return (
    <ul class="rows audit">
      {entries.map((entry) => (
        <li>
          <div>
            <strong title={entry.action}>{auditWords(entry.action)}</strong>
            {(ownId === undefined || entry.actor.id !== ownId) && ` by ${actorName(entry)}`}
            <Target entry={entry} urls={urls} />
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

/** Events and actions of other versions are called by their names. */
export function auditWords(action: string): string {
  return auditCatalog[action as AuditAction]?.says ?? action
}

function Target({ entry: { org_id, target }, urls }: { readonly entry: AuditEntry; readonly urls: Urls }) {
  if (org_id === undefined || target?.type !== 'node') return null
  return (
    <>
      {': '}
      <a href={urls.node(org_id, target.id)}>{target.id}</a>
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
