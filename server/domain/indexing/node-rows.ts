/** Reads the content of a node's rows from its refs. */
import { findCommit, readCommit } from '../../../gitstore/objects/commits.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { NewNodeRows } from '../../../index/derived/new-nodes.ts'
import type { NodeRow } from '../../../index/derived/node-queries.ts'
import type { ProposedFields } from '../../../index/derived/proposed-nodes.ts'
import { type NodeContent, readContent, readText } from '../format/node-format.ts'
import { laterOf, timeOf } from '../format/signatures.ts'
import { type PullRecord, readLastNumber, readNodeRecord, readPull } from '../ledger/ledger.ts'

/** The fields of a node's rows that follow from its refs. They are empty if main has not moved since `row`. */
export async function nodeFields(repo: Repo, row: NodeRow | undefined, ledger: Oid, head: Oid | null) {
  if (row && row.head === head) return { node: undefined }
  const { id, content, text, ...state } = await readState(repo, ledger, head)
  return {
    node: { ...state, ...contentFields(content, text), head },
    text,
    tags: content.tags,
    ...((await hasEdgesOf(repo, row?.head, content)) ? {} : { edges: edgesOf(id, content) }),
  }
}

/** Reads the fields of a proposed node's row. @param open its open pull requests, by number */
export async function proposedFields(
  repo: Repo,
  ledger: Oid,
  open: readonly PullRecord[],
  headOf: (branch: string) => Oid | null,
): Promise<ProposedFields> {
  const last = await proposedHead(repo, ledger, open, headOf)
  const head = last !== null && (await findCommit(repo, last)) ? last : null
  const { content, text, title, tags, created_at, updated_at } = await readState(repo, ledger, head)
  const { proposed_in = '' } = await readNodeRecord(repo, ledger)
  return { ...contentFields(content, text), proposed_in, title, tags, created_at, updated_at, head }
}

/** The head of the open item, or of another pull request. Null without one. */
async function proposedHead(
  repo: Repo,
  ledger: Oid,
  open: readonly PullRecord[],
  headOf: (branch: string) => Oid | null,
): Promise<Oid | null> {
  const first = open.find(({ change_set }) => change_set !== undefined) ?? open[0]
  if (first) return headOf(first.source_branch) ?? first.source_commit
  const last = await readLastNumber(repo, ledger)
  return last === 0 ? null : (await readPull(repo, ledger, last)).source_commit
}

/** The rows of a new node, with one commit on main and no pull requests. @param bytes those of its objects */
export async function newNodeRows(repo: Repo, ledger: Oid, head: Oid, bytes: number): Promise<NewNodeRows> {
  const { content, text, ...state } = await readState(repo, ledger, head)
  return {
    node: { ...state, ...contentFields(content, text), ledger, head, bytes },
    text,
    tags: content.tags,
    edges: edgesOf(state.id, content),
  }
}

function contentFields(content: NodeContent, text: string) {
  return { description: descriptionOf(content, text), properties: JSON.stringify(content.properties) }
}

/** Reads the state of a node at a commit (null: no commit yet). `tags` is JSON. @throws GitError as readCommit */
export async function readState(repo: Repo, ledger: Oid, head: Oid | null) {
  const { id, title, created_at } = await readNodeRecord(repo, ledger)
  const commit = head === null ? null : await readCommit(repo, head)
  const content = await readContent(repo, commit?.tree ?? null)
  return {
    id,
    title: content.title ?? title,
    tags: JSON.stringify(content.tags),
    created_at,
    updated_at: commit ? laterOf(timeOf(commit.committer), created_at) : created_at,
    tree: commit?.tree ?? null,
    content,
    text: await readText(repo, content),
  }
}

/** True if the indexed commit has the same edges. Then their rows exist. */
async function hasEdgesOf(repo: Repo, head: Oid | null | undefined, content: NodeContent): Promise<boolean> {
  const commit = head ? await findCommit(repo, head) : undefined
  if (!commit) return false
  const { parents, connections } = await readContent(repo, commit.tree)
  return parents === content.parents && connections === content.connections
}

/** The property `description`, or else the beginning of the content. */
function descriptionOf({ properties: { description } }: NodeContent, text: string): string {
  if (typeof description === 'string') return description
  return text.slice(0, 400).replace(/\s+/g, ' ').trim().slice(0, 200)
}

function edgesOf(nodeId: string, content: NodeContent) {
  const parents = content.parents
    .filter((parent) => parent.id !== nodeId)
    .map(({ id, label }) => ({
      edge_type: 'parent_child' as const,
      key: id,
      source: id,
      target: nodeId,
      connection_type: '',
      label,
    }))
  const connections = content.connections
    .filter((connection) => connection.target !== nodeId)
    .map(({ id, target, type, label }) => ({
      edge_type: 'connection' as const,
      key: id,
      source: nodeId,
      target,
      connection_type: type,
      label,
    }))
  return [...parents, ...connections]
}
