/** The formats of texts. A date is one that filters and sorts also read as a date. */

import { isIPv6 } from 'node:net'
import { KIND, kindsOf } from '../../../index/properties/values.ts'

export const formatNames = ['date', 'date-time', 'uri', 'email'] as const
export type FormatName = (typeof formatNames)[number]

interface Format {
  readonly holds: (text: string) => boolean
  readonly must: string
}

export const formats: Readonly<Record<FormatName, Format>> = {
  date: { holds: isDay, must: 'be a date, such as 2026-12-31' },
  'date-time': { holds: isTime, must: 'be a time with its offset, such as 2026-12-31T18:00:00Z' },
  uri: { holds: isUri, must: 'be a URI, such as https://example.org/' },
  email: { holds: isEmail, must: 'be an e-mail address, such as ann@example.org' },
}

/** True for a day that exists. The check of `isDate` takes six times as long. */
function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8))]
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return day >= 1 && day <= (month === 2 && isLeap ? 29 : (daysOfMonth[month] ?? 0))
}

const daysOfMonth = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** True for RFC 3339 with seconds and an offset. A leap second has no instant, and is refused. */
function isTime(text: string): boolean {
  return /:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/.test(text) && isDate(text)
}

function isDate(text: string): boolean {
  return kindsOf(text) === 1 << KIND.date
}

/** Source: RFC 3986, with a scheme and something after it. */
function isUri(text: string): boolean {
  const [, rest] = /^[a-z][a-z0-9+.-]*:(.*)$/is.exec(text) ?? []
  if (rest === undefined) return false
  const [, hier = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(rest) ?? []
  if (!areCharacters(query.slice(1), '/?:@') || !areCharacters(fragment.slice(1), '/?:@')) return false
  if (!hier.startsWith('//')) return hier !== '' && areCharacters(hier, '/:@')
  const pathStart = hier.indexOf('/', 2)
  const authority = hier.slice(2, pathStart < 0 ? undefined : pathStart)
  return isAuthority(authority) && (pathStart < 0 || areCharacters(hier.slice(pathStart), '/:@'))
}

function isAuthority(authority: string): boolean {
  const hostStart = authority.indexOf('@') + 1
  const host = authority.slice(hostStart)
  if (hostStart > 0 && !areCharacters(authority.slice(0, hostStart - 1), ':')) return false
  const [, literal, name = ''] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::\d*)?$/.exec(host) ?? [undefined, undefined, ' ']
  if (literal === undefined) return areCharacters(name, '')
  return isIPv6(literal) ? !literal.includes('%') : /^v[\da-f]+\.[\w.~!$&'()*+,;=:-]+$/i.test(literal)
}

/** True for unreserved characters, delimiters within parts, escapes, and `more`. */
function areCharacters(text: string, more: string): boolean {
  if (/%(?![\da-f]{2})/i.test(text)) return false
  return (
    /^[\w.~!$&'()*+,;=%/?:@-]*$/.test(text) && [...'/?:@'].every((one) => more.includes(one) || !text.includes(one))
  )
}

/** Source: RFC 5321. There are no quoted parts, and the host name has at least two labels. */
function isEmail(text: string): boolean {
  const at = text.indexOf('@')
  const labels = text.slice(at + 1).split('.')
  return (
    at > 0 &&
    text
      .slice(0, at)
      .split('.')
      .every((atom) => /^[\w!#$%&'*+/=?^`{|}~-]+$/.test(atom)) &&
    labels.length > 1 &&
    labels.every((label) => /^[a-z\d](?:[a-z\d-]*[a-z\d])?$/i.test(label))
  )
}
