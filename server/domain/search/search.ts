/** Retrieval and suggestions within one organisation. */

import type { Suggestions, SuggestQuestion } from '../../../index/search/answers/suggest.ts'
import type { Scope } from '../../../index/search/ranking/scope.ts'
import type { SearchQuestion } from '../../../index/search/retrieve.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { authorizeOrg, type OrgAccess, requireRole } from '../access.ts'
import { type Actor, callerOf, type RequestContext } from '../actor.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'
import { refuseLongQuery } from '../format/limits.ts'
import type { OrgAt } from '../targets.ts'
import { searchInTurn } from './queue.ts'
import type { SearchAnswer } from './search-thread.ts'
import { readView, type Snapshot } from './snapshots.ts'

/** A search request, as in spec/openapi.yaml. */
interface Question extends SearchQuestion {
  scope?: Scope & { branch?: string; at?: string }
}

/** Limits the views that a process reads and searches at once. Each may have 16 MiB of content. */
const semaphore = createCallerSemaphore({
  all: { running: 2, waiting: 64 },
  person: { running: 1, waiting: 16 },
  runningInOrg: 1,
  waitTimeoutMs: 30_000,
  refusal: 'Too many branch and point-in-time searches are queued; try again in a moment',
})

/** The most attempts to read a view while its nodes change. */
const rounds = 5

/**
 * Searches main, another branch or the state at a time.
 *
 * @throws AppError as authorizeOrg, searchInTurn, and requireRole for another branch or a time; busy,
 *   search_unavailable
 * @throws ValidationError as readView; value_error for an offset with an expansion
 * @throws the reason of `signal`
 */
export async function retrieve(
  deps: Deps,
  context: RequestContext,
  at: OrgAt,
  question: Question,
): Promise<SearchAnswer> {
  const { orgId } = at
  const access = await authorizeOrg(deps, context.actor, at, 'public')
  refuseLongQuery(question.query)
  refuseOffset(question)
  const elsewhere = snapshotOf(question)
  const answered = deps.metrics.searchSeconds.startTimer({ expansion: question.expansion_depth })
  const answer = await (elsewhere === undefined
    ? searchInTurn(context, access, () => deps.search.ask(orgId, question))
    : retrieveFromSnapshot(deps, context, access, elsewhere, question))
  answered()
  return answer
}

async function retrieveFromSnapshot(
  deps: Deps,
  context: RequestContext,
  access: OrgAccess,
  elsewhere: Snapshot,
  question: SearchQuestion,
): Promise<SearchAnswer> {
  requireMember(context.actor, access)
  const orgId = access.org.id
  return semaphore.run({ caller: callerOf(context), orgId, signal: context.signal }, async () => {
    for (let round = 0; round < rounds; round++) {
      const view = await readView(deps, orgId, elsewhere)
      const found = await searchInTurn(context, access, () => deps.search.askIn(view, orgId, question))
      if (found !== 'moved') return found
    }
    throw new AppError('busy', 'The nodes are changing faster than they can be read; try again in a moment')
  })
}

/** An expansion starts from the best matches, so it has no second page. @throws ValidationError value_error */
function refuseOffset({ offset = 0, expansion_depth }: Question): void {
  if (offset > 0 && expansion_depth !== 'none')
    throw invalid(['body', 'offset'], 'An offset needs `expansion_depth` none', offset)
}

/** The state to search; undefined: main. @throws ValidationError value_error */
function snapshotOf({ scope: { branch, at } = {} }: Question): Snapshot | undefined {
  if (branch !== undefined && at !== undefined)
    throw invalid(['body', 'scope', 'at'], '`branch` and `at` cannot be combined', at)
  if (at !== undefined) return { at }
  return branch === undefined || branch === 'main' ? undefined : { branch }
}

/** Allows only members: anonymous callers may search only main. @throws AppError unauthenticated, forbidden */
function requireMember(actor: Actor, access: OrgAccess): void {
  if (actor.kind === 'anonymous') throw new AppError('unauthenticated', 'Sign in to search another branch or a time')
  requireRole(access, 'reader')
}

/** Suggests titles. @throws AppError as authorizeOrg and searchInTurn; search_unavailable */
export async function suggest(
  deps: Deps,
  context: RequestContext,
  at: OrgAt,
  question: SuggestQuestion,
): Promise<Suggestions> {
  const access = await authorizeOrg(deps, context.actor, at, 'public')
  const answered = deps.metrics.searchSeconds.startTimer({ expansion: 'suggest' })
  const answer = await searchInTurn(context, access, () => deps.search.suggest(at.orgId, question))
  answered()
  return answer
}
