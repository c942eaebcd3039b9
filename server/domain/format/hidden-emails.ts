/**
 * E-mail addresses in Git for users who hide theirs. They receive no mail, because `.invalid` is reserved.
 * Source: RFC 2606 §2.
 */

import { createHash } from 'node:crypto'
import { isId } from '../layout.ts'

const domain = '@users.noreply.invalid'

interface Addressed {
  readonly id: string
  readonly email: string
  readonly hide_email: 0 | 1
}

/** The e-mail address of an account in commits, ledgers and member files. */
export function emailInGit({ id, email, hide_email }: Addressed): string {
  return hide_email === 1 ? hiddenEmail(id) : email
}

/** The address that hides the one of an account. */
export function hiddenEmail(id: string): string {
  return `${id}${domain}`
}

export function isHiddenEmail(email: string): boolean {
  return email.toLowerCase().endsWith(domain)
}

/** The account id in a hidden address; undefined for any other address. */
export function parseHiddenEmail(email: string): string | undefined {
  const id = email.toLowerCase().slice(0, -domain.length)
  return isHiddenEmail(email) && isId(id) ? id : undefined
}

/** Hashes an earlier address for member files, so that they do not show it. */
export function hashOfEmail(email: string): string {
  return createHash('sha256').update(email.toLowerCase()).digest('hex')
}
