/** Reads the rules of an organisation. They are in its row, or in org.git if an older version wrote the row. */

import { createCache } from '../../../gitstore/caching/caches.ts'
import type { OrgRow } from '../../../index/derived/org-queries.ts'
import { orgRepo } from '../layout.ts'
import type { Services } from '../services.ts'
import { matchesPattern } from './branch-patterns.ts'
import { parseJson } from './json-text.ts'
import { readRecord } from './org-format.ts'
import { plainRules, type Rule, rulesSchema } from './rule-format.ts'

const none: readonly Rule[] = []

/** Parsed rules, by their JSON. */
const parsed = createCache<readonly Rule[]>('org_rules', {
  sizeCalculation: (_, text) => text.length,
})

/**
 * Returns the rules of an organisation, as they are at the head of its row.
 *
 * @throws GitError object_damaged if they are invalid, so that nobody passes them unseen; as readObject
 */
export async function readRules(
  { store }: Pick<Services, 'store'>,
  { id, head, rules, rules_head }: Pick<OrgRow, 'id' | 'head' | 'rules' | 'rules_head'>,
): Promise<readonly Rule[]> {
  const known = rules !== null && rules_head === head ? parseRules(rules) : undefined
  return known ?? plainRules((await readRecord(orgRepo(store, id), head)).org.rules ?? none)
}

/** True if the rule is for branches with this name. */
export function matchesRule({ branches }: Rule, branch: string): boolean {
  return branches.some((pattern) => matchesPattern(pattern, branch))
}

/** Undefined if a later version wrote rules that this one cannot read. */
function parseRules(text: string): readonly Rule[] | undefined {
  if (text === '[]') return none
  const known = parsed.get(text)
  if (known) return known
  const { data } = rulesSchema.safeParse(parseJson(text))
  if (data === undefined) return undefined
  const rules = plainRules(data)
  parsed.set(text, rules)
  return rules
}
