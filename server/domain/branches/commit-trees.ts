/** The tree of a commit. */
import { findCommit, readCommit } from '../../../gitstore/objects/commits.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'

/** @throws GitError object_missing, object_damaged */
export async function readTree(repo: Repo, commit: Oid): Promise<Oid> {
  return (await readCommit(repo, commit)).tree
}

/** Null for no commit, and where there is no commit of that id. @throws GitError object_damaged */
export async function findTree(repo: Repo, commit: Oid | null): Promise<Oid | null> {
  return commit === null ? null : ((await findCommit(repo, commit))?.tree ?? null)
}
