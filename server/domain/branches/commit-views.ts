/** Commits and their changes as responses. */
import { type Commit as GitCommit, readCommit, readMessage } from '../../../gitstore/objects/commits.ts'
import { diffTrees } from '../../../gitstore/objects/diff.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import * as limits from '../../base/limits.ts'
import { cutText } from '../format/limits.ts'
import { type EntityType, entityAt } from '../format/node-format.ts'
import { timeOf } from '../format/signatures.ts'
import { viaOfMessage } from '../format/trailers.ts'
import type { ClaimedVia } from '../via.ts'
import type { LargeRead } from './large-reads.ts'

export interface Commit {
  readonly id: Oid
  readonly node_id: string
  readonly message: string
  /** Present if `message` is not complete. */
  readonly message_truncated?: true
  /** The content of the trailer `Grove-Via` of the message says. */
  readonly via?: ClaimedVia
  readonly author: string
  readonly author_email: string | null
  readonly created_at: string
  readonly parent_commits: Oid[]
  /** Present if `parent_commits` is not complete. */
  readonly parents_truncated?: true
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

/** A commit in a list: with at most 64 KiB of its message. */
function toCommit(nodeId: string, commit: GitCommit): Commit {
  return {
    id: commit.oid,
    node_id: nodeId,
    ...shownMessage(commit),
    ...viaOf(commit.messageIsCut ? '' : commit.message),
    author: commit.author.name,
    author_email: commit.author.email || null,
    created_at: timeOf(commit.committer),
    parent_commits: commit.parents.slice(0, limits.listedParents),
    ...(commit.parents.length > limits.listedParents ? { parents_truncated: true } : {}),
  }
}

/** A message that a list cuts has lost its trailers, which are at its end. */
function viaOf(message: string): Pick<Commit, 'via'> {
  const via = viaOfMessage(message)
  return via === undefined ? {} : { via }
}

/** The part of a commit's message that a list shows. */
export function shownMessage({ message, messageIsCut }: GitCommit): Pick<Commit, 'message' | 'message_truncated'> {
  return messageIsCut ? { message, message_truncated: true } : { message: message.replace(/\n$/, '') }
}

/** Reads a page of commits. */
export async function readCommits(repo: Repo, nodeId: string, oids: readonly Oid[]): Promise<Commit[]> {
  return withinPage(await Promise.all(oids.map(async (oid) => toCommit(nodeId, await readCommit(repo, oid)))))
}

/** The rows of a page. If their messages are too long in total, each is cut to an equal share. */
export function withinPage<Row extends { message: string }>(rows: Row[]): Row[] {
  const bytes = rows.reduce((sum, { message }) => sum + Buffer.byteLength(message), 0)
  if (bytes <= limits.listedMessagesBytes) return rows
  const share = Math.floor(limits.listedMessagesBytes / rows.length)
  return rows.map((row) => {
    const message = cutText(row.message, share)
    return message === row.message ? row : { ...row, message, message_truncated: true }
  })
}

/** Reads a complete commit, with its changes since its first parent. */
export async function readDetails(repo: Repo, nodeId: string, oid: Oid, read: LargeRead): Promise<CommitDetails> {
  const commit = await readCommit(repo, oid)
  const { message_truncated, parents_truncated, ...view } = toCommit(nodeId, commit)
  const message = message_truncated ? (await readMessage(repo, oid)).replace(/\n$/, '') : view.message
  return {
    ...view,
    message,
    ...viaOf(message),
    parent_commits: [...commit.parents],
    changes: await readDiff(repo, nodeId, commit.parents[0] ?? null, oid, read),
  }
}

const tooMuchDiffers =
  'Over 200,000 files and folders differ, or their paths have over 16 MiB; clone the node and use git diff'

/** Compares two commits; if `base` is null, every file is added. @throws the errors of `read` */
export async function readDiff(
  repo: Repo,
  nodeId: string,
  base: Oid | null,
  target: Oid,
  read: LargeRead,
): Promise<CommitDiff> {
  const from = base === null ? null : (await readCommit(repo, base)).tree
  const to = (await readCommit(repo, target)).tree
  return readTreeDiff(repo, { nodeId, base, target, from, to }, read)
}

/** Two trees to compare, and the commits that the response names for them. */
interface ComparedTrees {
  readonly nodeId: string
  readonly base: Oid | null
  readonly target: Oid
  readonly from: Oid | null
  readonly to: Oid
}

/** Compares two trees. @throws the errors of `read` */
export async function readTreeDiff(
  repo: Repo,
  { nodeId, base, target, from, to }: ComparedTrees,
  read: LargeRead,
): Promise<CommitDiff> {
  const diff: CommitDiff = {
    node_id: nodeId,
    base_commit_id: base,
    target_commit_id: target,
    added: [],
    removed: [],
    modified: [],
  }
  await read(tooMuchDiffers, async (pace) => {
    for (const { path, old, new: now } of await diffTrees(repo, from, to, pace)) {
      const entity = { ...entityAt(path, nodeId), entity_key: path }
      if (old && now)
        diff.modified.push({ ...entity, object_id: now.oid, old_object_id: old.oid, new_object_id: now.oid })
      else if (now) diff.added.push({ ...entity, object_id: now.oid, old_object_id: null, new_object_id: null })
      else if (old) diff.removed.push({ ...entity, object_id: old.oid, old_object_id: null, new_object_id: null })
      if (pace.shouldYield(1)) await pace.yieldToEventLoop()
    }
  })
  return diff
}
