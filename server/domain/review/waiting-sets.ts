/** Why a change set waits for a user. It waits instead of its pages. */
import { findRole } from '../../../index/derived/org-queries.ts'
import { findPull, type PullRow } from '../../../index/derived/pulls.ts'
import type { WaitingRow } from '../../../index/derived/waiting.ts'
import { AppError } from '../../base/errors.ts'
import { includesRole } from '../access.ts'
import type { Person } from '../actor.ts'
import { type Consent, toConsent } from '../consent/consent.ts'
import { authorizeFreshOrg } from '../indexing/freshness.ts'
import type { Ctx } from '../services.ts'
import { judgeSet, type SetState } from '../sets/state.ts'

/** A change set, and those of its pages that concern the user. */
export interface WaitingSet {
  readonly row: PullRow
  readonly state: SetState
  /** The consent of each open page in question. */
  readonly pages: readonly (Consent & { readonly isOwn: boolean })[]
}

/**
 * Reads the state of a set. Undefined if it is gone by now.
 *
 * @param nodes ids of the pages in question; the id of the organisation stands for all
 */
export async function readWaitingSet(
  ctx: Ctx<Person>,
  { org_id, number }: WaitingRow,
  nodes: ReadonlySet<string>,
): Promise<WaitingSet | undefined> {
  try {
    const access = await authorizeFreshOrg(ctx, { org_id }, 'reader')
    const row = await findPull(ctx.index.read, org_id, number)
    if (row === undefined) return undefined
    const state = await judgeSet(ctx, access, row)
    const asked = state.open.filter((item) => nodes.has(org_id) || nodes.has(item.row.node_id))
    const pages = asked.map(({ judgement, pull }) => ({
      ...toConsent(judgement),
      isOwn: [row.author_id, pull.author_id].includes(ctx.actor.id),
    }))
    return { row, state, pages }
  } catch (error) {
    if (error instanceof AppError && error.code.endsWith('_not_found')) return undefined
    throw error
  }
}

/** True if a page of others lacks a current verdict of the user. @param isAsked false for pages that do not matter */
export function lacksVerdict(
  { pages }: WaitingSet,
  { id }: Person,
  isAsked: (page: Consent) => boolean = () => true,
): boolean {
  const isJudged = ({ verdicts }: Consent) => verdicts.some((one) => one.author_id === id && one.state === 'current')
  return pages.some((page) => !page.isOwn && isAsked(page) && !isJudged(page))
}

/** Returns the reasons why a set waits for a user who proposed its pages. */
export async function reasonsOfOwnSet(ctx: Ctx<Person>, { row, state, pages }: WaitingSet) {
  const open = row.open_threads + state.open.reduce((sum, { pull }) => sum + pull.open_threads, 0)
  const threads = open > 0 ? (['open_threads'] as const) : []
  if (pages.some(({ changes_requested }) => changes_requested > 0)) return ['changes_requested', ...threads] as const
  const isReady = state.reasons.length === 0 && pages.every(({ approvals }) => approvals > 0)
  if (!isReady || open > 0) return threads
  const role = await findRole(ctx.index.read, row.org_id, ctx.actor.id)
  return role && includesRole(role, state.mergeRole) ? (['ready_to_merge'] as const) : []
}
