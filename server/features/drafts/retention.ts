/** Removes old drafts, and those of former members. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { findEntry } from '../../../gitstore/objects/trees.ts'
import { updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { findOrgRow, listOrgIds } from '../../../index/derived/org-queries.ts'
import * as limits from '../../base/limits.ts'
import { draftName, listStoredDrafts, type StoredDraft } from '../../domain/drafts/stored-drafts.ts'
import { isClosed } from '../../domain/format/org-format.ts'
import { memberFile } from '../../domain/format/paths.ts'
import { draftRefs, main, orgRepo } from '../../domain/layout.ts'
import type { Services } from '../../domain/services.ts'
import { tryIndexSets } from '../../domain/sets/set-changes.ts'

export async function removeOldDrafts(deps: Services): Promise<void> {
  const oldest = new Date(deps.now().getTime() - limits.draftDays * 86_400_000).toISOString()
  for (const orgId of await listOrgIds(deps.index.read)) {
    if (deps.draining.aborted) return
    const org = await findOrgRow(deps.index.read, orgId)
    // A newer version may have other rules for its drafts.
    if (org === undefined || isClosed(org)) continue
    for (const draft of await listStoredDrafts(deps, orgId, draftRefs))
      if (draft.saved_at < oldest || !(await isMember(deps, orgId, draft.writer))) await removeDraft(deps, orgId, draft)
    await nextTurn()
  }
}

/** True if org.git has the user's file. Rows lack members whose file this version cannot read. */
async function isMember({ store }: Services, orgId: string, userId: string): Promise<boolean> {
  const repo = orgRepo(store, orgId)
  const head = readRef(repo, main)
  return head === null || (await findEntry(repo, (await readCommit(repo, head)).tree, memberFile(userId))) !== undefined
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
