/** The tables of `index.sqlite`. All rows follow from the refs and may be deleted at any time. */
import type { Generated, Kysely, Transaction } from 'kysely'

export interface OrgTable {
  id: string
  name: string
  /** Null if a version without descriptions wrote the row, and org.git was not read since. */
  description: string | null
  /** The vault that imports fill the organisation from; null without one. */
  vault_id: string | null
  /** 0 or 1. */
  published: number
  /** 0 or 1. */
  require_pull_requests: number
  /** JSON array. Null or outdated if an older version wrote the row; `rules_head` then is not `head`. */
  rules: string | null
  /** The commit of org.git's main that the rules were read from. */
  rules_head: string | null
  /** 1 if the owners allow search by meaning, 0 if they refuse it. Null: they have not chosen. */
  embeddings: number | null
  /** The node that the owners chose as home page, which may be deleted. Null: none. */
  home_node_id: string | null
  /** JSON array of words that a version must know to serve the organisation. Null: org.git was not read since. */
  requires: string | null
  /** 1 if the version that wrote the row lacks one of the words. The row then has no members, and is not published. */
  closed: Generated<number>
  /** The commit of the ledger of change sets that their rows follow. Null: none. */
  sets: Generated<string | null>
  created_at: string
  updated_at: string
  /** The commit of org.git's main that this row was read from. */
  head: string
  /** A rebuilt row gets a new epoch, and its versions restart. */
  epoch: string
  /** Incremented with every change of the organisation or of one of its nodes. */
  version: Generated<number>
  /** Incremented when a node is created or deleted, and when edges change. */
  graph_version: Generated<number>
}

export interface MemberTable {
  org_id: string
  user_id: string
  email: string
  name: string
  role: Role
  created_at: string
  /** Earlier e-mail addresses as SHA-256 hashes: a JSON array. Null without any. */
  former_emails: string | null
}

/** Roles, from the fewest permissions to the most. */
export const roles = ['reader', 'contributor', 'editor', 'maintainer', 'owner'] as const
export type Role = (typeof roles)[number]

/** The end of a bot's e-mail address, after its id. */
export const botEmailEnd = '@bots.invalid'

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
  /** The head of main that this row was read from. Null if main does not exist. */
  head: string | null
  /** The tree of that commit. Null without a commit, or if an older version wrote the row. */
  tree: string | null
  /** The ledger commit that the node's pull requests were read from. */
  ledger: string
  /**
   * The ledger commit that their entries were read from. After `~`, their rows are not complete. Null if only an older
   * version has written the row.
   */
  entries_ledger: string | null
  /** For compare-and-swap: every change of the node's rows adds one. */
  version: number
  /** The organisation's version at the node's last change. */
  changed: number
  /** The title's key (title-order.ts). Siblings are in its order, then by id. */
  title_key: Generated<string>
  /** Bytes of the files of its objects. Null if they are not measured yet. */
  bytes: Generated<number | null>
  /** 1 without a parent in the organisation. Children of an `unsettled_parent` may have another value. */
  is_root: Generated<number>
}

/** A node that is only proposed. Its pull requests and branches have rows as those of other nodes. */
export interface ProposedNodeTable
  extends Pick<
    NodeTable,
    | 'id'
    | 'org_id'
    | 'title'
    | 'description'
    | 'tags'
    | 'properties'
    | 'created_at'
    | 'updated_at'
    | 'ledger'
    | 'entries_ledger'
    | 'version'
    | 'bytes'
  > {
  /** The UUID of the change set that proposes it. Empty if the ledger names none. */
  proposed_in: string
  /** The head of the proposed branch, from which title, tags and properties were read. Null without a commit. */
  head: string | null
  /** Drawn when the row is inserted. No two rows of a node are then in the same state. */
  changed: number
}

/**
 * Both kinds of nodes, for queries by id of the state that was indexed. A proposed one has no head of `main`, no tree
 * and no place.
 */
interface AnyNodeTable extends NodeTable {
  /** Null for a node that is there. */
  proposed_in: string | null
}

/** A created or deleted node. `is_root` of some of its children is still to be set (placement.ts). */
interface UnsettledParentTable {
  org_id: string
  /** The id of the created or deleted node. */
  parent: string
  /** Children up to this key and id are settled. */
  after_key: string
  after_id: string
}

/** The number of nodes in a level that is not empty. Triggers keep it. */
interface LevelCountTable {
  org_id: string
  /** Empty for the level of the organisation's roots. */
  parent: string
  nodes: number
}

/** The usage of an organisation. Triggers keep it. Absent without nodes and bytes. */
interface OrgUsageTable {
  org_id: string
  nodes: number
  /** The bytes of its nodes and its trash. */
  bytes: number
}

/** The bytes of a node in the trash, in all copies. */
interface TrashUsageTable {
  org_id: string
  node_id: string
  bytes: number
}

interface NodeTextTable {
  node_id: string
  text: string
}

interface NodeTagTable {
  node_id: string
  tag: string
}

/** A tag that nodes of the organisation carry on main, or one above it. */
interface OrgTagTable {
  org_id: string
  tag: string
  /** How many carry it. */
  nodes: number
  /** How many carry it or a tag below it. */
  within: number
  tag_key: string
}

/** A node with a tag, or with a tag below it. */
interface TaggedNodeTable {
  org_id: string
  tag: string
  /** That of the node. */
  title_key: string
  node_id: string
  /** 1 if the node carries this tag. */
  is_own: number
}

/** A deleted node, until search indexes have removed it. */
interface TombstoneTable {
  node_id: string
  org_id: string
  changed: number
}

/** A branch as last indexed. Its current head must be read from Git. */
interface BranchTable {
  /** The node's organisation. */
  org_id: string
  node_id: string
  name: string
  head: string
  /** The end of the log of its head; null if the log is not stored. */
  chain: number | null
  pos: number | null
}

/** A part of a log (chains.ts): its entries from above `base_pos` up to `tip`. */
export interface ChainTable {
  id: Generated<number>
  /** Empty for a deleted node, or after a concurrent change. */
  node_id: string
  /** The chain that this one continues above `base_pos`; null if it begins at the root. */
  base_chain: number | null
  base_pos: number
  tip: number
  /** 0 while it is being written. */
  whole: number
}

interface EntryTable {
  chain: number
  /** The length of the log at this entry. */
  pos: number
  /** 20 bytes. */
  oid: Buffer
  /** The highest position up to `pos` that is not a cut. 0 if all are cuts. */
  bend: number
}

export interface EdgeTable {
  org_id: string
  /**
   * The node whose repository holds the edge. This is the child of a parent_child edge, or the source of a connection.
   */
  holder: string
  /** The id of the parent or of the connection, unique within holder and edge_type. */
  key: string
  edge_type: 'parent_child' | 'connection'
  source: string
  target: string
  connection_type: string
  label: string
}

interface PlacedEdgeTable extends EdgeTable {
  /** The key of the child's title, on a parent_child edge; `""` on a connection. */
  title_key: Generated<string>
}

export interface PullTable {
  /** The node's organisation. */
  org_id: string
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
  /**
   * Fixed when the pull request ends. For an open one, the commit as last recorded. The target is `noOid` if it had no
   * commit.
   */
  source_commit: string
  target_commit: string
  ahead: number
  behind: number
  ended_by: string | null
  ended_by_email: string | null
  ended_at: string | null
  /** Null if an older version opened it. */
  author_id: string | null
  /** The comments that are not deleted. */
  comments: Generated<number>
  /** The unresolved threads in which a comment is left. The first comment is not damaged. */
  open_threads: Generated<number>
  /** The number and time of the last entry. 0 and null without one. */
  last_entry: Generated<number>
  last_entry_at: string | null
  /** The deleted target of a pull request that fell back to main. */
  stacked_on: string | null
  /** The UUID of the change set that it belongs to. */
  change_set: string | null
  /** JSON object: an owner's merge in spite of rules. */
  overridden: string | null
  /** JSON objects: how it was opened, and how it ended. Null for a session, and if an older version did it. */
  opened_via: string | null
  ended_via: string | null
  /** 1: a program opened it for its user. */
  by_agent: number
}

/** An item of a change set: a pull request of a page. */
export interface ChangeSetItemTable {
  org_id: string
  /** The number of the set. */
  number: number
  node_id: string
  /** The number of the pull request. */
  pull: number
  act: 'change' | 'create' | 'delete' | 'restore'
}

/** A comment, verdict or event of a pull request: one file of the ledger. */
export interface ReviewEntryTable {
  node_id: string
  number: number
  /** Counts from 1 in each pull request. */
  entry: number
  /** The UUID of a comment or verdict. */
  id: string | null
  /** `unknown` is an entry of a later version. `damaged` is a file that is not an entry. */
  kind: 'comment' | 'verdict' | 'event' | 'unknown' | 'damaged'
  /** Null also for a review that only comments. */
  verdict: 'approve' | 'request_changes' | null
  /** The first comment of the comment's thread. Null for other kinds. */
  thread: number | null
  user_id: string | null
  at: string | null
  /** The head that the comment or verdict was written on. */
  head: string | null
  /** The file that a thread is about, on its first comment. */
  path: string | null
  /** 1 on the first comment of a resolved thread. */
  resolved: number
  deleted: number
  /** The file's JSON. Empty if it is damaged. */
  body: string
}

/** A user whom a comment mentions. */
interface ReviewMentionTable {
  node_id: string
  number: number
  entry: number
  user_id: string
}

/** A user who was asked to review a pull request. */
export interface ReviewerTable {
  user_id: string
  org_id: string
  node_id: string
  number: number
  name: string
  since: string
}

/** The last report about a commit under one name. */
export interface CheckStateTable {
  node_id: string
  commit_id: string
  /** Empty for what cannot be read of the commit's file. */
  name: string
  /** `unknown` is a state of a later version. `damaged` is not a check. */
  state: 'pending' | 'success' | 'failure' | 'unknown' | 'damaged'
  user_id: string | null
  at: string | null
  /** The check's JSON. Empty if it is damaged. */
  body: string
  /** The object id of the commit's file in the ledger. */
  blob: string
}

/** A user in the conversation of a pull request. Fields are numbers of entries; 0 means none. */
export interface InvolvementTable {
  user_id: string
  org_id: string
  node_id: string
  number: number
  /** The user's last entry. */
  last_own: number
  last_mention: number
  /** The last comment of another user in a thread that the user takes part in. */
  last_answer: number
}

/** How far a background job has walked through all repositories. */
interface CursorTable {
  chore: string
  /** The organisation of the last visited repository; empty at the beginning. */
  org_id: string
  /** Empty for the organisation's own repository. */
  node_id: string
}

/** Counts of ref moves in a repository (change-log.ts). */
interface RefMovesTable {
  org_id: string
  /** Empty for the organisation's own repository. */
  node_id: string
  /** Replaced at each move. */
  stamp: number
  /** The number of moves since the last maintenance. */
  moves: number
  /** The time of the last move, in seconds since 1970. */
  moved_at: number
  /** When maintenance is due if there are many moves, in seconds since 1970. */
  look_at: number
}

interface OrgIdTable {
  org_id: string
}

interface RebuildTable {
  done: number
  total: number
}

export interface IndexSchema {
  /** While the index is being rebuilt: complete organisations (`whole_org`), and requested ones (`asked_org`). */
  whole_org: OrgIdTable
  asked_org: OrgIdTable
  /** While the index is being rebuilt: one row with the numbers of nodes. */
  rebuild: RebuildTable
  ref_moves: RefMovesTable
  cursor: CursorTable
  org: OrgTable
  member: MemberTable
  node: NodeTable
  proposed_node: ProposedNodeTable
  any_node: AnyNodeTable
  node_text: NodeTextTable
  node_tag: NodeTagTable
  org_tag: OrgTagTable
  tagged_node: TaggedNodeTable
  tombstone: TombstoneTable
  unsettled_parent: UnsettledParentTable
  level_count: LevelCountTable
  org_usage: OrgUsageTable
  trash_usage: TrashUsageTable
  branch: BranchTable
  chain: ChainTable
  entry: EntryTable
  edge: PlacedEdgeTable
  pull: PullTable
  change_set_item: ChangeSetItemTable
  review_entry: ReviewEntryTable
  review_mention: ReviewMentionTable
  reviewer: ReviewerTable
  involvement: InvolvementTable
  check_state: CheckStateTable
}

export type IndexTransaction = Transaction<IndexSchema>

/** A connection or a transaction. */
export type IndexDb = Kysely<IndexSchema>
