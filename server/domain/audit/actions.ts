/** The actions of the audit. Events have their own types, and are listed with them. */

export const auditActions = [
  'auth.sign_in',
  'auth.failed',
  'auth.sign_out',
  'auth.password_changed',
  'auth.reset_issued',
  'auth.reset_used',
  'auth.refresh_reused',
  'auth.session_revoked',
  'token.created',
  'token.revoked',
  'token.first_used',
  'token.refused',
  'account.created',
  'account.email_changed',
  'account.disabled',
  'account.enabled',
  'account.deleted',
  'account.admin_granted',
  'account.admin_revoked',
  'invitation.created',
  'invitation.used',
  'invitation.revoked',
  'member.granted',
  'git.fetched',
  'git.refused',
  'org.cloned',
  'org.exported',
  'org.imported',
  'node.restored',
  'trash.purged',
  'text.erased',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'webhook.rotated',
  'webhook.disabled',
  'keys.rotated',
  'config.changed',
  'data.restored',
] as const

export type AuditAction = (typeof auditActions)[number]

/** Actions that give or take rights, or delete. Their rows are durable before the answer. */
const urgent: ReadonlySet<AuditAction> = new Set<AuditAction>([
  'auth.password_changed',
  'auth.reset_issued',
  'auth.reset_used',
  'token.created',
  'account.created',
  'account.email_changed',
  'account.disabled',
  'account.enabled',
  'account.deleted',
  'account.admin_granted',
  'account.admin_revoked',
  'invitation.created',
  'invitation.used',
  'member.granted',
  'trash.purged',
  'text.erased',
  'webhook.created',
  'webhook.deleted',
  'webhook.rotated',
  'keys.rotated',
])

export function isUrgent(action: AuditAction): boolean {
  return urgent.has(action)
}
