/** All that the service stores about one user, except for the content of repositories. */
import { listPersonalRows, personalTables } from '../../../index/credentials/personal-rows.ts'
import { listEntriesBy, listPullsOpenedBy } from '../../../index/derived/personal-rows.ts'
import { listAuditRowsAbout } from '../../../index/log/audit.ts'
import { type Operator, operator, type Person } from '../actor.ts'
import { audit } from '../audit/audit.ts'
import { rowView, withoutOthers } from '../audit/entries.ts'
import { draftsOf, listStoredDrafts, readDraftText } from '../drafts/stored-drafts.ts'
import { orgRepo } from '../layout.ts'
import type { Ctx } from '../services.ts'
import { listOrgsOf } from './orgs-of.ts'

export interface PersonalRecord {
  /** A table of accounts, `membership`, `pull_request`, `entry`, `draft` or `audit`. */
  readonly source: string
  readonly record: object
}

/**
 * The columns of a webhook that say who created it, and when. Only owners see where it sends, which another owner may
 * have changed since.
 */
function creationOf({ id, org_id, node_id, created_by, created_at }: Readonly<Record<string, unknown>>) {
  return { id, org_id, node_id, created_by, created_at }
}

/**
 * Yields what is stored about a user. Users get what they wrote in organisations of which they are a member. The
 * operator gets all of this cell.
 */
export async function* personalRecords(ctx: Ctx<Person | Operator>, about: Person): AsyncGenerator<PersonalRecord> {
  const { credentials, events, index } = ctx
  await audit(ctx, {
    action: 'account.exported',
    actor: ctx.actor,
    accountId: about.id,
    target: { type: 'account', id: about.id },
  })
  const { open: orgs, closed } = await listOrgsOf(ctx, about.id)
  const owned = new Set(orgs.flatMap(({ id, role }) => (role === 'owner' ? [id] : [])))
  for (const source of personalTables)
    for (const row of await listPersonalRows(credentials.read, source, about.id)) {
      const isForeign = source === 'webhook' && !owned.has(String(row.org_id))
      yield { source, record: isForeign ? creationOf(row) : row }
    }
  for (const { id: org_id, name, role } of [...orgs, ...closed])
    yield { source: 'membership', record: { org_id, name, role } }
  const mayRead = ({ org_id }: { readonly org_id: string }) =>
    ctx.actor === operator || orgs.some(({ id }) => id === org_id)
  for (let rows = await listPullsOpenedBy(index.read, about.id); rows.length > 0; ) {
    for (const record of rows.filter(mayRead)) yield { source: 'pull_request', record }
    rows = await listPullsOpenedBy(index.read, about.id, rows.at(-1)?.rowid)
  }
  for (let rows = await listEntriesBy(index.read, about.id); rows.length > 0; ) {
    for (const record of rows.filter(mayRead)) yield { source: 'entry', record }
    rows = await listEntriesBy(index.read, about.id, rows.at(-1))
  }
  for (const { id: org_id } of orgs)
    for (const { id, version, ...draft } of await listStoredDrafts(ctx, org_id, draftsOf(about.id))) {
      const text_content = await readDraftText(orgRepo(ctx.store, org_id), version)
      yield { source: 'draft', record: { org_id, id, ...draft, text_content } }
    }
  for (let rows = await listAuditRowsAbout(events.read, about.id); rows.length > 0; ) {
    for (const row of rows) yield { source: 'audit', record: withoutOthers(rowView(row), about.id) }
    rows = await listAuditRowsAbout(events.read, about.id, rows.at(-1))
  }
}
