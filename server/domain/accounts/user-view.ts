/** A user's account, without its secrets. */

import type { Profile } from '../../../index/credentials/accounts.ts'
import type { Person } from '../actor.ts'
import { emailInGit } from '../format/hidden-emails.ts'
import { findAnyOrg } from '../indexing/freshness.ts'
import type { Services } from '../services.ts'
import { type Notifications, parseNotifications } from './notifications.ts'

export interface User {
  readonly id: string
  readonly email: string
  readonly name: string
  readonly created_at: string
  /** The personal organisation. Absent after it is deleted. */
  readonly org_id?: string
  /** Present if true. */
  readonly hide_email?: true
  /** Present if true. */
  readonly is_admin?: true
  /** Present if true. */
  readonly is_bot?: true
  /** Present if true. */
  readonly email_verified?: true
  /** How often the inbox is mailed. Absent: never. */
  readonly digest?: 'daily' | 'weekly'
  /** How events come that do not come by mail. Absent if all do. */
  readonly notifications?: Notifications
  /** Present if the account has no password. */
  readonly has_password?: false
}

export async function userOf(deps: Services, profile: Profile): Promise<User> {
  const { id, email, name, created_at, org_id, hide_email, is_admin, kind, has_password, email_verified_at, digest } =
    profile
  const notifications = parseNotifications(profile.notifications)
  const hasOrg =
    (await findAnyOrg(deps, org_id)) !== undefined || (await deps.placement.findElsewhere(org_id)) !== undefined
  return {
    id,
    email,
    name,
    created_at,
    ...(hasOrg ? { org_id } : {}),
    ...(hide_email === 1 ? { hide_email: true } : {}),
    ...(is_admin === 1 ? { is_admin: true } : {}),
    ...(kind === 'bot' ? { is_bot: true } : {}),
    ...(email_verified_at !== null ? { email_verified: true } : {}),
    ...(digest !== null ? { digest } : {}),
    ...(Object.keys(notifications).length > 0 ? { notifications } : {}),
    ...(has_password === 0 ? { has_password: false } : {}),
  }
}

export function personOf(profile: Profile): Person {
  const { id, name, is_admin, kind } = profile
  const bot = kind === 'bot' ? ({ isBot: true } as const) : {}
  return { kind: 'person', id, email: emailInGit(profile), name, isAdmin: is_admin === 1, ...bot }
}
