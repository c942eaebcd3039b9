/**
 * The catalog of the actions of the audit. Events have their own types, and are listed with them.
 *
 * A new action is a row here and the call of `audit` that records it. `npm run generate` writes the table of
 * spec/README.md.
 */

interface ActionRow {
  /** The act, as pages say it. */
  readonly says: string
  /** It gives or takes rights, or deletes. Its row is durable before the answer. */
  readonly isUrgent?: true
}

/** Actions that the documents explain together. */
interface Group {
  /** When they are recorded, in Markdown. */
  readonly when: string
  readonly actions: Readonly<Record<string, ActionRow>>
}

const groups = [
  {
    when: 'A session begins or ends. Failures of one account and IP address are one entry an hour, with `count`. The e-mail address of an unknown account is only there as a hash.',
    actions: {
      'auth.sign_in': { says: 'Signed in' },
      'auth.failed': { says: 'Failed to sign in' },
      'auth.sign_out': { says: 'Signed out' },
    },
  },
  {
    when: 'A password changes, or a mail or an administrator makes that possible.',
    actions: {
      'auth.password_changed': { says: 'Changed the password', isUrgent: true },
      'auth.reset_asked': { says: 'Asked for a mail to set a new password' },
      'auth.reset_issued': { says: 'Issued a link to reset the password', isUrgent: true },
      'auth.reset_used': { says: 'Reset the password', isUrgent: true },
    },
  },
  {
    when: 'A used refresh token comes again, which may be stolen. A user ends sessions.',
    actions: {
      'auth.refresh_reused': { says: 'Used a session token again, which may be stolen' },
      'auth.session_revoked': { says: 'Ended sessions' },
    },
  },
  {
    when: 'A user passed a provider and was refused, one entry an hour. A provider ended the sessions of a user.',
    actions: {
      'auth.provider_refused': { says: 'Was refused after signing in at another service' },
      'auth.provider_sign_out': { says: 'Ended sessions, because the user signed out at another service' },
    },
  },
  {
    when: 'A user linked or removed a provider through which they sign in.',
    actions: {
      'identity.linked': { says: 'Linked a way to sign in', isUrgent: true },
      'identity.removed': { says: 'Removed a way to sign in', isUrgent: true },
    },
  },
  {
    when: 'A personal access token: its first use of a day from an IP address, and uses outside its scope.',
    actions: {
      'token.created': { says: 'Created a token', isUrgent: true },
      'token.revoked': { says: 'Revoked a token' },
      'token.first_used': { says: 'Used a token' },
      'token.refused': { says: 'Used a token outside its scope' },
    },
  },
  {
    when: 'A program that a user has connected: that it was allowed, ended, used from a new IP address, or refused. `connection.reused`: its code or refresh token was used twice, so its connection ended.',
    actions: {
      'connection.created': { says: 'Connected a program', isUrgent: true },
      'connection.ended': { says: 'Ended the connection of a program' },
      'connection.first_used': { says: 'Used the connection of a program' },
      'connection.refused': { says: 'Used the connection of a program outside its scope' },
      'connection.reused': {
        says: 'Ended the connection of a program, because its token was used twice',
        isUrgent: true,
      },
    },
  },
  {
    when: 'The token in the URL of an inbox feed.',
    actions: {
      'feed_token.created': { says: 'Created the URL of an inbox feed' },
      'feed_token.ended': { says: 'Ended the URL of an inbox feed' },
    },
  },
  {
    when: 'An account changes.',
    actions: {
      'account.created': { says: 'Created the account', isUrgent: true },
      'account.email_changed': { says: 'Changed the e-mail address', isUrgent: true },
      'account.email_verified': { says: 'Confirmed the e-mail address', isUrgent: true },
      'account.email_undone': { says: 'Reverted the e-mail address', isUrgent: true },
      'account.disabled': { says: 'Disabled the account', isUrgent: true },
      'account.enabled': { says: 'Enabled the account', isUrgent: true },
      'account.access_ended': { says: 'Ended all sessions and tokens of the account', isUrgent: true },
      'account.deleted': { says: 'Deleted the account', isUrgent: true },
      'account.admin_granted': { says: 'Made the user an administrator', isUrgent: true },
      'account.admin_revoked': { says: 'Made the user an ordinary user', isUrgent: true },
    },
  },
  {
    when: 'A user exports the data of their account.',
    actions: { 'account.exported': { says: 'Exported the data of the account' } },
  },
  {
    when: "An owner manages a bot. `role` and `role_before` are there if the role changes. The bot's own tokens are `token.first_used` and `token.refused`, with the bot as the actor.",
    actions: {
      'bot.created': { says: 'Created a bot', isUrgent: true },
      'bot.changed': { says: 'Changed a bot', isUrgent: true },
      'bot.deleted': { says: 'Deleted a bot', isUrgent: true },
      'bot.token_created': { says: 'Created a token of a bot', isUrgent: true },
      'bot.token_revoked': { says: 'Revoked a token of a bot' },
    },
  },
  {
    when: 'Somebody may join. `member.granted` is `grove member add`.',
    actions: {
      'invitation.created': { says: 'Created an invitation', isUrgent: true },
      'invitation.used': { says: 'Joined with an invitation', isUrgent: true },
      'invitation.revoked': { says: 'Revoked an invitation' },
      'member.granted': { says: 'Gave a role', isUrgent: true },
    },
  },
  {
    when: "Content leaves. A user's fetches of a node are one entry an hour, with `count` and `bytes`. `org.cloned` is the repository of the organisation. `org.imported` is `grove import`, or an import of an archive with `overridden`: an owner created pages in spite of rules.",
    actions: {
      'git.fetched': { says: 'Cloned or fetched a page' },
      'git.refused': { says: 'Was refused by Git' },
      'org.cloned': { says: 'Cloned the repository of the organisation' },
      'org.exported': { says: 'Exported pages' },
      'org.imported': { says: 'Imported pages' },
    },
  },
  {
    when: 'An administrator changes the limits of an organisation.',
    actions: { 'org.limited': { says: 'Changed the limits of the organisation' } },
  },
  {
    when: 'Content comes back, or is gone for good.',
    actions: {
      'node.restored': { says: 'Restored a page' },
      'trash.purged': { says: 'Removed from the trash for good', isUrgent: true },
      'text.erased': { says: 'Erased a text', isUrgent: true },
    },
  },
  {
    when: 'A webhook changes. The event `webhook.enabled` says that one was enabled again. `host` is that of its URL, and `host_before` the one before; the rest of a URL is never there.',
    actions: {
      'webhook.created': { says: 'Created a webhook', isUrgent: true },
      'webhook.updated': { says: 'Changed a webhook' },
      'webhook.deleted': { says: 'Deleted a webhook', isUrgent: true },
      'webhook.rotated': { says: 'Replaced the secret of a webhook', isUrgent: true },
      'webhook.disabled': { says: 'Turned off a webhook' },
    },
  },
  {
    when: 'The operator changes the service. `config.changed` has names of settings and hashes.',
    actions: {
      'keys.rotated': { says: 'Replaced the keys of the service', isUrgent: true },
      'config.changed': { says: 'Changed the configuration' },
      'data.restored': { says: 'Restored the data' },
    },
  },
] as const satisfies readonly Group[]

type ActionsOf<One> = One extends { readonly actions: infer Actions } ? keyof Actions : never

export type AuditAction = ActionsOf<(typeof groups)[number]>

export const auditGroups: readonly Group[] = groups

export const auditCatalog = Object.fromEntries(
  auditGroups.flatMap(({ actions }) => Object.entries(actions)),
) as Readonly<Record<AuditAction, ActionRow>> // each is in a group

export const auditActions = Object.keys(auditCatalog) as readonly AuditAction[] // they are its keys
