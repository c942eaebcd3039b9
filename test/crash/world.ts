/** The answers that clients of a storm have, or lack. Both are used to judge the service. */

import { randomUUID } from 'node:crypto'
import type { Clone } from './pushing.ts'

/** `asked`: no answer came, so it may have happened or not; the next look at the service settles it. */
export type Deletion = 'no' | 'asked' | 'done'

/** A branch `name` with one commit of the file `<name>.txt`, and the request that proposes it. */
export interface Request {
  readonly name: string
  /** Undefined while no answer has told it. */
  number?: number
  status: 'open' | 'merged' | 'closed'
  /** Its other possible value, because an answer is missing. */
  unsure?: 'open' | 'merged' | 'closed'
  branchDeleted: Deletion
  /** Its comments and reviews, of all clients. Events are not among them. */
  entries: Entry[]
  /** A branch with rules that it is proposed to. Default: main, which has none. */
  readonly target?: string
  /** Each merge of it that was asked for, by REST or push. Only those into a branch with rules are kept. */
  readonly attempts?: Span[]
  /** A check has found that rules held for its merge. */
  isJudged?: boolean
  /** Acknowledged commits of suggestions that no check has looked for yet. */
  readonly applied?: string[]
}

/** From a request to its answer, in milliseconds. */
export interface Span {
  readonly begun: number
  /** Absent while there is no answer; the next look at the service settles it. */
  ended?: number
}

/** The rules of the organisation since an answer. */
export interface RulesVersion extends Span {
  readonly rules: readonly StormRule[]
}

/** The rules of storms. Each list is for all branches `ruled-*`, and has a pattern that no other list has. */
export interface StormRule {
  readonly branches: readonly string[]
  readonly approvals?: number
  readonly keep?: 'same_commit'
  readonly checks?: readonly { readonly name: string }[]
  readonly resolved?: boolean
}

/** A comment or a review. */
export interface Entry {
  readonly kind: 'comment' | 'verdict'
  /** Undefined while no answer has told it. */
  id: string | undefined
  number: number | undefined
  readonly thread: number | undefined
  state: EntryState
  /** Its other possible value, because an answer is missing. */
  asked?: EntryState
  /** No answer came to its creation. */
  isUnsure: boolean
  /** Comments that were written with a review. */
  readonly comments?: number
}

export interface EntryState {
  readonly text: string
  readonly isDeleted: boolean
  readonly isResolved: boolean
  readonly isWithdrawn: boolean
}

/** An entry that one client alone changes. */
export interface OwnEntry {
  readonly node: SharedNode
  readonly request: Request
  readonly entry: Entry
}

/** A branch that one client alone pushes, from its clone. */
export interface PushedBranch {
  readonly name: string
  readonly clone: Clone
  /** Null: it is deleted. */
  head: string | null
  /** Where it may be too, since an answer is missing. */
  asked?: string | null
  /** Each push, with what git said of it. */
  readonly story: string[]
}

/** A report of a check: its description, which no other report has. */
export interface Reported {
  /** Undefined while no answer has told it. */
  description: string | undefined
  /** Its other possible value, because an answer is missing. */
  asked?: string
}

export interface SharedNode {
  readonly id: string
  readonly at: string
  /** Acknowledged commits on main that no check has looked for yet. */
  fresh: string[]
  /** All acknowledged commits on main. */
  readonly commits: string[]
  /** Ids and messages of commits on main that were refused since the last check. */
  refused: string[]
  readonly requests: Request[]
  readonly pushed: PushedBranch[]
  /** The reports, by commit and name. Only one client reports under a name. */
  readonly checks: Map<string, Map<string, Reported>>
  /** Descriptions of reports of checks that were acknowledged since the last check. Each has another one. */
  reports: string[]
}

export interface OwnNode {
  readonly id: string
  readonly at: string
  /** No answer came to its creation. */
  unsure: boolean
  deleted: Deletion
}

interface Account {
  readonly email: string
  unsure: boolean
  /** A check has tried to log in with it. */
  seen: boolean
}

/** A personal access token. */
export interface OwnToken {
  readonly id: string
  readonly secret: string
  ended: Deletion
  /** Somebody has looked for it since it ended. */
  seen: boolean
}

export interface OwnSession {
  access: string
  refresh: string
  ended: Deletion
  /** Somebody has looked for it since it ended. */
  seen: boolean
}

/** An organisation beside that of the nodes. */
export interface OwnOrg {
  readonly name: string
  /** Undefined: no answer came to its creation. */
  id: string | undefined
  ended: Deletion
}

export interface Counts {
  acknowledged: number
  unknown: number
  busy: number
}

export interface World {
  /** Of the service or cell that has the organisation. */
  dataDir: string
  readonly org: string
  readonly email: string
  /** Who reviews what the other one proposes. */
  readonly reviewer: string
  /** Of services and commands over the data folder, beside `DATA_DIR`. */
  readonly environment: Readonly<Record<string, string>>
  readonly shared: SharedNode[]
  readonly nodes: OwnNode[]
  readonly accounts: Account[]
  readonly tokens: OwnToken[]
  readonly sessions: OwnSession[]
  readonly orgs: OwnOrg[]
  /** Each list of rules that was asked for and not refused, the last one last. */
  readonly rules: RulesVersion[]
  /** By operation. */
  readonly counts: Map<string, Counts>
  readonly problems: string[]
  /** Another at every call, in all worlds: names, titles and addresses are made with it. */
  next(): number
}

let made = 0

type WorldOf = Pick<World, 'dataDir' | 'org' | 'email' | 'reviewer' | 'environment'>

export function createWorld({ dataDir, org, email, reviewer, environment }: WorldOf): World {
  return {
    dataDir,
    org,
    email,
    reviewer,
    environment,
    shared: [],
    nodes: [],
    accounts: [],
    tokens: [],
    sessions: [],
    orgs: [],
    rules: [],
    counts: new Map(),
    problems: [],
    next: () => ++made,
  }
}

/** Addresses of the node `id`, which need not be there. */
export function placeOf({ org }: World, id: string) {
  return { id, at: `/orgs/${org}/nodes/${id}` }
}

export function newOwnNode(world: World): OwnNode {
  return { ...placeOf(world, randomUUID()), unsure: true, deleted: 'no' }
}

export function countsOf({ counts }: World, operation: string): Counts {
  const known = counts.get(operation)
  if (known) return known
  const fresh = { acknowledged: 0, unknown: 0, busy: 0 }
  counts.set(operation, fresh)
  return fresh
}
