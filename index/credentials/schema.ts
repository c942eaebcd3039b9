/** The tables of `credentials.sqlite`, which cannot be rebuilt. Times are ISO 8601 in UTC, hashes are SHA-256 in hexadecimal. */
import type { Kysely } from 'kysely'

export interface CredentialsSchema {
  account: Account
  session: Session
  refresh_token: RefreshToken
  reset_token: ResetToken
  access_token: AccessToken
  account_address: AccountAddress
  signing_key: SigningKey
  token_key: TokenKey
}

export interface Account {
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
}

/** The refresh tokens of one login, which replace one another. */
export interface Session {
  id: string
  account_id: string
  created_at: string
  revoked_at: string | null
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

/** A connection or a transaction. */
export type CredentialsDb = Kysely<CredentialsSchema>
