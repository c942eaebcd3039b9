/** The tables of credentials, which cannot be rebuilt, and of the directory of cells. Times are ISO 8601 in UTC, hashes are SHA-256 in hexadecimal. */
import type { Generated, Insertable, Kysely, Selectable } from 'kysely'
import type { Role } from '../derived/schema.ts'

export interface CredentialsSchema {
  account: AccountTable
  session: Session
  refresh_token: RefreshToken
  reset_token: ResetToken
  access_token: AccessToken
  account_address: AccountAddress
  signing_key: SigningKey
  token_key: TokenKey
  deleted_account: DeletedAccount
  invitation: Invitation
  invitation_use: InvitationUse
  pending_membership: PendingMembership
  cell: CellRow
  place: PlaceRow
  org_card: OrgCard
  org_member: OrgMember
  rate_count: RateCount
}

interface AccountTable {
  /** UUID v7. */
  id: string
  email: string
  /** `emailKey(email)`: unique. */
  email_key: string
  name: string
  password_hash: string
  created_at: string
  /** The id that the personal organisation has, or will have. */
  org_id: string
  /** When the account was disabled; null: it is not disabled. */
  disabled_at: Generated<string | null>
  /** The administrator's words. */
  disabled_reason: Generated<string | null>
  /** 1: manages accounts; gives access to no content. */
  is_admin: Generated<0 | 1>
  /** 1: Git has an address that receives no mail in place of the e-mail. */
  hide_email: Generated<0 | 1>
  /** 1: e-mail or name have changed, and files of members may still have the former ones. */
  members_behind: Generated<0 | 1>
  /** Exact to about an hour. */
  last_seen_at: Generated<string | null>
}

export type Account = Selectable<AccountTable>
export type NewAccountRow = Insertable<AccountTable>

/** The refresh tokens of one login, which replace one another. */
export interface Session {
  id: string
  account_id: string
  created_at: string
  revoked_at: string | null
  /** Exact to about a minute; null: a version before these columns has opened the session. */
  last_used_at: string | null
  /** What the client says of itself, at most 200 characters. */
  user_agent: string | null
  /** Where it was opened: the first 24 bits of an IPv4 address, 48 of an IPv6 one, as a network. */
  address: string | null
  method: 'password' | 'reset' | null
  /** Of the secret in a browser's cookie, unique; null: the session goes on by refresh tokens. */
  cookie_hash: string | null
}

export interface RefreshToken {
  hash: string
  session_id: string
  created_at: string
  expires_at: string
  used_at: string | null
  /** The next token, encrypted with the one that it replaces, so that this row alone does not reveal it. */
  successor: string | null
}

export interface ResetToken {
  hash: string
  account_id: string
  expires_at: string
  used_at: string | null
}

/** A personal access token: what a script or `git` shows instead of a password. Revoking deletes the row. */
export interface AccessToken {
  /** UUID v7. */
  id: string
  /** Unique. */
  hash: string
  account_id: string
  name: string
  access: 'read' | 'write'
  /** Null: all organisations of the person. */
  org_id: string | null
  /** Never without `org_id`. */
  node_id: string | null
  /** The last characters of the secret, by which people recognise a token. */
  hint: string
  created_at: string
  expires_at: string | null
  /** Exact to about a minute. */
  last_used_at: string | null
}

/** Where an account was signed in to, or its session prolonged. */
interface AccountAddress {
  account_id: string
  /** As text; of IPv6 the network. */
  address: string
  /** The last time. */
  seen_at: string
}

/** One row: the issuer, and the first of the keys as versions before `token_key` read it. */
export interface SigningKey {
  id: 1
  /** JSON of the private JWK. */
  jwk: string
  /** Issuer and audience unless PUBLIC_URL names them. */
  issuer: string
  created_at: string
}

/** A key that signs tokens, or has signed some. */
export interface TokenKey {
  kid: string
  /** JSON of the private JWK. */
  jwk: string
  created_at: string
  /** It signs from then on, until another does. */
  active_from: string
  /** It verifies until then; null: no other takes its place yet. */
  retired_at: string | null
}

/** Of whom no mirror or backup makes an account again. */
interface DeletedAccount {
  id: string
  deleted_at: string
}

/** Lets people sign up, and join an organisation. */
export interface Invitation {
  /** UUID v7. */
  id: string
  /** Unique. */
  hash: string
  /** Null: only to sign up. */
  org_id: string | null
  /** Null without `org_id`. */
  role: Role | null
  /** `emailKey` of the only person who may use it; null: anyone may. */
  email_key: string | null
  uses_left: number
  expires_at: string
  /** The owner's account, who must be one still; null: the operator. */
  created_by: string | null
  created_at: string
}

/** People for whom an invitation has ended: they used it, or an owner lowered their role after its creation. */
interface InvitationUse {
  invitation_id: string
  account_id: string
  used_at: string
}

/** One that has an organisation: the table allows neither column without the other. */
export type OrgInvitation = Invitation & { role: Role }

/** A membership that an invitation has given, until org.git has it. */
export interface PendingMembership {
  account_id: string
  org_id: string
  role: Role
  /** As `created_by` of the invitation. */
  invited_by: string | null
  created_at: string
}

/** A service with a data folder of its own, one of several on one database. */
export interface CellRow {
  name: string
  /** Where the others reach it. */
  url: string
  /** Which of those that had its name has the lease; grows by one with each. */
  epoch: number
  /** When the lease ends: milliseconds since 1970 by the clock of the database. */
  until: number
  /** 1: takes new organisations. */
  open: 0 | 1
  /** Its share of the new organisations among the cells that take some. */
  weight: number
}

/** Which cell has the folder of an organisation. */
export interface PlaceRow {
  org_id: string
  cell: string
  /** How often it has moved. */
  epoch: number
  /** `making`: claimed, before the folder is there. `gone`: deleted for ever; the row stays. */
  state: 'making' | 'here' | 'moving' | 'gone'
  /** The cell that it moves to. */
  target: string | null
  /** When the state began: milliseconds since 1970 by the clock of the database. */
  since: number
}

/** An organisation as lists of one's organisations show it; follows org.git as the index does. */
export interface OrgCard {
  org_id: string
  /** The commit of org.git that it was read from. */
  head: string
  name: string
  description: string
  vault_id: string | null
  published: number
  require_pull_requests: number
  created_at: string
  updated_at: string
}

/** Who is in an organisation; rights are judged by the index of its cell. */
export interface OrgMember {
  org_id: string
  user_id: string
  role: Role
  /** As the member file has it: it may be behind the account. */
  email: string
  name: string
}

/** Of a key of a limit that all cells count together. */
export interface RateCount {
  /** The name of the limit and whom it counts. */
  key: string
  points: number
  /** When its window ends: milliseconds since 1970 by the clock of the cell that began it. */
  expire: number
}

/** A connection or a transaction. */
export type CredentialsDb = Kysely<CredentialsSchema>
