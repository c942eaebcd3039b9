/**
 * The tables of credentials, which cannot be rebuilt, and of the directory of cells. Times are ISO 8601 in UTC unless a
 * comment says otherwise. Hashes are SHA-256 in hexadecimal.
 */
import type { Generated, Insertable, Kysely, Selectable } from 'kysely'
import type { Role } from '../derived/schema.ts'

export interface CredentialsSchema {
  account: AccountTable
  session: Session
  refresh_token: RefreshToken
  reset_token: ResetToken
  access_token: AccessToken
  oauth_grant: OauthGrant
  oauth_code: OauthCode
  oauth_token: OauthToken
  oauth_client: OauthClient
  oauth_assertion: OauthAssertion
  account_address: AccountAddress
  signing_key: SigningKey
  token_key: TokenKey
  deleted_account: DeletedAccount
  invitation: Invitation
  invitation_use: InvitationUse
  pending_membership: PendingMembership
  cell: CellRow
  place: PlaceRow
  org_limit: OrgLimit
  org_card: OrgCard
  org_member: OrgMember
  read_mark: ReadMark
  webhook: Webhook
  follow: Follow
  inbox_mark: InboxMark
  feed_token: FeedToken
  identity: Identity
  logout_token: LogoutToken
  rate_count: RateCount
  mail: Mail
  email_token: EmailToken
  digest_turn: DigestTurn
}

interface AccountTable {
  /** UUID v7. */
  id: string
  email: string
  /** `emailKey(email)`, unique. */
  email_key: string
  name: string
  password_hash: string
  created_at: string
  /** The id that the personal organisation has, or will have. */
  org_id: string
  /** When the account was disabled; null if it is not disabled. */
  disabled_at: Generated<string | null>
  /** The reason that the administrator gave. */
  disabled_reason: Generated<string | null>
  /** 1: may manage accounts. Gives no access to content. */
  is_admin: Generated<0 | 1>
  /** 1: commits show an address that receives no mail, instead of the e-mail address. */
  hide_email: Generated<0 | 1>
  /** 1: member files may still have a former e-mail address or name. */
  members_behind: Generated<0 | 1>
  /** Accurate to about an hour. */
  last_seen_at: Generated<string | null>
  /** A bot has no password and signs in nowhere. Only its tokens act for it. */
  kind: Generated<'person' | 'bot'>
  /** The organisation that owns a bot. Null for a user's own account. */
  owner_org_id: Generated<string | null>
  /** The account that created a bot. Null for a bot that was restored from mirrors, and for users. */
  created_by: Generated<string | null>
  /** 0: nobody knows the password. Its user signs in through a provider, or sets one. */
  has_password: Generated<0 | 1>
  /** When the e-mail address was verified; null if it was not, or has changed since. */
  email_verified_at: Generated<string | null>
  /** 1: has rows in `identity`. */
  has_identity: Generated<0 | 1>
  /** How often the inbox is mailed; null if never. */
  digest: Generated<'daily' | 'weekly' | null>
  /** The reasons that do not come by mail, and how each comes, as JSON. Null: all come by mail. */
  notifications: Generated<string | null>
}

export type Account = Selectable<AccountTable>
export type NewAccountRow = Insertable<AccountTable>

/** A session from one sign-in. Refresh tokens that replace each other, or a cookie, continue it. */
export interface Session {
  id: string
  account_id: string
  created_at: string
  revoked_at: string | null
  /** Accurate to about a minute; null if a version without these columns opened the session. */
  last_used_at: string | null
  /** The client's `User-Agent`, at most 200 characters. */
  user_agent: string | null
  /** The network that opened the session. It has 24 bits of an IPv4 address, or 48 of an IPv6 address. */
  address: string | null
  method: 'password' | 'reset' | 'oidc' | null
  /** The hash of the secret in a browser's cookie, unique. Null if the session uses refresh tokens. */
  cookie_hash: string | null
  /** The identity through which it was opened. Null for other methods. */
  identity_id: string | null
  /** When its user last proved again who they are. */
  confirmed_at: string | null
}

export interface RefreshToken {
  hash: string
  session_id: string
  created_at: string
  expires_at: string
  used_at: string | null
  /** The next token, encrypted with the token that it replaces. The row is not enough to decrypt it. */
  successor: string | null
}

export interface ResetToken {
  hash: string
  account_id: string
  expires_at: string
  used_at: string | null
}

/** A personal access token, which scripts and `git` use instead of a password. Revoking it deletes the row. */
export interface AccessToken {
  /** UUID v7. */
  id: string
  /** The hash of the secret, unique. */
  hash: string
  account_id: string
  name: string
  access: 'read' | 'propose' | 'write'
  /** Null for all organisations of the user. */
  org_id: string | null
  /** Never without `org_id`. */
  node_id: string | null
  /** The last four characters of the secret, so that users recognise a token. */
  hint: string
  created_at: string
  expires_at: string | null
  /** Accurate to about a minute. */
  last_used_at: string | null
}

/** A connection: what a user has allowed a program to do, by OAuth. Ending it deletes the row. */
export interface OauthGrant {
  /** UUID v7. */
  id: string
  account_id: string
  client_id: string
  client_name: string
  access: 'read' | 'propose' | 'write'
  /** Null for all organisations of the user. */
  org_id: string | null
  /** Never without `org_id`. */
  node_id: string | null
  /** Its tokens are valid only for the API and Git, or only for `/mcp`. */
  resource: 'api' | 'mcp'
  /** How the program proves that it is the client. */
  method: 'none' | 'private_key_jwt'
  created_at: string
  /** Accurate to about a minute. */
  last_used_at: string | null
}

/** The code that a program exchanges for its first tokens. */
export interface OauthCode {
  hash: string
  grant_id: string
  redirect_uri: string
  /** SHA-256 of the verifier, in base64url. */
  challenge: string
  expires_at: string
  used_at: string | null
}

/** A token of a connection. */
export interface OauthToken {
  hash: string
  grant_id: string
  kind: 'access' | 'refresh'
  created_at: string
  expires_at: string
  /** Null for an access token. */
  used_at: string | null
  /** The next refresh token, encrypted with the one that it replaces. */
  successor: string | null
}

/** The metadata document of a program, as its host answered. A cache. */
export interface OauthClient {
  /** The URL of the document. */
  id: string
  document: string
  fetched_at: string
  fresh_until: string
}

/** An assertion of a client, which is used once. */
export interface OauthAssertion {
  /** The hash of its client and its id. */
  hash: string
  /** The time after which the assertion is refused without this row. */
  expires_at: string
}

/** An IP address from which a user signed in or continued a session. */
interface AccountAddress {
  account_id: string
  /** An IPv4 address, or the network of an IPv6 address. */
  address: string
  /** When it was last used. */
  seen_at: string
}

/** The only row: the issuer and the first key, which versions without `token_key` read. */
export interface SigningKey {
  id: 1
  /** JSON of the private JWK. */
  jwk: string
  /** The issuer and audience of tokens, unless PUBLIC_URL is set. */
  issuer: string
  created_at: string
}

/** A key that signs tokens, or has signed tokens before. */
export interface TokenKey {
  kid: string
  /** JSON of the private JWK. */
  jwk: string
  created_at: string
  /** The key signs tokens after this time, until a newer key does. */
  active_from: string
  /** The key verifies tokens until this time; null if no newer key replaces it yet. */
  retired_at: string | null
}

/** A deleted account, which no mirror or backup may recreate. */
interface DeletedAccount {
  id: string
  deleted_at: string
}

/** An invitation to sign up, or to join an organisation. */
export interface Invitation {
  /** UUID v7. */
  id: string
  /** The hash of the token, unique. */
  hash: string
  /** Null for an invitation only to sign up. */
  org_id: string | null
  /** Null without `org_id`. */
  role: Role | null
  /** `emailKey` of the only user who may use it; null if anyone may. */
  email_key: string | null
  uses_left: number
  expires_at: string
  /** The account that created it, which must still be an owner; null for the operator. */
  created_by: string | null
  created_at: string
}

/** An account that may not use an invitation again. It has used it, or an owner has lowered its role since. */
interface InvitationUse {
  invitation_id: string
  account_id: string
  used_at: string
}

/** An invitation to an organisation. The table allows `org_id` and `role` only together. */
export type OrgInvitation = Invitation & { role: Role }

/** A membership from an accepted invitation, until org.git has it. */
export interface PendingMembership {
  account_id: string
  org_id: string
  role: Role
  /** The invitation's `created_by`. */
  invited_by: string | null
  created_at: string
}

/** How far a user has read the conversation of a pull request. */
export interface ReadMark {
  account_id: string
  org_id: string
  node_id: string
  /** 0: the node itself, which is muted. */
  number: number
  /** The number of the last entry that was read. */
  entry: number
  /** The source commit that was read last. */
  head: string | null
  /** 1: muted. Answers do not wait, and the inbox has only mentions and requests. */
  muted: 0 | 1
  /** When it was last set. */
  at: string
}

/** A URL that gets the events of an organisation. Its deliveries are in `events.sqlite`. */
export interface Webhook {
  id: string
  org_id: string
  /** Null: events of all nodes, and of the organisation. */
  node_id: string | null
  url: string
  /** A JSON list of types, such as `pull_request.*`. */
  types: string
  content_type: 'application/json' | 'application/cloudevents+json'
  /** 1: one delivery at a time, in the order of the events. */
  ordered: 0 | 1
  active: 0 | 1
  /** The secret, encrypted if the service has a key. */
  secret_sealed: string
  /** The secret before the last rotation. It also signs until `previous_until`. */
  previous_sealed: string | null
  previous_until: string | null
  created_by: string
  created_at: string
  /** The owner who last enabled it, changed its URL or replaced its secret. Null: `created_by`. */
  kept_by: string | null
  /** The token or the connection with which they did. Null: a session. */
  kept_via: string | null
}

/** A node or an organisation whose events a user has in the inbox. */
export interface Follow {
  account_id: string
  org_id: string
  /** Empty: the whole organisation. */
  node_id: string
  /** `tree`: also the descendants that the node has at the time of reading. */
  scope: 'node' | 'tree'
  created_at: string
}

/** How far a user has read the inbox of an organisation. */
export interface InboxMark {
  account_id: string
  org_id: string
  /** The events up to this number are read. */
  seq: number
  /** The chain value of that event. Another value there is another log. */
  chain: string
  /** Items that were read one by one since: JSON `[[subject, seq], …]`, the oldest first. */
  read_items: string
  /** When it was last set. */
  at: string
}

/** The token in the URL of a user's inbox feed. */
export interface FeedToken {
  account_id: string
  /** The hash of the secret, unique. */
  hash: string
  created_at: string
}

/** A mail that was not sent yet, or could not be. It holds no secret: tokens are made at sending. */
export interface Mail {
  /** UUID v7. */
  id: string
  kind: string
  /** Null if the account is found at sending, or if there is none. */
  account_id: string | null
  address: string
  /** JSON of what its text needs. */
  fields: string
  /** The only cell that may send it; null if any may. */
  cell: string | null
  created_at: string
  /** When to try it, in milliseconds since 1970. PostgreSQL compares it with its own clock, and `claimed_until`. */
  next_at: number
  attempts: number
  /** The process that sends it. */
  claimed_by: string | null
  /** Until then no other process sends it. */
  claimed_until: number
  /** When it was given up. */
  failed_at: string | null
  /** The last failure, without addresses. */
  error: string | null
}

/** A token that was mailed, and proves that its user reads the mailbox. */
export interface EmailToken {
  hash: string
  account_id: string
  /** `verify`: confirms the address. `new_address`: changes it. `undo`: changes it back. `digest`: ends digests. */
  kind: 'verify' | 'new_address' | 'undo' | 'digest'
  /** The address that got the mail. */
  email: string
  /** `emailKey(email)`. */
  email_key: string
  expires_at: string
  used_at: string | null
}

/** When the next digest of an account is due. Not in backups, so that a restored service waits a whole period. */
export interface DigestTurn {
  account_id: string
  /** In milliseconds since 1970. PostgreSQL compares it with its own clock. */
  next_at: number
  /** When the period of the next digest began. */
  since: string
}

/** A service with its own data folder, one of several that share a database. */
export interface CellRow {
  name: string
  /** The URL at which other cells reach it. */
  url: string
  /** The lease's fencing epoch. It grows by one whenever a process takes the lease. */
  epoch: number
  /** When the lease ends, in milliseconds since 1970 by the database's clock. */
  until: number
  /** 1: accepts new organisations. */
  open: 0 | 1
  /** Its share of new organisations among the cells that accept them. */
  weight: number
}

/** The placement of an organisation: the cell that has its folder. */
export interface PlaceRow {
  org_id: string
  cell: string
  /** How often the organisation has moved. */
  epoch: number
  /** `making`: claimed before the folder exists. `gone`: permanently deleted; the row stays. */
  state: 'making' | 'here' | 'moving' | 'gone'
  /** The cell that it is moving to. */
  target: string | null
  /** When the state began, in milliseconds since 1970 by the database's clock. */
  since: number
}

/** The limits of one organisation. Null: the configured one. 0: no limit. */
export interface OrgLimit {
  org_id: string
  max_nodes: number | null
  max_bytes: number | null
}

/** An organisation's card, for the lists of a user's organisations. Follows org.git as the index does. */
export interface OrgCard {
  org_id: string
  /** The commit of org.git that the card was read from. */
  head: string
  name: string
  description: string
  vault_id: string | null
  published: number
  require_pull_requests: number
  created_at: string
  updated_at: string
}

/** A member of an organisation. Permission checks use the index of the organisation's cell instead. */
export interface OrgMember {
  org_id: string
  user_id: string
  role: Role
  /** From the member file, which may be older than the account. */
  email: string
  name: string
}

/** A user of another service who signs in to an account. `issuer` and `subject` together are unique. */
export interface Identity {
  /** UUID v7. */
  id: string
  /** The id of the provider in the configuration, when the user last passed it. */
  provider: string
  issuer: string
  subject: string
  account_id: string
  /** The address that the provider last named. */
  email: string | null
  created_at: string
  /** When the user last passed the provider. */
  confirmed_at: string
}

/** A logout token that was used, so that it works once. */
interface LogoutToken {
  /** The hash of its issuer and id. */
  hash: string
  used_at: string
}

/** The count for one key of a rate limit that all cells share. */
export interface RateCount {
  /** The name of the limit, and the counted caller. */
  key: string
  points: number
  /** When the window ends, in milliseconds since 1970. The clock is that of the cell that began it. */
  expire: number
}

/** A connection or a transaction. */
export type CredentialsDb = Kysely<CredentialsSchema>
