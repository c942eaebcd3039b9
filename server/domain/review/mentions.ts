/** Users whom a comment mentions. */
import { listMemberNames, listMembersById } from '../../../index/derived/org-queries.ts'
import { invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { Services } from '../services.ts'
import type { OrgAt } from '../targets.ts'

/**
 * Returns the ids of the users that a comment mentions. Without `named`, they are the members whose names follow an `@`
 * in the text. A name that several members have mentions none of them.
 *
 * @throws ValidationError a named user is not a member
 */
export async function resolveMentions(
  deps: Pick<Services, 'index'>,
  { org_id: orgId }: OrgAt,
  loc: readonly (string | number)[],
  text: string,
  named: readonly string[] | undefined,
): Promise<string[]> {
  const db = deps.index.read
  if (named === undefined) return text.includes('@') ? findMentions(text, await listMemberNames(db, orgId)) : []
  const unique = [...new Set(named)]
  const members = new Set((await listMembersById(db, orgId, unique)).map(({ user_id }) => user_id))
  for (const id of unique)
    if (!members.has(id))
      throw invalid([...loc, named.indexOf(id)], 'This user is not a member of the organisation', id)
  return unique
}

interface MemberName {
  readonly user_id: string
  readonly name: string
}

/**
 * Finds the mentions in a text, in its order. At each `@` the longest name counts, in any case of letters. A mention is
 * a whole word, so `@Ann` is not in `@Anna`, and an e-mail address mentions nobody.
 */
function findMentions(text: string, members: readonly MemberName[]): string[] {
  const byName = new Map<string, string | null>()
  for (const { user_id, name } of members) {
    const key = name.toLowerCase()
    byName.set(key, byName.has(key) ? null : user_id)
  }
  const longest = Math.max(0, ...[...byName.keys()].map((name) => name.length))
  const lower = text.toLowerCase()
  const found = new Set<string>()
  for (let at = lower.indexOf('@'); at >= 0 && found.size < limits.mentions; at = lower.indexOf('@', at + 1)) {
    if (at > 0 && isWord(lower.slice(Math.max(0, at - 2), at))) continue
    const id = nameAt(lower.slice(at + 1, at + 3 + longest), byName, longest)
    if (id) found.add(id)
  }
  return [...found]
}

/** Returns the id of the longest name at the beginning of the text. Null if several members have it. */
function nameAt(text: string, byName: ReadonlyMap<string, string | null>, longest: number): string | null | undefined {
  for (let length = Math.min(longest, text.length); length > 0; length--) {
    const name = text.slice(0, length)
    if (byName.has(name) && !/^[\p{L}\p{N}_]/u.test(text.slice(length))) return byName.get(name)
  }
  return undefined
}

function isWord(before: string): boolean {
  return /[\p{L}\p{N}_]$/u.test(before)
}
