/** Valid names and e-mail addresses. */

import { cleanIdentity, withoutCrud } from '../../../gitstore/names.ts'
import { invalid } from '../../base/errors.ts'
import { isHiddenEmail } from '../format/hidden-emails.ts'
import { isOneLine } from '../format/text-rules.ts'

/**
 * A valid e-mail address: the HTML standard and RFC 5321 both allow it.
 *
 * That is a Dot-string without quotes or an address literal, with a dotted domain.
 */
const atom = "[\\w!#$%&'*+/=?^`{|}~-]+"
const label = '[a-z\\d](?:[a-z\\d-]{0,61}[a-z\\d])?'
const address = new RegExp(`^(?=.{1,254}$)(?=[^@]{1,64}@)${atom}(?:\\.${atom})*@${label}(?:\\.${label})+$`, 'i')

export function isEmail(email: string): boolean {
  return address.test(email) && !isHiddenEmail(email)
}

/** @throws ValidationError, also for an address that hides another in Git */
export function requireEmail(email: string, field = 'email'): void {
  if (!isEmail(email)) throw invalid(['body', field], 'This is not a valid e-mail address', email)
}

/** Characters. org.json and member files do not hold longer names. */
const longestName = 200

/** @throws ValidationError: too long, has control characters, or git would strip all of it */
export function requireAuthorName(name: string): void {
  requireLine('name', name, longestName)
  if (isAuthorName(name)) return
  throw invalid(['body', 'name'], 'Git would remove all of this name from a commit; use letters or digits', name)
}

/** Checks text that is shown in one line of a list. @param field of the request's body @throws ValidationError */
export function requireLine(field: string, text: string, longest: number): void {
  if (isOneLine(text) && [...text].length <= longest) return
  throw invalid(
    ['body', field],
    `${field} must have at most ${longest} characters, without control characters`,
    text.slice(0, longest),
  )
}

/** Returns a name that does not reveal the e-mail address. */
export function anonymousName(accountId: string): string {
  return `user-${accountId.slice(-8)}`
}

/** Returns the part before the @, unless git would strip it. */
export function defaultName(email: string): string {
  const before = email.slice(0, email.lastIndexOf('@')).slice(0, 200)
  return isAuthorName(before) ? before : email.slice(0, 200)
}

function isAuthorName(name: string): boolean {
  return withoutCrud(cleanIdentity(name)) !== ''
}
