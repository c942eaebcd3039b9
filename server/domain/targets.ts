/** Targets of use cases: the ids and names in an operation's path. */

export interface OrgAt {
  readonly orgId: string
}

export interface MemberAt extends OrgAt {
  readonly email: string
}

export interface InvitationAt extends OrgAt {
  readonly invitationId: string
}

export interface BotAt extends OrgAt {
  readonly botId: string
}

export interface BotTokenAt extends BotAt {
  readonly tokenId: string
}

/** An upload of Markdown that is imported. */
export interface ImportAt extends OrgAt {
  readonly importId: string
}

/** A type by its name. */
export interface TypeAt extends OrgAt {
  readonly name: string
}

export interface NodeAt extends OrgAt {
  readonly nodeId: string
}

export interface ParentAt extends NodeAt {
  readonly parentId: string
}

export interface ConnectionAt extends NodeAt {
  readonly connectionId: string
}

export interface ObjectAt extends NodeAt {
  readonly objectId: string
}

export interface PullAt extends NodeAt {
  readonly number: number
}

/** A comment or review of a pull request. A thread is named by its first comment. */
export interface EntryAt extends PullAt {
  readonly entry: number
}

export interface RevisionAt extends NodeAt {
  /** A branch, a tag or the id of a commit. */
  readonly revision: string
}

/** For reads, `branch` may also be a tag. */
export interface BranchAt extends NodeAt {
  readonly branch: string
}

export interface FileAt extends BranchAt {
  readonly path: string
}

export interface CommitAt extends BranchAt {
  /** May be abbreviated. */
  readonly commitId: string
}

/** A commit by its full id, on any branch. */
export interface CheckedAt extends NodeAt {
  readonly commitId: string
}

/** A check of a commit. */
export interface CheckAt extends CheckedAt {
  readonly name: string
}

/** A repository in a Git URL. `name` is a node's id, or `org` for the organisation's own. */
export interface RepositoryAt extends OrgAt {
  readonly name: string
}

export interface WebhookAt extends OrgAt {
  readonly webhookId: string
}

export interface DeliveryAt extends WebhookAt {
  readonly deliveryId: string
}

export interface TokenAt {
  readonly tokenId: string
}

export interface AccountAt {
  readonly accountId: string
}

export interface IdentityAt {
  readonly identityId: string
}

export interface SessionAt {
  readonly sessionId: string
}
