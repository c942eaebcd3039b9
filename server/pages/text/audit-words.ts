/** Words for actions of the audit. Events and unknown actions are called by their names. */

const words: Readonly<Record<string, string>> = {
  'auth.sign_in': 'Signed in',
  'auth.failed': 'Failed to sign in',
  'auth.sign_out': 'Signed out',
  'auth.password_changed': 'Changed the password',
  'auth.reset_issued': 'Issued a link to reset the password',
  'auth.reset_used': 'Reset the password',
  'auth.refresh_reused': 'Used a session token again, which may be stolen',
  'auth.session_revoked': 'Ended sessions',
  'token.created': 'Created a token',
  'token.revoked': 'Revoked a token',
  'token.first_used': 'Used a token',
  'token.refused': 'Used a token outside its scope',
  'account.created': 'Created the account',
  'account.email_changed': 'Changed the e-mail address',
  'account.disabled': 'Disabled the account',
  'account.enabled': 'Enabled the account',
  'account.admin_granted': 'Made the user an administrator',
  'account.admin_revoked': 'Made the user an ordinary user',
  'invitation.created': 'Created an invitation',
  'invitation.used': 'Joined with an invitation',
  'invitation.revoked': 'Revoked an invitation',
  'member.granted': 'Gave a role',
  'git.fetched': 'Cloned or fetched a page',
  'git.refused': 'Was refused by Git',
  'org.cloned': 'Cloned the repository of the organisation',
  'org.exported': 'Exported pages',
  'org.imported': 'Imported pages',
  'node.restored': 'Restored a page',
  'trash.purged': 'Removed from the trash for good',
  'text.erased': 'Erased a text',
  'webhook.created': 'Created a webhook',
  'webhook.updated': 'Changed a webhook',
  'webhook.deleted': 'Deleted a webhook',
  'webhook.rotated': 'Replaced the secret of a webhook',
  'webhook.disabled': 'Turned off a webhook',
}

export function auditWords(action: string): string {
  return words[action] ?? action
}
