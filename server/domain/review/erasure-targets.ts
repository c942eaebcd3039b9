/** Finds what an erasure names. Erasing what nobody has written is a typing error, not a success. */
import { isGitError } from '../../../gitstore/errors.ts'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { readBlob, readInfo } from '../../../gitstore/objects/objects.ts'
import { findEntry } from '../../../gitstore/objects/trees.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { listErasing } from '../../../gitstore/upkeep/forget.ts'
import { AppError } from '../../base/errors.ts'
import { entryFile, pullFile } from '../format/paths.ts'
import { ledgerIn } from '../layout.ts'
import { type ErasureTarget, wasErased } from './erased-list.ts'

/** The most reads of a ledger that other erasures rewrite at the same time. */
const reads = 20

/**
 * Checks that the node has the target, or that it was erased before. Does not search for a user.
 *
 * @throws AppError pull_request_not_found, entry_not_found, commit_not_found, node_not_found
 */
export async function requireTarget(repo: Repo, target: ErasureTarget): Promise<void> {
  if ('head' in target) await requireHead(repo, target)
  else if ('entry' in target) await readTargetEntry(repo, target)
  else if ('number' in target) await readLedger(repo, (tree) => requirePull(repo, tree, target.number))
}

/** Reads the file of an entry. @throws AppError pull_request_not_found, entry_not_found, node_not_found */
export function readTargetEntry(
  repo: Repo,
  { number, entry }: { readonly number: number; readonly entry: number },
): Promise<string> {
  return readLedger(repo, async (tree) => {
    await requirePull(repo, tree, number)
    const file = await findEntry(repo, tree, entryFile(number, entry))
    if (!file)
      throw new AppError(
        'entry_not_found',
        `Pull request ${number} has no entry ${entry}; see its timeline for the number`,
      )
    return (await readBlob(repo, file.oid)).toString()
  })
}

async function requirePull(repo: Repo, tree: Oid, number: number): Promise<void> {
  if (!(await findEntry(repo, tree, pullFile(number))))
    throw new AppError('pull_request_not_found', `The node has no pull request ${number}; see its list for the number`)
}

async function requireHead(repo: Repo, target: { readonly head: Oid }): Promise<void> {
  const { head } = target
  const found = await readInfo(repo, head).catch((error: unknown) => {
    if (!isGitError(error, 'object_missing')) throw error
  })
  if (found?.type === 'commit') return
  // An interrupted erasure may have removed it already.
  if (!found && ((await listErasing(repo)).includes(head) || (await wasErased(repo, target)))) return
  throw new AppError('commit_not_found', `The node has no commit ${head}; it is gone, or the id is wrong: check the id`)
}

/** Reads the ledger's tree, and once more if an erasure removes what it reads. */
async function readLedger<R>(repo: Repo, read: (tree: Oid) => Promise<R>): Promise<R> {
  for (let round = 1; ; round++) {
    const tip = readRef(repo, ledgerIn(repo).ref)
    if (!tip) throw new AppError('node_not_found', 'Node not found')
    try {
      return await read((await readCommit(repo, tip)).tree)
    } catch (error) {
      if (!isGitError(error, 'object_missing') || readRef(repo, ledgerIn(repo).ref) === tip || round === reads)
        throw error
    }
  }
}
