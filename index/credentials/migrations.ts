/** The migrations of credentials. SQLite and PostgreSQL share one list. */
import { type Kysely, type Migration, PostgresAdapter, sql } from 'kysely'

function isPostgres(db: Kysely<unknown>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}

/** The keywords that differ between the engines. Both sort strings by their bytes. */
function wordsOf(db: Kysely<unknown>) {
  const word = (sqlite: string, postgres: string) => sql.raw(isPostgres(db) ? postgres : sqlite)
  return {
    text: word('text', 'text collate "C"'),
    strict: word('strict', ''),
    /** For short rows that are read by their key. */
    keyed: word('strict, without rowid', ''),
    /** Milliseconds since 1970, in 64 bits. */
    milliseconds: word('integer', 'bigint'),
    /** A count, in 64 bits. */
    count: word('integer', 'bigint'),
    /** The id in a private JWK. */
    kid: word("json_extract(jwk, '$.kid')", "jwk::json ->> 'kid'"),
  }
}

export const credentialsMigrations: Record<string, Migration> = {
  '001_accounts': {
    async up(db) {
      const { text, strict } = wordsOf(db)
      await sql`
        create table account (
          id ${text} primary key,
          email ${text} not null,
          email_key ${text} not null unique,
          name ${text} not null,
          password_hash ${text} not null,
          created_at ${text} not null,
          org_id ${text} not null
        ) ${strict}`.execute(db)
      await sql`
        create table session (
          id ${text} primary key,
          account_id ${text} not null references account (id) on delete cascade,
          created_at ${text} not null,
          revoked_at ${text}
        ) ${strict}`.execute(db)
      await sql`create index session_account on session (account_id)`.execute(db)
      await sql`
        create table refresh_token (
          hash ${text} primary key,
          session_id ${text} not null references session (id) on delete cascade,
          created_at ${text} not null,
          expires_at ${text} not null,
          used_at ${text},
          successor ${text}
        ) ${strict}`.execute(db)
      await sql`create index refresh_token_session on refresh_token (session_id)`.execute(db)
      await sql`create index refresh_token_expiry on refresh_token (expires_at)`.execute(db)
      await sql`
        create table reset_token (
          hash ${text} primary key,
          account_id ${text} not null references account (id) on delete cascade,
          expires_at ${text} not null,
          used_at ${text}
        ) ${strict}`.execute(db)
      await sql`create index reset_token_account on reset_token (account_id)`.execute(db)
      await sql`
        create table signing_key (
          id integer primary key check (id = 1),
          jwk ${text} not null,
          issuer ${text} not null,
          created_at ${text} not null
        ) ${strict}`.execute(db)
    },
  },
  '002_access_tokens': {
    async up(db) {
      const { text, strict } = wordsOf(db)
      await sql`
        create table access_token (
          id ${text} primary key,
          hash ${text} not null unique,
          account_id ${text} not null references account (id) on delete cascade,
          name ${text} not null,
          access ${text} not null check (access in ('read', 'write')),
          org_id ${text},
          node_id ${text} check (node_id is null or org_id is not null),
          hint ${text} not null,
          created_at ${text} not null,
          expires_at ${text},
          last_used_at ${text}
        ) ${strict}`.execute(db)
      await sql`create index access_token_account on access_token (account_id, created_at, id)`.execute(db)
    },
  },
  '003_account_addresses': {
    async up(db) {
      const { text, keyed } = wordsOf(db)
      await sql`
        create table account_address (
          account_id ${text} not null references account (id) on delete cascade,
          address ${text} not null,
          seen_at ${text} not null,
          primary key (account_id, address)
        ) ${keyed}`.execute(db)
    },
  },
  '004_token_keys': {
    async up(db) {
      const { text, keyed, kid } = wordsOf(db)
      await sql`
        create table token_key (
          kid ${text} primary key,
          jwk ${text} not null,
          created_at ${text} not null,
          active_from ${text} not null,
          retired_at ${text}
        ) ${keyed}`.execute(db)
      await sql`
        insert into token_key (kid, jwk, created_at, active_from)
        select ${kid}, jwk, created_at, created_at from signing_key`.execute(db)
    },
  },
  '005_account_states': {
    async up(db) {
      const { text, keyed } = wordsOf(db)
      for (const column of [
        sql`account add column disabled_at ${text}`,
        sql`account add column disabled_reason ${text}`,
        sql`account add column is_admin integer not null default 0 check (is_admin in (0, 1))`,
        sql`account add column hide_email integer not null default 0 check (hide_email in (0, 1))`,
        sql`account add column members_behind integer not null default 0 check (members_behind in (0, 1))`,
        sql`account add column last_seen_at ${text}`,
        sql`session add column last_used_at ${text}`,
        sql`session add column user_agent ${text}`,
        sql`session add column address ${text}`,
        sql`session add column method ${text}`,
      ])
        await sql`alter table ${column}`.execute(db)
      await sql`create index account_members_behind on account (id) where members_behind = 1`.execute(db)
      await sql`create table deleted_account (id ${text} primary key, deleted_at ${text} not null) ${keyed}`.execute(db)
      await sql`
        create table invitation (
          id ${text} primary key,
          hash ${text} not null unique,
          org_id ${text},
          role ${text} check ((role is null) = (org_id is null)),
          email_key ${text},
          uses_left integer not null check (uses_left >= 0),
          expires_at ${text} not null,
          created_by ${text},
          created_at ${text} not null
        ) ${keyed}`.execute(db)
      await sql`create index invitation_org on invitation (org_id, created_at, id)`.execute(db)
      await sql`
        create table pending_membership (
          account_id ${text} not null references account (id) on delete cascade,
          org_id ${text} not null,
          role ${text} not null,
          invited_by ${text},
          created_at ${text} not null,
          primary key (account_id, org_id)
        ) ${keyed}`.execute(db)
    },
  },
  '006_browser_sessions': {
    async up(db) {
      const { text } = wordsOf(db)
      await sql`alter table session add column cookie_hash ${text}`.execute(db)
      await sql`create unique index session_cookie on session (cookie_hash) where cookie_hash is not null`.execute(db)
    },
  },
  // SQLite also gets these tables, although no query uses them there. A backup is a credentials.sqlite, and it must
  // record which organisations were deleted.
  '007_cells': {
    async up(db) {
      const { text, keyed, milliseconds } = wordsOf(db)
      await sql`
        create table cell (
          name ${text} primary key,
          url ${text} not null,
          epoch integer not null check (epoch >= 0),
          until ${milliseconds} not null,
          open integer not null check (open in (0, 1)),
          weight integer not null check (weight >= 0)
        ) ${keyed}`.execute(db)
      await sql`
        create table place (
          org_id ${text} primary key,
          cell ${text} not null references cell (name),
          epoch integer not null check (epoch >= 0),
          state ${text} not null check (state in ('making', 'here', 'moving', 'gone')),
          target ${text} references cell (name),
          since ${milliseconds} not null
        ) ${keyed}`.execute(db)
      await sql`create index place_cell on place (cell, state, org_id)`.execute(db)
      await sql`
        create table org_card (
          org_id ${text} primary key,
          head ${text} not null,
          name ${text} not null,
          description ${text} not null,
          vault_id ${text},
          published integer not null check (published in (0, 1)),
          require_pull_requests integer not null check (require_pull_requests in (0, 1)),
          created_at ${text} not null,
          updated_at ${text} not null
        ) ${keyed}`.execute(db)
      await sql`
        create table org_member (
          org_id ${text} not null references org_card (org_id) on delete cascade,
          user_id ${text} not null,
          role ${text} not null,
          email ${text} not null,
          name ${text} not null,
          primary key (org_id, user_id)
        ) ${keyed}`.execute(db)
      await sql`create index org_member_user on org_member (user_id)`.execute(db)
    },
  },
  // The same table that rate-limiter-flexible creates. Its statements rely on the order of the columns.
  '008_rate_counts': {
    async up(db) {
      const { text, keyed, milliseconds } = wordsOf(db)
      await sql`
        create table rate_count (
          key ${text} primary key,
          points integer not null default 0,
          expire ${milliseconds}
        ) ${keyed}`.execute(db)
      await sql`create index rate_count_expiry on rate_count (expire)`.execute(db)
    },
  },
  '009_place_changes': {
    async up(db) {
      await sql`create index place_since on place (since, org_id)`.execute(db)
    },
  },
  // The account is not a foreign key, because a member of a restored organisation may have no account.
  '010_invitation_uses': {
    async up(db) {
      const { text, keyed } = wordsOf(db)
      await sql`
        create table invitation_use (
          invitation_id ${text} not null references invitation (id) on delete cascade,
          account_id ${text} not null,
          used_at ${text} not null,
          primary key (invitation_id, account_id)
        ) ${keyed}`.execute(db)
    },
  },
  '011_read_marks': {
    async up(db) {
      const { text, keyed } = wordsOf(db)
      await sql`
        create table read_mark (
          account_id ${text} not null references account (id) on delete cascade,
          org_id ${text} not null,
          node_id ${text} not null,
          number integer not null,
          entry integer not null,
          muted integer not null check (muted in (0, 1)),
          at ${text} not null,
          primary key (account_id, node_id, number)
        ) ${keyed}`.execute(db)
      await sql`create index read_mark_age on read_mark (at)`.execute(db)
    },
  },
  '012_webhooks': {
    async up(db) {
      const { text, keyed } = wordsOf(db)
      await sql`
        create table webhook (
          id ${text} primary key,
          org_id ${text} not null,
          node_id ${text},
          url ${text} not null,
          types ${text} not null,
          content_type ${text} not null,
          ordered integer not null check (ordered in (0, 1)),
          active integer not null check (active in (0, 1)),
          secret_sealed ${text} not null,
          previous_sealed ${text},
          previous_until ${text},
          created_by ${text} not null,
          created_at ${text} not null
        ) ${keyed}`.execute(db)
      await sql`create index webhook_org on webhook (org_id, created_at, id)`.execute(db)
    },
  },
  '013_follows': {
    async up(db) {
      const { text, keyed } = wordsOf(db)
      await sql`
        create table follow (
          account_id ${text} not null references account (id) on delete cascade,
          org_id ${text} not null,
          node_id ${text} not null,
          scope ${text} not null check (scope in ('node', 'tree')),
          created_at ${text} not null,
          primary key (account_id, org_id, node_id)
        ) ${keyed}`.execute(db)
      await sql`
        create table inbox_mark (
          account_id ${text} not null references account (id) on delete cascade,
          org_id ${text} not null,
          seq integer not null,
          chain ${text} not null,
          read_items ${text} not null,
          at ${text} not null,
          primary key (account_id, org_id)
        ) ${keyed}`.execute(db)
      await sql`
        create table feed_token (
          account_id ${text} primary key references account (id) on delete cascade,
          hash ${text} not null unique,
          created_at ${text} not null
        ) ${keyed}`.execute(db)
    },
  },
  // SQLite cannot change a check, so the table is replaced.
  '014_propose': {
    async up(db) {
      if (isPostgres(db)) {
        await sql`alter table access_token drop constraint access_token_access_check`.execute(db)
        await sql`
          alter table access_token add constraint access_token_access_check
          check (access in ('read', 'propose', 'write'))`.execute(db)
        return
      }
      await sql`
        create table access_token_new (
          id text primary key,
          hash text not null unique,
          account_id text not null references account (id) on delete cascade,
          name text not null,
          access text not null check (access in ('read', 'propose', 'write')),
          org_id text,
          node_id text check (node_id is null or org_id is not null),
          hint text not null,
          created_at text not null,
          expires_at text,
          last_used_at text
        ) strict`.execute(db)
      await sql`insert into access_token_new select * from access_token`.execute(db)
      await sql`drop table access_token`.execute(db)
      await sql`alter table access_token_new rename to access_token`.execute(db)
      await sql`create index access_token_account on access_token (account_id, created_at, id)`.execute(db)
    },
  },
  '015_connections': {
    async up(db) {
      const { text, keyed } = wordsOf(db)
      await sql`
        create table oauth_grant (
          id ${text} primary key,
          account_id ${text} not null references account (id) on delete cascade,
          client_id ${text} not null,
          client_name ${text} not null,
          access ${text} not null check (access in ('read', 'propose', 'write')),
          org_id ${text},
          node_id ${text} check (node_id is null or org_id is not null),
          resource ${text} not null check (resource in ('api', 'mcp')),
          method ${text} not null check (method in ('none', 'private_key_jwt')),
          created_at ${text} not null,
          last_used_at ${text}
        ) ${keyed}`.execute(db)
      await sql`create index oauth_grant_account on oauth_grant (account_id, created_at, id)`.execute(db)
      await sql`create index oauth_grant_client on oauth_grant (client_id)`.execute(db)
      await sql`
        create table oauth_code (
          hash ${text} primary key,
          grant_id ${text} not null references oauth_grant (id) on delete cascade,
          redirect_uri ${text} not null,
          challenge ${text} not null,
          expires_at ${text} not null,
          used_at ${text}
        ) ${keyed}`.execute(db)
      await sql`create index oauth_code_grant on oauth_code (grant_id)`.execute(db)
      await sql`create index oauth_code_expiry on oauth_code (expires_at)`.execute(db)
      await sql`
        create table oauth_token (
          hash ${text} primary key,
          grant_id ${text} not null references oauth_grant (id) on delete cascade,
          kind ${text} not null check (kind in ('access', 'refresh')),
          created_at ${text} not null,
          expires_at ${text} not null,
          used_at ${text},
          successor ${text}
        ) ${keyed}`.execute(db)
      await sql`create index oauth_token_grant on oauth_token (grant_id)`.execute(db)
      await sql`create index oauth_token_expiry on oauth_token (expires_at)`.execute(db)
      await sql`
        create table oauth_client (
          id ${text} primary key,
          document ${text} not null,
          fetched_at ${text} not null,
          fresh_until ${text} not null
        ) ${keyed}`.execute(db)
    },
  },
  '016_identities': {
    async up(db) {
      const { text, keyed } = wordsOf(db)
      await sql`
        create table identity (
          id ${text} primary key,
          provider ${text} not null,
          issuer ${text} not null,
          subject ${text} not null,
          account_id ${text} not null references account (id) on delete cascade,
          email ${text},
          created_at ${text} not null,
          confirmed_at ${text} not null,
          unique (issuer, subject)
        ) ${keyed}`.execute(db)
      await sql`create index identity_account on identity (account_id, created_at, id)`.execute(db)
      await sql`create table logout_token (hash ${text} primary key, used_at ${text} not null) ${keyed}`.execute(db)
      for (const column of [
        sql`account add column has_password integer not null default 1 check (has_password in (0, 1))`,
        sql`account add column email_verified_at ${text}`,
        sql`account add column has_identity integer not null default 0 check (has_identity in (0, 1))`,
        sql`session add column identity_id ${text} references identity (id) on delete set null`,
        sql`session add column confirmed_at ${text}`,
      ])
        await sql`alter table ${column}`.execute(db)
      await sql`create index session_identity on session (identity_id) where identity_id is not null`.execute(db)
    },
  },
  '017_bots': {
    async up(db) {
      const { text } = wordsOf(db)
      for (const column of [
        sql`kind ${text} not null default 'person' check (kind in ('person', 'bot'))`,
        sql`owner_org_id ${text}`,
        sql`created_by ${text}`,
      ])
        await sql`alter table account add column ${column}`.execute(db)
      await sql`create index account_owner on account (owner_org_id, created_at, id) where owner_org_id is not null`.execute(
        db,
      )
    },
  },
  // The address of a mail need not have an account: who asks for a new password gives any.
  '018_mail': {
    async up(db) {
      const { text, keyed, milliseconds } = wordsOf(db)
      await sql`
        create table mail (
          id ${text} primary key,
          kind ${text} not null,
          account_id ${text} references account (id) on delete cascade,
          address ${text} not null,
          fields ${text} not null,
          cell ${text},
          created_at ${text} not null,
          next_at ${milliseconds} not null,
          attempts integer not null,
          claimed_by ${text},
          claimed_until ${milliseconds} not null,
          failed_at ${text},
          error ${text}
        ) ${keyed}`.execute(db)
      await sql`create index mail_due on mail (next_at) where failed_at is null`.execute(db)
      await sql`create index mail_account on mail (account_id)`.execute(db)
    },
  },
  // Two cells share the rows, so that an organisation keeps its limits when it moves.
  '019_quotas': {
    async up(db) {
      const { text, keyed, count } = wordsOf(db)
      await sql`
        create table org_limit (
          org_id ${text} primary key,
          max_nodes ${count},
          max_bytes ${count}
        ) ${keyed}`.execute(db)
    },
  },
  '020_email': {
    async up(db) {
      const { text, keyed, milliseconds } = wordsOf(db)
      await sql`
        create table email_token (
          hash ${text} primary key,
          account_id ${text} not null references account (id) on delete cascade,
          kind ${text} not null check (kind in ('verify', 'new_address', 'undo', 'digest')),
          email ${text} not null,
          email_key ${text} not null,
          expires_at ${text} not null,
          used_at ${text}
        ) ${keyed}`.execute(db)
      await sql`create index email_token_account on email_token (account_id)`.execute(db)
      await sql`create index email_token_key on email_token (email_key)`.execute(db)
      await sql`create index email_token_expiry on email_token (expires_at)`.execute(db)
      await sql`
        alter table account add column digest ${text} check (digest in ('daily', 'weekly'))`.execute(db)
      await sql`create index account_digest on account (id) where digest is not null`.execute(db)
      await sql`
        create table digest_turn (
          account_id ${text} primary key references account (id) on delete cascade,
          next_at ${milliseconds} not null,
          since ${text} not null
        ) ${keyed}`.execute(db)
      await sql`create index digest_turn_due on digest_turn (next_at)`.execute(db)
    },
  },
  '021_assertions': {
    async up(db) {
      const { text, keyed } = wordsOf(db)
      await sql`create table oauth_assertion (hash ${text} primary key, expires_at ${text} not null) ${keyed}`.execute(
        db,
      )
      await sql`create index oauth_assertion_expiry on oauth_assertion (expires_at)`.execute(db)
    },
  },
  '022_webhook_keepers': {
    async up(db) {
      const { text } = wordsOf(db)
      for (const column of ['kept_by', 'kept_via'])
        await sql`alter table webhook add column ${sql.ref(column)} ${text}`.execute(db)
    },
  },
  // An older version left members with a role that it does not know out of its cards. They are read again.
  '023_cards_again': {
    async up(db) {
      await sql`update org_card set head = ${'0'.repeat(40)}`.execute(db)
    },
  },
  '024_notifications': {
    async up(db) {
      const { text } = wordsOf(db)
      await sql`alter table account add column notifications ${text}`.execute(db)
    },
  },
  '025_read_heads': {
    async up(db) {
      const { text } = wordsOf(db)
      await sql`alter table read_mark add column head ${text}`.execute(db)
    },
  },
}
