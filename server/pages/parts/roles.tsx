/** The roles of members, as forms offer them. */

import type { AnswerOf } from '../../http/in-process.ts'

export type Role = AnswerOf<'listMembers'>['members'][number]['role']

export const roles: readonly { readonly role: Role; readonly may: string }[] = [
  { role: 'reader', may: 'can read' },
  { role: 'contributor', may: 'can also propose changes' },
  { role: 'editor', may: 'can also edit pages, and merge proposals' },
  { role: 'maintainer', may: 'can also merge when proposals are required' },
  { role: 'owner', may: 'can also manage members and settings' },
]

/** The rights of each role, in words that are complete. */
export const rights: Readonly<Record<Role, string>> = {
  reader: 'Can read',
  contributor: 'Can read and propose changes',
  editor: 'Can edit and propose',
  maintainer: 'Can edit, propose, and merge what needs approval',
  owner: 'Can also manage members and settings',
}

/** The role with its article. */
export function aRole(role: Role): string {
  return `${/^[eo]/.test(role) ? 'an' : 'a'} ${role}`
}

/** The roles as options, each with its permissions. */
export const roleOptions = roles.map(({ role, may }) => [role, `${role}: ${may}`] as const)
