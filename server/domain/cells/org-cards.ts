/** Updates the card of an organisation in the directory of cells to match org.git. */
import { GitError } from '../../../gitstore/errors.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import type { Store } from '../../../gitstore/store.ts'
import {
  deleteCard,
  deleteCardMembers,
  findCardHead,
  putCard,
  putCardMembers,
} from '../../../index/credentials/org-cards.ts'
import { lockPlace } from '../../../index/credentials/places.ts'
import type { CredentialsDb, CredentialsSchema } from '../../../index/credentials/schema.ts'
import type { Database } from '../../../index/sqlite/database.ts'
import { slices } from '../../base/slices.ts'
import { readOrgRecord } from '../format/org-format.ts'
import { main, orgRepo } from '../layout.ts'
import type { Lease } from '../placement.ts'

/** The most attempts. Each lost one means that another process wrote the card. */
const rounds = 50
/** Members per SQL statement. */
const membersAtOnce = 500

interface Directory {
  /** The name of this cell. */
  readonly name: string
  readonly lease: Pick<Lease, 'before'>
  readonly credentials: Database<CredentialsSchema>
  readonly store: Store
}

/**
 * Writes the changes of org.git since the card, in one transaction. Does nothing if another cell has the organisation.
 *
 * @throws DatabaseError; GitError busy
 * @throws errors of `readOrgRecord`; AppError storage_readonly
 */
export async function updateCard({ name, lease, credentials, store }: Directory, orgId: string): Promise<void> {
  const repo = orgRepo(store, orgId)
  for (let round = 0; round < rounds; round++) {
    const before = (await findCardHead(credentials.read, orgId)) || null
    const head = repoExists(repo) ? readRef(repo, main) : null
    if (before === head) return
    // Without the lease, another service with this name may have the organisation and write its card.
    lease.before()
    const record = head === null ? undefined : await readOrgRecord(repo, head, before)
    const isOurs = await credentials.write(async (trx) => {
      if ((await lockPlace(trx, orgId))?.cell !== name) return false
      // Another process has just written it.
      if (((await findCardHead(trx, orgId)) || null) !== before) return true
      if (head === null || record === undefined) await deleteCard(trx, orgId)
      // The card of a closed organisation has no head, so that a version that knows it writes it again.
      else await writeCard(trx, orgId, record.org.closed === 1 ? '' : head, record)
      return true
    })
    if (!isOurs || record?.org.closed === 1) return
  }
  throw new GitError('busy', 'The organisation changes faster than its card can be written; nothing is lost')
}

type OrgRecord = Awaited<ReturnType<typeof readOrgRecord>>

async function writeCard(trx: CredentialsDb, orgId: string, head: string, { org, members }: OrgRecord): Promise<void> {
  const { vault_id, published, require_pull_requests, created_at, updated_at } = org
  await putCard(trx, {
    ...{ org_id: orgId, head, vault_id, published, require_pull_requests, created_at, updated_at },
    name: asText(org.name),
    description: asText(org.description),
  })
  // Nobody leaves a closed organisation, so its last members stay. They say who owns it.
  if (org.closed === 1) return
  const { put, gone } = members
  if (gone === null) await deleteCardMembers(trx, orgId, undefined)
  for (const some of slices(gone ?? [], membersAtOnce)) await deleteCardMembers(trx, orgId, some)
  for (const some of slices(put, membersAtOnce))
    await putCardMembers(
      trx,
      some.map(({ user_id, role, email, name }) => ({
        org_id: orgId,
        user_id,
        role,
        email: asText(email),
        name: asText(name),
      })),
    )
}

/** Replaces NUL, which PostgreSQL does not store and another program may have committed. */
function asText(text: string): string {
  return text.replaceAll('\0', '\uFFFD')
}
