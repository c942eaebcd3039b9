/** The roles of members, as forms offer them. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { Answers } from '../kit/controls.tsx'

export type Role = AnswerOf<'listMembers'>['members'][number]['role']

/** All roles. Each may do all that those before it may. */
export const roles: readonly Role[] = ['reader', 'contributor', 'editor', 'maintainer', 'owner']

/** The roles as answers to the question whether members propose or publish. */
export const roleAnswers = [
  ['contributor', 'Propose (contributor)', 'People review each change before it is published.'],
  ['editor', 'Publish (editor)', 'Changes are published at once, unless a rule asks for a review.'],
  ['reader', 'Read only (reader)', 'Can read, and change nothing.'],
  [
    'maintainer',
    'Maintain (maintainer)',
    'Also publishes what editors may only propose, deletes pages and defines types.',
  ],
  ['owner', 'Manage (owner)', 'Also manages members, rules and settings.'],
] as const satisfies Answers<Role>

/** The role with its article. */
export function aRole(role: Role): string {
  return `${/^[eo]/.test(role) ? 'an' : 'a'} ${role}`
}
