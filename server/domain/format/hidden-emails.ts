/**
 * E-mail addresses in Git for users who hide theirs. They receive no mail, because `.invalid` is reserved.
 * Source: RFC 2606 §2.
 */

import { createHash } from 'node:crypto'
import { cleanPersonName } from '../../../gitstore/names.ts'
import { isId } from '../layout.ts'

const domain = '@users.noreply.invalid'

interface Addressed {
  readonly id: string
  readonly email: string
  readonly hide_email: 0 | 1
}

/**
 * The e-mail address of an account in commits, ledgers and member files. It is the hidden one if Git would change the
 * address, perhaps into another user's. Accounts of earlier versions have such addresses.
 */
export function emailInGit({ id, email, hide_email }: Addressed): string {
  return hide_email === 1 || !isKeptByGit(email) ? hiddenEmail(id) : email
}

/** True if commits have the address as it is. Git drops quotes and other characters at its ends. */
export function isKeptByGit(email: string): boolean {
  return cleanPersonName(email) === email
}

/** The address as authors of commits are compared: as Git keeps it, in lower case. */
export function comparableEmail(email: string): string {
  return cleanPersonName(email).toLowerCase()
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
  return createHash('sha256').update(comparableEmail(email)).digest('hex')
}
