/** Valid names and e-mail addresses. */

import { cleanIdentity, withoutCrud } from '../../../gitstore/names.ts'
import { invalid } from '../../errors.ts'

/** The intersection of the HTML standard and RFC 5321 (Dot-string, no quotes, no address literal), with a dotted domain. */
const atom = "[\\w!#$%&'*+/=?^`{|}~-]+"
const label = '[a-z\\d](?:[a-z\\d-]{0,61}[a-z\\d])?'
const address = new RegExp(`^(?=.{1,254}$)(?=[^@]{1,64}@)${atom}(?:\\.${atom})*@${label}(?:\\.${label})+$`, 'i')

/** @throws Invalid */
export function requireEmail(email: string): void {
  if (!address.test(email)) throw invalid(['body', 'email'], 'Value error, not a valid e-mail address', email)
}

/** @throws Invalid if git would strip the whole name from a commit */
export function requireAuthorName(name: string): void {
  if (isAuthorName(name)) return
  throw invalid(['body', 'name'], 'Git would keep nothing of this name in a commit; use letters or digits', name)
}

/** The part before the @, unless git would strip it. */
export function defaultName(email: string): string {
  const before = email.slice(0, email.lastIndexOf('@')).slice(0, 200)
  return isAuthorName(before) ? before : email.slice(0, 200)
}

function isAuthorName(name: string): boolean {
  return withoutCrud(cleanIdentity(name)) !== ''
}
