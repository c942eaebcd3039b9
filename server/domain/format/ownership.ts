/**
 * The branches and pull requests that belong to one user. Contributors may change only these.
 *
 * A user's own branches are below `users/<12 hex digits>/`. The digits are the last twelve of the user's id, because
 * they are random. The first ones are a time, which users of the same moment share. Names and e-mail addresses can
 * change, and then belong to another user. People type these names, so the whole id would be too long.
 */

import { branchRef } from '../layout.ts'
import { parseHiddenEmail } from './hidden-emails.ts'
import type { Author } from './signatures.ts'

/** A signed-in user. */
interface User {
  readonly id: string
  /** The e-mail address for Git. */
  readonly email: string
}

/** A pull request, by the user who opened it. */
export interface Opened {
  readonly author: Author
  /** Absent if an older version opened it. */
  readonly author_id?: string
}

/** The digits that stand for a user in the names of refs. */
export function digitsOf(userId: string): string {
  return userId.slice(-12)
}

/** The beginning of the names of a user's own branches. It ends with a slash. */
export function ownPrefix(userId: string): string {
  return `users/${digitsOf(userId)}/`
}

/** True if the ref is a branch of the user. `ref` is a full name, which may be invalid or the name of a tag. */
export function isOwnRef(userId: string, ref: string): boolean {
  return ref.startsWith(branchRef(ownPrefix(userId)))
}

/** The beginning of the names of branches for agents, also below a user's own prefix. It ends with a slash. */
export const agentPrefix = 'agent/'

/** True if a token of the user that may only propose may change the ref. `ref` is a full name, as in `isOwnRef`. */
export function isAgentRef(userId: string, ref: string): boolean {
  return [agentPrefix, ownPrefix(userId) + agentPrefix].some((prefix) => ref.startsWith(branchRef(prefix)))
}

/** True if the user opened the pull request. */
export function isOpener({ id, email }: User, { author, author_id }: Opened): boolean {
  if (author_id !== undefined) return author_id === id
  return author.email === email || parseHiddenEmail(author.email) === id
}
