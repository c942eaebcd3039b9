/** Commits and differences as answers. */
import { type Commit as GitCommit, readCommit } from '../../gitstore/commits.ts'
import { diffTrees } from '../../gitstore/diff.ts'
import type { Oid, Repo } from '../../gitstore/repo.ts'
import { timeOf } from './authors.ts'
import { type EntityType, entityAt } from './entities.ts'

export interface Commit {
  readonly id: Oid
  readonly node_id: string
  readonly message: string
  readonly author: string
  readonly author_email: string | null
  readonly created_at: string
  readonly parent_commits: Oid[]
}

interface DiffEntity {
  readonly entity_type: EntityType
  readonly entity_id: string
  readonly entity_key: string | null
  readonly object_id: Oid | null
  readonly old_object_id: Oid | null
  readonly new_object_id: Oid | null
}

export interface CommitDiff {
  readonly node_id: string
  readonly base_commit_id: Oid | null
  readonly target_commit_id: Oid
  readonly added: DiffEntity[]
  readonly removed: DiffEntity[]
  readonly modified: DiffEntity[]
}

export interface CommitDetails extends Commit {
  readonly changes: CommitDiff
}

/** By the commit as gitstore remembers it: of one repository, hence of one node. */
const views = new WeakMap<GitCommit, Commit>()

function toCommit(nodeId: string, commit: GitCommit): Commit {
  const known = views.get(commit)
  if (known?.node_id === nodeId) return known
  const view = {
    id: commit.oid,
    node_id: nodeId,
    message: commit.message.replace(/\n$/, ''),
    author: commit.author.name,
    author_email: commit.author.email || null,
    created_at: timeOf(commit.committer),
    parent_commits: [...commit.parents],
  }
  views.set(commit, view)
  return view
}

export async function readCommits(repo: Repo, nodeId: string, oids: readonly Oid[]): Promise<Commit[]> {
  return Promise.all(oids.map(async (oid) => toCommit(nodeId, await readCommit(repo, oid))))
}

/** A commit with what it changed against its first parent. */
export async function readDetails(repo: Repo, nodeId: string, oid: Oid): Promise<CommitDetails> {
  const commit = await readCommit(repo, oid)
  return { ...toCommit(nodeId, commit), changes: await readDiff(repo, nodeId, commit.parents[0] ?? null, oid) }
}

/** What changed between two commits; from null everything is added. */
export async function readDiff(repo: Repo, nodeId: string, base: Oid | null, target: Oid): Promise<CommitDiff> {
  const from = base === null ? null : (await readCommit(repo, base)).tree
  const changes = await diffTrees(repo, from, (await readCommit(repo, target)).tree)
  const diff: CommitDiff = {
    node_id: nodeId,
    base_commit_id: base,
    target_commit_id: target,
    added: [],
    removed: [],
    modified: [],
  }
  for (const { path, old, new: now } of changes) {
    const entity = { ...entityAt(path, nodeId), entity_key: path }
    if (old && now)
      diff.modified.push({ ...entity, object_id: now.oid, old_object_id: old.oid, new_object_id: now.oid })
    else if (now) diff.added.push({ ...entity, object_id: now.oid, old_object_id: null, new_object_id: null })
    else if (old) diff.removed.push({ ...entity, object_id: old.oid, old_object_id: null, new_object_id: null })
  }
  return diff
}
