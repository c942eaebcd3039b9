/** Converts path parameters to the names of the domain, with one function per noun. */
import type {
  AccountAt,
  BotAt,
  BotTokenAt,
  BranchAt,
  CheckedAt,
  CommitAt,
  ConnectionAt,
  DeliveryAt,
  EntryAt,
  FileAt,
  IdentityAt,
  ImportAt,
  InvitationAt,
  MemberAt,
  NodeAt,
  ObjectAt,
  OrgAt,
  ParentAt,
  PullAt,
  RevisionAt,
  SessionAt,
  TokenAt,
  TypeAt,
  WebhookAt,
} from '../domain/targets.ts'

interface OrgPath {
  readonly org_id: string
}

interface NodePath extends OrgPath {
  readonly node_id: string
}

interface BranchPath extends NodePath {
  readonly branch: string
}

export const orgAt = (path: OrgPath): OrgAt => ({ orgId: path.org_id })

export const memberAt = (path: OrgPath & { readonly email: string }): MemberAt => ({
  ...orgAt(path),
  email: path.email,
})

export const invitationAt = (path: OrgPath & { readonly invitation_id: string }): InvitationAt => ({
  ...orgAt(path),
  invitationId: path.invitation_id,
})

export const importAt = (path: OrgPath & { readonly import_id: string }): ImportAt => ({
  ...orgAt(path),
  importId: path.import_id,
})

export const botAt = (path: OrgPath & { readonly bot_id: string }): BotAt => ({ ...orgAt(path), botId: path.bot_id })

export const botTokenAt = (path: OrgPath & { readonly bot_id: string; readonly token_id: string }): BotTokenAt => ({
  ...botAt(path),
  tokenId: path.token_id,
})

export const webhookAt = (path: OrgPath & { readonly webhook_id: string }): WebhookAt => ({
  ...orgAt(path),
  webhookId: path.webhook_id,
})

export const deliveryAt = (
  path: OrgPath & { readonly webhook_id: string; readonly delivery_id: string },
): DeliveryAt => ({ ...webhookAt(path), deliveryId: path.delivery_id })

export const typeAt = (path: OrgPath & { readonly type_name: string }): TypeAt => ({
  ...orgAt(path),
  name: path.type_name,
})

export const nodeAt = (path: NodePath): NodeAt => ({ ...orgAt(path), nodeId: path.node_id })

export const parentAt = (path: NodePath & { readonly parent_id: string }): ParentAt => ({
  ...nodeAt(path),
  parentId: path.parent_id,
})

export const connectionAt = (path: NodePath & { readonly connection_id: string }): ConnectionAt => ({
  ...nodeAt(path),
  connectionId: path.connection_id,
})

export const objectAt = (path: NodePath & { readonly object_id: string }): ObjectAt => ({
  ...nodeAt(path),
  objectId: path.object_id,
})

export const pullAt = (path: NodePath & { readonly number: number }): PullAt => ({
  ...nodeAt(path),
  number: path.number,
})

export const entryAt = (path: NodePath & { readonly number: number; readonly entry: number }): EntryAt => ({
  ...pullAt(path),
  entry: path.entry,
})

export const revisionAt = (path: NodePath & { readonly commit: string }): RevisionAt => ({
  ...nodeAt(path),
  revision: path.commit,
})

export const branchAt = (path: BranchPath): BranchAt => ({ ...nodeAt(path), branch: path.branch })

export const fileAt = (path: BranchPath & { readonly path: string }): FileAt => ({
  ...branchAt(path),
  path: path.path,
})

export const commitAt = (path: BranchPath & { readonly commit_id: string }): CommitAt => ({
  ...branchAt(path),
  commitId: path.commit_id,
})

export const checkedAt = (path: NodePath & { readonly commit_id: string }): CheckedAt => ({
  ...nodeAt(path),
  commitId: path.commit_id,
})

export const accountAt = (path: { readonly account_id: string }): AccountAt => ({ accountId: path.account_id })

export const identityAt = (path: { readonly identity_id: string }): IdentityAt => ({ identityId: path.identity_id })

export const sessionAt = (path: { readonly session_id: string }): SessionAt => ({ sessionId: path.session_id })

export const tokenAt = (path: { readonly token_id: string }): TokenAt => ({ tokenId: path.token_id })
