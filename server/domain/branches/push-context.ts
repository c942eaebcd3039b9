/** The node, the user and the locks of a push, and its refusals. */
import type { Current } from '../../../gitstore/refs/ref-transaction.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import type { OrgRow } from '../../../index/derived/org-queries.ts'
import type { NodeAccess, Rights } from '../access.ts'
import type { Person } from '../actor.ts'
import type { PullPage } from '../consent/wording.ts'
import type { ContentProblem } from '../format/path-problem.ts'
import type { PullRecord } from '../ledger/ledger.ts'
import type { Services } from '../services.ts'

/** The parts of a refusal besides its reason. */
interface RefusalFacts {
  readonly problems?: readonly ContentProblem[]
  /** Returns further lines for the terminal. */
  readonly linesOf?: (pageOf: PullPage) => readonly string[]
  /** The reason without names, for the log. */
  readonly logged?: string
}

/** A refused ref: one line for git's report, and all problems for the terminal. */
export class PushRejectedError extends Error {
  readonly problems: readonly ContentProblem[]
  readonly linesOf: (pageOf: PullPage) => readonly string[]
  readonly logged: string

  constructor(reason: string, { problems = [], linesOf = () => [], logged }: RefusalFacts = {}) {
    super(reason)
    this.name = 'PushRejectedError'
    this.problems = problems
    this.linesOf = linesOf
    this.logged = logged ?? (problems.length > 0 ? 'the content breaks a rule' : reason)
  }
}

/** The ref is not at the commit that the push expects. */
export class StaleRefError extends PushRejectedError {
  constructor() {
    super('the ref has moved since you fetched it; fetch first')
  }
}

/** The node and the user of a push. */
export interface PushContext {
  readonly deps: Services
  readonly person: Person
  readonly access: NodeAccess
}

/** A push whose refs and ledger are locked. */
export interface LockedPush extends PushContext {
  /** The user's rights, read under the locks. */
  readonly rights: Rights
  readonly current: Current
  /** The organisation, read under the locks. */
  readonly org: OrgRow
  /** The ledger commit, and every open pull request of the node at it. */
  readonly ledger: Oid
  readonly open: readonly PullRecord[]
}
