/** Removes old drafts, and those of former members. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { findRole, listOrgIds } from '../../../index/derived/org-queries.ts'
import * as limits from '../../base/limits.ts'
import { draftName, listStoredDrafts, type StoredDraft } from '../../domain/drafts/stored-drafts.ts'
import { draftRefs } from '../../domain/layout.ts'
import type { Services } from '../../domain/services.ts'
import { tryIndexSets } from '../../domain/sets/set-changes.ts'

export async function removeOldDrafts(deps: Services): Promise<void> {
  const oldest = new Date(deps.now().getTime() - limits.draftDays * 86_400_000).toISOString()
  for (const orgId of await listOrgIds(deps.index.read)) {
    if (deps.draining.aborted) return
    for (const draft of await listStoredDrafts(deps, orgId, draftRefs)) {
      const isOld = draft.saved_at < oldest
      if (isOld || (await findRole(deps.index.read, orgId, draft.writer)) === undefined)
        await removeDraft(deps, orgId, draft)
    }
    await nextTurn()
  }
}

/** Removes the draft, unless its writer has saved it again. */
async function removeDraft(deps: Services, orgId: string, { id, writer, version }: StoredDraft): Promise<void> {
  const name = draftName(deps, orgId, writer, id)
  await updateRefs(deps.store, [name], async (current) => ({
    moves: current(name) === version ? [{ ...name, to: null }] : [],
    value: undefined,
  }))
  await tryIndexSets(deps, orgId)
}
