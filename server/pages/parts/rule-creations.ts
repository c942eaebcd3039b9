/** Pages that were created lately without a proposal, where a rule now demands one. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import type { Rule } from '../text/rule-words.ts'

/** Bounds of the creations that are read. */
const most = { read: 1_000, perCall: limits.listed, perFilter: 50, days: 30 } as const

/** Counts such pages for each rule. Only owners, who can change rules, are shown them. */
export async function readCreations(
  visit: PageContext,
  { id, rules = [], role }: Pick<AnswerOf<'getOrg'>, 'id' | 'rules' | 'role'>,
): Promise<readonly number[]> {
  if (role !== 'owner' || !rules.some(isForNewPages)) return []
  const path = { org_id: id }
  const ids = await readDirect(visit, path)
  const counts = rules.map(() => 0)
  for (let at = 0; at < ids.length; at += most.perFilter)
    for (const [n, rule] of rules.entries()) {
      if (!isForNewPages(rule)) continue
      const some = ids.slice(at, at + most.perFilter).join(',')
      const where = `id=${some}${rule.under === undefined ? '' : ` under:${rule.under}`}`
      counts[n] = (counts[n] ?? 0) + (await visit.api.queryNodes({ path, body: { where, limit: 1 } })).total
    }
  return counts
}

/** Reads the ids of pages that were created directly, newest first. */
async function readDirect({ api }: PageContext, path: { readonly org_id: string }): Promise<string[]> {
  const since = new Date(Date.now() - most.days * 86_400_000).toISOString()
  const ids: string[] = []
  let before = 'now'
  for (let read = 0; read < most.read; read += most.perCall) {
    const query = { types: 'node.created', before, limit: most.perCall }
    const { events, next, has_more } = await api.listEvents({ path, query })
    const recent = events.filter(({ time }) => time >= since)
    ids.push(...recent.flatMap(({ subject, data }) => ('change_set' in data ? [] : (subject?.split('/').at(-1) ?? []))))
    if (!has_more || recent.length < events.length) break
    before = next
  }
  return ids
}

/** True if it holds for `main` of new pages. */
function isForNewPages({ branches, pages }: Rule): boolean {
  return pages === 'all' && branches.some((pattern) => patternOf(pattern).test('main'))
}

function patternOf(branches: string): RegExp {
  const parts = branches.split(/\*+/).map((text) => text.replace(/[^\w/-]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`)
}
