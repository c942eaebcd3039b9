/** Pages that were created lately without a proposal, where a rule now demands one. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import type { Rule } from '../text/rule-words.ts'

/** The newest creations that are read, and the days. */
const most = { read: 50, days: 30 } as const

/** Counts such pages for each rule. Only owners, who can change rules, are shown them. */
export async function readCreations(
  { api }: PageContext,
  { id, rules = [], role }: Pick<AnswerOf<'getOrg'>, 'id' | 'rules' | 'role'>,
): Promise<readonly number[]> {
  if (role !== 'owner' || !rules.some(isForNewPages)) return []
  const path = { org_id: id }
  const query = { types: 'node.created', before: 'now', limit: most.read }
  const { events } = await api.listEvents({ path, query })
  const since = new Date(Date.now() - most.days * 86_400_000).toISOString()
  const direct = events.filter(({ time, data }) => time >= since && !('change_set' in data))
  const ids = direct.flatMap(({ subject }) => subject?.split('/').at(-1) ?? [])
  if (ids.length === 0) return []
  return Promise.all(
    rules.map(async (rule) => {
      if (!isForNewPages(rule)) return 0
      const where = `id=${ids.join(',')}${rule.under === undefined ? '' : ` under:${rule.under}`}`
      return (await api.queryNodes({ path, body: { where, limit: 1 } })).total
    }),
  )
}

/** True if it holds for `main` of new pages. */
function isForNewPages({ branches, pages }: Rule): boolean {
  return pages === 'all' && branches.some((pattern) => patternOf(pattern).test('main'))
}

function patternOf(branches: string): RegExp {
  const parts = branches.split(/\*+/).map((text) => text.replace(/[^\w/-]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`)
}
