/** The address that stands in Git for a person who hides theirs. It receives no mail: `.invalid` is reserved (RFC 2606 §2). */

import { isId } from '../layout.ts'

const domain = '@users.noreply.invalid'

interface Addressed {
  readonly id: string
  readonly email: string
  readonly hide_email: 0 | 1
}

/** What commits, ledgers and member files have of an account's e-mail. */
export function emailInGit({ id, email, hide_email }: Addressed): string {
  return hide_email === 1 ? `${id}${domain}` : email
}

export function isHiddenEmail(email: string): boolean {
  return email.toLowerCase().endsWith(domain)
}

/** The account for which the address stands; undefined for any other address. */
export function parseHiddenEmail(email: string): string | undefined {
  const id = email.toLowerCase().slice(0, -domain.length)
  return isHiddenEmail(email) && isId(id) ? id : undefined
}
