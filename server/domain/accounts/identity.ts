/** Valid names and e-mail addresses. */

import { cleanIdentity, withoutCrud } from '../../../gitstore/names.ts'
import { AppError, invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { botName, isBotEmail, looksLikeBot, withoutMark } from '../format/bots.ts'
import { isHiddenEmail, isKeptByGit } from '../format/hidden-emails.ts'
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
  return address.test(email) && isKeptByGit(email) && !isHiddenEmail(email) && !isBotEmail(email)
}

/** @throws ValidationError, also for addresses of bots and of hidden users in Git */
export function requireEmail(email: string, field = 'email'): void {
  if (!isEmail(email)) throw invalid(['body', field], 'This is not a valid e-mail address', email)
}

/**
 * Checks the name of a user. It must not end as the name of a bot does.
 *
 * @throws ValidationError
 */
export function requireAuthorName(name: string): void {
  requireVisible(name, limits.displayName)
  if (!looksLikeBot(name)) return
  throw invalid(['body', 'name'], 'Only the names of bots end in [bot]; choose another name', name)
}

/** Returns the name of a bot, with `[bot]` at its end. @throws ValidationError like `requireAuthorName` */
export function requireBotName(name: string): string {
  requireVisible(withoutMark(name), limits.botName)
  return botName(name)
}

function requireVisible(name: string, longest: number): void {
  requireLine('name', name, longest)
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

/** Returns the part before the @. @param email as `isEmail` allows, so that git keeps some of the part */
export function defaultName(email: string): string {
  return email.slice(0, email.lastIndexOf('@'))
}

/** True for a name that an author of commits can have. */
export function isGitName(name: string): boolean {
  return isOneLine(name) && [...name].length <= limits.displayName && isAuthorName(name)
}

function isAuthorName(name: string): boolean {
  return withoutCrud(cleanIdentity(name)) !== ''
}

export function emailTakenError(): AppError {
  return new AppError('email_taken', 'There is an account with this e-mail address')
}
