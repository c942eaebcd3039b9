/** Counts creations that rules would have refused. Rules of an earlier version guard new nodes only now. */
import type { OrgRow } from '../../../index/derived/org-queries.ts'
import { plural } from '../../base/plural.ts'
import type { Services } from '../services.ts'
import { rulesAtPlaces } from './places.ts'

/** Bounds of the creations that are counted. */
export const newest = { days: 30, creations: 1_000, orgs: 1_000 } as const

/** Counts nodes by the rules that guard their places now. The rules are their places in the list, from 0. */
export async function countByRule(
  deps: Services,
  org: OrgRow,
  nodeIds: readonly string[],
): Promise<readonly (readonly [at: number, count: number])[]> {
  const pages = nodeIds.map((id) => ({ id, act: 'create' as const, parents: [] }))
  const counts = new Map<number, number>()
  for (const rules of (await rulesAtPlaces(deps, org, pages)).values())
    for (const { at } of rules) if (at !== undefined) counts.set(at, (counts.get(at) ?? 0) + 1)
  return [...counts].sort(([a], [b]) => a - b)
}

export function guardingSentence(at: number, count: number): string {
  const creations = plural(count, 'creation')
  const what = `rule ${at + 1} guards new nodes: it would have refused ${creations} of the last ${newest.days} days`
  return `${what}, including any before the rule; its owners can set \`pages\` to \`existing\``
}
