/** The tables of `index.sqlite`: everything here follows from the refs and may be deleted at any time. */
import type { Generated, Kysely } from 'kysely'

export interface OrgTable {
  id: string
  name: string
  /** Null: the row was made before there were descriptions, and org.git not read since. */
  description: string | null
  /** The vault that an import fills it from; null where there is none. */
  vault_id: string | null
  /** 0 or 1. */
  published: number
  /** 0 or 1. */
  require_pull_requests: number
  created_at: string
  updated_at: string
  /** The commit of org.git's main that this row was read from. */
  head: string
  /** A rebuilt row gets another epoch and counts its versions from the start. */
  epoch: string
  /** Counts up with every change of the organisation or of one of its nodes. */
  version: Generated<number>
  /** The version at the last change of a node or of an edge between two. */
  graph_version: Generated<number>
}

export interface MemberTable {
  org_id: string
  user_id: string
  email: string
  name: string
  role: Role
  created_at: string
}

/** The least first. */
export const roles = ['reader', 'editor', 'maintainer', 'owner'] as const
export type Role = (typeof roles)[number]

export interface NodeTable {
  id: string
  org_id: string
  title: string
  description: string
  /** JSON array of strings. */
  tags: string
  /** JSON object. */
  properties: string
  created_at: string
  updated_at: string
  /** The head of main that this row was read from, or null. */
  head: string | null
  /** The tree of that commit; null where there is none, or where an older version has written the row. */
  tree: string | null
  /** The ledger commit that the node's pull requests were read from. */
  ledger: string
  /** Compare-and-swap: every change of the node's rows adds one. */
  version: number
  /** The organisation's version at the node's last change. */
  changed: number
}

interface NodeTextTable {
  node_id: string
  text: string
}

interface NodeTagTable {
  node_id: string
  tag: string
}

/** A deleted node, until search indexes have removed it. */
interface TombstoneTable {
  node_id: string
  org_id: string
  changed: number
}

/** A branch as last indexed; its present head is read from Git. */
interface BranchTable {
  /** That of the node. */
  org_id: string
  node_id: string
  name: string
  head: string
  /** Where the log of its head ends; null where the log is not laid out. */
  chain: number | null
  pos: number | null
}

/** A part of a log (chains.ts): its entries from above `base_pos` up to `tip`. */
interface ChainTable {
  id: Generated<number>
  /** Empty for a deleted node, or after a concurrent change. */
  node_id: string
  /** The chain that it continues from `base_pos` on; null: it begins at the root. */
  base_chain: number | null
  base_pos: number
  tip: number
  /** 0 while it is being written. */
  whole: number
}

interface EntryTable {
  chain: number
  /** The length of the log here. */
  pos: number
  /** 20 bytes. */
  oid: Buffer
  /** The highest position, at or below `pos`, that is not a cut; 0 if there is none. */
  bend: number
}

export interface EdgeTable {
  org_id: string
  /** The node whose repository holds the edge: the child of a parent_child edge, the source of a connection. */
  holder: string
  /** The parent's id or the connection's id: unique within holder and edge_type. */
  key: string
  edge_type: 'parent_child' | 'connection'
  source: string
  target: string
  connection_type: string
  label: string
}

export interface PullTable {
  node_id: string
  number: number
  id: string
  title: string
  description: string
  source_branch: string
  target_branch: string
  status: 'open' | 'merged' | 'closed'
  is_draft: number
  author: string
  author_email: string
  created_at: string
  /** When the ledger last changed it. */
  recorded_at: string
  /** Fixed when the request ends; of an open one, as last recorded. */
  source_commit: string
  target_commit: string
  ahead: number
  behind: number
  ended_by: string | null
  ended_by_email: string | null
  ended_at: string | null
}

/** Where a background job is in its walk through all repositories. */
interface CursorTable {
  chore: string
  /** Of the repository that was visited last; empty at the beginning. */
  org_id: string
  /** Empty: the organisation's own. */
  node_id: string
}

/** Moves of refs in a repository (ref-moves.ts). */
interface RefMovesTable {
  org_id: string
  /** Empty: the organisation's own repository. */
  node_id: string
  /** Another one after each move. */
  stamp: number
  /** Since maintenance has looked. */
  moves: number
  /** Seconds since 1970, as below. */
  moved_at: number
  /** When maintenance is to look, if the moves are many. */
  look_at: number
}

interface OrgIdTable {
  org_id: string
}

export interface IndexSchema {
  /** While the index is made again: organisations with all of their nodes, and those that are asked for. */
  whole_org: OrgIdTable
  asked_org: OrgIdTable
  ref_moves: RefMovesTable
  cursor: CursorTable
  org: OrgTable
  member: MemberTable
  node: NodeTable
  node_text: NodeTextTable
  node_tag: NodeTagTable
  tombstone: TombstoneTable
  branch: BranchTable
  chain: ChainTable
  entry: EntryTable
  edge: EdgeTable
  pull: PullTable
}

/** A connection or a transaction. */
export type IndexDb = Kysely<IndexSchema>
