/** The record of a deletion: a commit in the repository of the deleted node. */
import { isDamage } from '../../../gitstore/errors.ts'
import { readCommit, readMessage } from '../../../gitstore/objects/commits.ts'
import { newObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { AppError } from '../../base/errors.ts'
import { type Author, signature } from '../format/signatures.ts'
import { deletionRef, ledgerRef } from '../layout.ts'
import type { Services } from '../services.ts'

/**
 * Records who deletes the node, in the node's repository. It moves with the repository and is purged with it. The caller
 * holds the ledger's lock. Takes about 3 ms. A damaged repository is deleted without a record.
 */
export async function recordDeletion(
  { store }: Pick<Services, 'store'>,
  actor: Author,
  { repo, title }: { readonly repo: Repo; readonly title: string },
  at: Date,
): Promise<void> {
  const name = { repo, ref: deletionRef }
  await updateRefs(store, [name], async () => {
    const ledger = readRef(repo, ledgerRef)
    if (ledger === null) return { moves: [], value: undefined }
    const draft = newObjectBatch(repo)
    const { tree } = await readCommit(repo, ledger)
    const person = signature(actor, at)
    const message = `delete\n\n${title}`
    const to = await draft.commit({ tree, parents: [ledger], author: person, committer: person, message })
    return { moves: [{ ...name, to }], value: undefined, save: draft.save }
  }).catch((error: unknown) => {
    // If a lease ended, the deletion itself reports the unknown outcome.
    const isUnknown = error instanceof AppError && error.code === 'outcome_unknown'
    if (!isUnknown && !isDamage(error)) throw error
  })
}

/**
 * Reads the record of the deletion at that time. Undefined if an older version or the operator moved the repository.
 *
 * @param deletedMs milliseconds since 1970
 */
export async function readDeletion(repo: Repo, deletedMs: number) {
  const oid = readRef(repo, deletionRef)
  if (oid === null) return undefined
  const { committer } = await readCommit(repo, oid)
  // A node that was restored has the record of an earlier deletion.
  if (committer.timestamp !== Math.floor(deletedMs / 1000)) return undefined
  const [, title = ''] = /^delete\n\n([^\n]*)/.exec(await readMessage(repo, oid)) ?? []
  return { title, ...(committer.name === '' ? {} : { deleted_by: committer.name }) }
}
