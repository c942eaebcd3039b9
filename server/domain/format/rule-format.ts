/** Rules of an organisation: what a proposal must satisfy before it merges into a branch. */

import { z } from 'zod'
import { type Role, roles } from '../../../index/derived/schema.ts'
import * as limits from '../../base/limits.ts'
import { isId } from '../layout.ts'
import { patternProblem } from './branch-patterns.ts'

/** The roles that a rule can require of the user who merges. */
const mergeRoles = ['editor', 'maintainer', 'owner'] as const

/** The users whose approvals count: members with at least the role, and these people. One of the two is present. */
interface Approvers {
  readonly role?: Role
  /** Ids of users. They count with any role, if they are members. */
  readonly people?: readonly string[]
}

interface RequiredCheck {
  readonly name: string
  /** The id of the only user whose reports count. */
  readonly from?: string
}

/** A rule for the branches that match one of its patterns. All rules that match a branch hold together. */
export interface Rule {
  readonly branches: readonly string[]
  /** The rule holds for this node and all below it. Absent: for all nodes. */
  readonly under?: string
  readonly approvals: number
  readonly by: Approvers
  /** The least that keeps an approval: the same change, also rebased, or the same head. */
  readonly keep: 'same_change' | 'same_commit'
  readonly checks: readonly RequiredCheck[]
  /** True if no thread may be open. */
  readonly resolved: boolean
  /** The least role of the user who merges. */
  readonly merge: (typeof mergeRoles)[number]
  readonly override: 'owner' | 'nobody'
  /** The pages of `main` that it guards. `existing` leaves creations, moves into its part, deletions and restores free. */
  readonly pages: 'all' | 'existing'
}

type Loosely<T> = { readonly [K in keyof T]: T[K] | undefined }

/** A rule as `org.json` has it. It can have more keys, which a later version wrote. */
export interface StoredRule extends Omit<Rule, 'under' | 'by' | 'checks'> {
  readonly under?: string | undefined
  readonly by: Loosely<Approvers>
  readonly checks: readonly (Loosely<RequiredCheck> & Pick<RequiredCheck, 'name'>)[]
}

const uuid = z.string().refine(isId, 'it is not a UUID')
const pattern = z.string().superRefine((text, context) => {
  const message = patternProblem(text)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

const approvers = z
  .looseObject({ role: z.enum(roles).optional(), people: z.array(uuid).max(limits.reviewers).optional() })
  .transform(({ people, ...by }): Loosely<Approvers> => {
    // Without a role, nobody counts if the list is empty. It may be computed, and must not open the branch to editors.
    if (people && (people.length > 0 || by.role === undefined)) return { ...by, people }
    return by.role === undefined ? { ...by, role: 'editor' } : by
  })

const ruleSchema = z.looseObject({
  branches: z.array(pattern).min(1).max(limits.ruleBranches),
  under: uuid.optional(),
  approvals: z.int().min(0).max(limits.approvals).default(0),
  by: approvers.default({ role: 'editor' }),
  keep: z.enum(['same_change', 'same_commit']).default('same_change'),
  checks: z
    .array(z.looseObject({ name: z.string().regex(/^[A-Za-z0-9 ._/-]{1,100}$/), from: uuid.optional() }))
    .max(limits.ruleChecks)
    .default([]),
  resolved: z.boolean().default(false),
  merge: z.enum(mergeRoles).default('editor'),
  override: z.enum(['owner', 'nobody']).default('owner'),
  pages: z.enum(['all', 'existing']).default('all'),
})

/**
 * The schema of `rules` in `org.json`, which fills in defaults. Keys of a later version are kept. Values of a later
 * version are invalid, because a rule that this version cannot read must not be ignored.
 */
export const rulesSchema = z.array(ruleSchema).max(limits.rules)

/** Returns the rules without keys of a later version. */
export function plainRules(rules: readonly StoredRule[]): readonly Rule[] {
  return rules.map(plainRule)
}

function plainRule({ branches, under, approvals, by, keep, checks, ...rest }: StoredRule): Rule {
  const { role, people } = by
  const { resolved, merge, override, pages } = rest
  return {
    branches,
    ...(under !== undefined && { under }),
    approvals,
    by: { ...(role && { role }), ...(people && { people }) },
    keep,
    checks: checks.map(({ name, from }) => ({ name, ...(from !== undefined && { from }) })),
    ...{ resolved, merge, override, pages },
  }
}

/** Returns the rules. A rule that is as before keeps the keys of a later version. */
export function keepLaterKeys(before: readonly StoredRule[], rules: readonly Rule[]): readonly StoredRule[] {
  const known = new Map(before.map((rule) => [JSON.stringify(plainRule(rule)), rule]))
  return rules.map((rule) => known.get(JSON.stringify(rule)) ?? rule)
}
