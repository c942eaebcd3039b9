/** The input of use cases, under the names of the spec. */

/** The path of an operation. */
export interface Path<P> {
  readonly path: P
}

/** The query of an operation. */
export interface Query<Q> {
  readonly query: Q
}

/** The body of an operation. */
export interface Body<B> {
  readonly body: B
}

export interface OrgAt {
  readonly org_id: string
}

export interface MemberAt extends OrgAt {
  readonly email: string
}

export interface InvitationAt extends OrgAt {
  readonly invitation_id: string
}

export interface BotAt extends OrgAt {
  readonly bot_id: string
}

export interface BotTokenAt extends BotAt {
  readonly token_id: string
}

/** An upload of Markdown that is imported. */
export interface ImportAt extends OrgAt {
  readonly import_id: string
}

/** A draft of the caller. */
export interface DraftAt extends OrgAt {
  readonly draft_id: string
}

/** A type by its name. */
export interface TypeAt extends OrgAt {
  readonly type_name: string
}

export interface NodeAt extends OrgAt {
  readonly node_id: string
}

export interface ParentAt extends NodeAt {
  readonly parent_id: string
}

export interface ConnectionAt extends NodeAt {
  readonly connection_id: string
}

export interface ObjectAt extends NodeAt {
  readonly object_id: string
}

export interface PullAt extends NodeAt {
  readonly number: number
}

/** A change set by its number in the organisation. */
export interface SetAt extends OrgAt {
  readonly number: number
}

/** A comment or review of a pull request. A thread is named by its first comment. */
export interface EntryAt extends PullAt {
  readonly entry: number
}

export interface RevisionAt extends NodeAt {
  /** A branch, a tag or the id of a commit. */
  readonly commit: string
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
  readonly commit_id: string
}

/** A commit by its full id, on any branch. */
export interface CheckedAt extends NodeAt {
  readonly commit_id: string
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
  readonly webhook_id: string
}

export interface DeliveryAt extends WebhookAt {
  readonly delivery_id: string
}

export interface TokenAt {
  readonly token_id: string
}

export interface AccountAt {
  readonly account_id: string
}

export interface IdentityAt {
  readonly identity_id: string
}

export interface SessionAt {
  readonly session_id: string
}
