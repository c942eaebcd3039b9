/** Changes an organisation by one commit of org.git, which is indexed before the response. */

import { setTimeout as sleep } from 'node:timers/promises'
import { allDone } from '../../../gitstore/durable.ts'
import { newObjectBatch, type ObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { AppError } from '../../base/errors.ts'
import { addRunning } from '../../base/rounds.ts'
import { newerVersionError, orgIsGone, orgNotFoundError } from '../access.ts'
import type { Person } from '../actor.ts'
import { withIntent } from '../event-log/note-intents.ts'
import { commitOrg, type OrgRecord, readRecord, unknownRequirements } from '../format/org-format.ts'
import type { Author } from '../format/signatures.ts'
import { indexOrg } from '../indexing/index-node.ts'
import { main, orgRepo } from '../layout.ts'
import type { Services } from '../services.ts'
import type { OrgAt } from '../targets.ts'

/**
 * Changes org.git under its lock and indexes it. A change may revoke access, so it must be in force on return. If
 * `change` returns the record that it gets, there is no commit.
 *
 * @throws AppError org_not_found, outcome_unknown (committed, but not indexed); errors of `change`
 */
export async function changeOrg(
  deps: Services,
  author: Author & Partial<Pick<Person, 'id'>>,
  { org_id: orgId }: OrgAt,
  message: string,
  change: (record: OrgRecord) => OrgRecord | Promise<OrgRecord>,
): Promise<void> {
  await commitToOrg(deps, author, { org_id: orgId }, async (draft, head) => {
    const before = await readRecord(draft.repo, head)
    const after = await change(before)
    return after === before ? head : commitOrg(draft, head, after, author, deps.now(), message)
  })
}

/**
 * Moves main of org.git to the commit that `build` returns. Holds its lock, and indexes it. If that is the head that
 * `build` gets, nothing moves.
 *
 * @returns the new head
 * @throws AppError org_not_found, org_needs_newer_version, outcome_unknown (committed, but not indexed); errors of `build`
 */
export async function commitToOrg(
  deps: Services,
  author: Author & Partial<Pick<Person, 'id'>>,
  { org_id: orgId }: OrgAt,
  build: (draft: ObjectBatch, head: Oid) => Promise<Oid>,
): Promise<Oid> {
  const repo = orgRepo(deps.store, orgId)
  const head = await updateRefs(deps.store, [{ repo, ref: main }], async (current) => {
    const head = current({ repo, ref: main })
    if (!head) throw orgNotFoundError()
    const words = unknownRequirements((await readRecord(repo, head)).org)
    if (words.length > 0) throw newerVersionError(words)
    const draft = newObjectBatch(repo)
    const to = await build(draft, head)
    if (to === head) return { moves: [], value: head }
    return withIntent(deps, author, { moves: [{ repo, ref: main, to }], value: to, save: draft.save })
  }).catch(orgIsGone)
  await indexChangedOrg(deps, orgId)
  return head
}

/** Checks the role again under the lock. @throws AppError forbidden */
export function requireOwner(record: OrgRecord, actor: { readonly id: string }): void {
  if (!isOwner(record, actor.id)) throw new AppError('forbidden', 'You need the owner role')
}

export function isOwner(record: OrgRecord, userId: string): boolean {
  return record.members.get(userId)?.role === 'owner'
}

/** Milliseconds before each retry of failed indexing. After the last, the sweep or the next start finds it. */
const retryDelays = [500, 1_000, 2_000, 4_000, 8_000, 16_000] as const

/**
 * Updates the index and the directory of cells after a change of an organisation. A failure is
 * retried in the background.
 *
 * @param declare records in the directory that the folder was created or removed
 * @throws AppError outcome_unknown (changed, but not indexed)
 */
export async function indexChangedOrg(deps: Services, orgId: string, declare?: () => Promise<void>): Promise<void> {
  const index = () => allDone([declare?.(), indexOrg(deps, orgId, 'with its card')])
  await index().catch((error: unknown) => {
    deps.log.error(
      { err: error, orgId },
      'an organisation could not be indexed, or written to the directory of cells; it is retried',
    )
    void addRunning(deps.rounds, `the index of ${orgId}`, retry(deps, index))
    throw new AppError(
      'outcome_unknown',
      'The change is stored, but not in effect everywhere yet; read again in a moment',
    )
  })
}

/** Retries until indexing succeeds, the delays end, or the service stops. Parallel retries do no harm. */
async function retry({ draining }: Pick<Services, 'draining'>, index: () => Promise<void>): Promise<void> {
  for (const delay of retryDelays) {
    await sleep(delay, undefined, { ref: false, signal: draining }).catch(() => {})
    if (draining.aborted) return
    const isIndexed = await index().then(
      () => true,
      () => false,
    )
    if (isIndexed) return
  }
}
