/** The roles of members, as forms offer them. */

import { AppError } from '../../base/errors.ts'
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

/** Reads the role from a form. @throws AppError bad_request */
export function roleOf(form: URLSearchParams): Role {
  const found = roles.find(({ role }) => role === form.get('role'))
  if (found === undefined) throw new AppError('bad_request', 'There is no such role')
  return found.role
}

/** The options of a role selection, each with its permissions. */
export function RoleOptions({ chosen }: { readonly chosen: string | null }) {
  return (
    <>
      {roles.map(({ role, may }) => (
        <option value={role} selected={role === chosen}>
          {role}: {may}
        </option>
      ))}
    </>
  )
}
