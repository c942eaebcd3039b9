/** A rule as the fields of its form, and back. */

import { createHash } from 'node:crypto'
import { type Problem, ValidationError } from '../../base/errors.ts'
import { type Body, startBody } from '../kit/controls.tsx'
import type { PageContext } from '../page-context.ts'
import type { Rule } from '../text/rule-words.ts'
import { ruleControls } from './rule-form.tsx'
import type { Member } from './talk.ts'

/** The values of the form. Lists have one item a line. */
export type RuleFields = Body<typeof ruleControls>

/** Identifies a rule in forms and links. A rule has no id, and its place in the list can change. */
export function keyOfRule(rule: Rule): string {
  return createHash('sha256').update(JSON.stringify(rule)).digest('hex').slice(0, 16)
}

/** The form for a new rule. It asks for one approval. */
export const newRule: RuleFields = { ...startBody(ruleControls), rule: 'new', under: '' }

export function fieldsOf(rule: Rule, members: readonly Member[]): RuleFields {
  const emails = new Map(members.map(({ user_id, email }) => [user_id, email]))
  const { branches, under = '', approvals, by, checks, keep, resolved, merge, override, pages } = rule
  return {
    ...{ ...newRule, rule: keyOfRule(rule), under, approvals: String(approvals), role: by.role ?? '' },
    branches: branches.join('\n'),
    people: (by.people ?? []).map((id) => emails.get(id) ?? id).join('\n'),
    checks: checks
      .map(({ name, from }) => (from === undefined ? name : `${name}: ${emails.get(from) ?? from}`))
      .join('\n'),
    ...{ keep, resolved, merge, override, pages },
  }
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** A check as its line says it. Names of checks have no colon. */
function checkIn(line: string): { name: string; user?: string } {
  const [name = '', ...rest] = line.split(':')
  const user = rest.join(':').trim()
  return user === '' ? { name: name.trim() } : { name: name.trim(), user }
}

/** The users that the fields name, by e-mail address or id in lower case. */
export function usersIn({ people, checks }: RuleFields): ReadonlySet<string> {
  const users = [...linesOf(people), ...linesOf(checks).flatMap((line) => checkIn(line).user ?? [])]
  return new Set(users.map((user) => user.toLowerCase()))
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Returns the rule that the fields describe. The API checks the rest.
 *
 * @throws ValidationError a field cannot be read
 */
export function ruleIn(fields: RuleFields, members: readonly Member[]): Rule {
  const idOf = (user: string, at: string) => {
    const text = user.toLowerCase()
    const found = members.find(({ user_id, email }) => user_id === text || email.toLowerCase() === text)
    if (found) return found.user_id
    if (uuid.test(text)) return text
    throw wrong(at, `“${user}” is not the e-mail address of a member`)
  }
  const branches = linesOf(fields.branches)
  if (branches.length === 0) throw wrong('branches', 'Enter at least one branch')
  if (!/^\d{1,3}$/.test(fields.approvals)) throw wrong('approvals', 'Enter a whole number from 0 to 20')
  const { under, under_words: words, role, keep, resolved, merge, override, pages } = fields
  if (under === undefined || (words !== '' && words !== fields.under_found))
    throw wrong('under', 'Choose the page from the list, or remove the title')
  const people = [...new Set(linesOf(fields.people).map((user) => idOf(user, 'people')))]
  if (people.length === 0 && role === '') throw wrong('people', 'Name a member, or choose above who else may approve')
  const checks = linesOf(fields.checks).map((line) => {
    const { name, user } = checkIn(line)
    return { name, ...(user !== undefined && { from: idOf(user, 'checks') }) }
  })
  return {
    branches,
    ...(under !== '' && { under }),
    approvals: Number(fields.approvals),
    by: { ...(role && { role }), ...(people.length > 0 && { people }) },
    ...{ keep, checks, resolved, merge, override, pages },
  }
}

function wrong(at: string, msg: string): ValidationError {
  return new ValidationError([{ loc: ['body', at], msg, type: 'value_error' }])
}

/** Lists of the form whose items the API checks. */
const listFields: readonly unknown[] = ['branches', 'people', 'checks']

/** Names the field of the form that the API refused, and quotes its item. Rethrows other errors. */
export function throwAtField(error: unknown): never {
  const [first] = error instanceof ValidationError ? error.problems : []
  const at = first?.loc.find((part) => listFields.includes(part))
  if (first === undefined || at === undefined || first.loc.at(-1) === at) throw error
  throw wrong(String(at), quoted(first))
}

function quoted({ input, msg }: Problem): string {
  return typeof input === 'string' && !uuid.test(input) ? `“${input}”: ${msg}` : msg
}

/** Members in an answer. */
const pageMembers = 200

/** Reads the members with these ids or e-mail addresses. It stops when all are found. */
export async function findMembers(
  { api }: PageContext,
  org: string,
  wanted: ReadonlySet<string>,
): Promise<readonly Member[]> {
  const found: Member[] = []
  for (let offset = 0; found.length < wanted.size; offset += pageMembers) {
    const { members, total } = await api.listMembers({ path: { org_id: org }, query: { limit: pageMembers, offset } })
    found.push(...members.filter(({ user_id, email }) => wanted.has(user_id) || wanted.has(email.toLowerCase())))
    if (offset + members.length >= total || members.length === 0) break
  }
  return found
}
