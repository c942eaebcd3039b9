/** Retrieval and suggestions within one organisation. */

import type { Suggestions, SuggestQuestion } from '../../../index/search/answers/suggest.ts'
import type { Scope } from '../../../index/search/ranking/scope.ts'
import type { SearchQuestion } from '../../../index/search/retrieve.ts'
import type { Deps } from '../../base/deps.ts'
import { invalid } from '../../base/errors.ts'
import { authorizeOrg } from '../access.ts'
import type { RequestContext } from '../actor.ts'
import { refuseLongQuery } from '../format/limits.ts'
import type { OrgAt } from '../targets.ts'
import { filterIn, nearestNames, todayOf } from './filter-input.ts'
import type { FilteredQuestion } from './filtered-search.ts'
import { askInView, snapshotOf } from './in-view.ts'
import { askByMeaning, type SearchMode } from './meant.ts'
import type { AskedMeaning } from './question-meaning.ts'
import { searchInTurn } from './queue.ts'
import type { SearchAnswer } from './search-thread.ts'
import { patience, type Unindexed } from './slices.ts'

/** A search request, as in spec/openapi.yaml. */
interface Question extends SearchQuestion {
  scope?: Scope & { branch?: string; at?: string; where?: unknown }
  mode?: SearchMode
}

/**
 * Searches main, another branch or the state at a time.
 *
 * @throws AppError as authorizeOrg, searchInTurn, and requireRole for another branch or a time; busy,
 *   search_unavailable
 * @throws ValidationError embeddings_off, value_error for an offset with an expansion, and as readView
 * @throws the reason of `signal`
 */
export async function retrieve(deps: Deps, context: RequestContext, at: OrgAt, asked: Question) {
  const { org_id: orgId } = at
  const access = await authorizeOrg(deps, context.actor, at, 'public')
  refuseLongQuery(asked.query)
  refuseOffset(asked)
  const elsewhere = snapshotOf(asked.scope, ['body', 'scope'])
  const question = questionOf(deps, asked)
  const answered = deps.metrics.searchSeconds.startTimer({ expansion: asked.expansion_depth })
  const patient = patience(deps.config)
  const ask = (meaning?: AskedMeaning) => {
    const whole = () => ({ ...question, ...patient(), ...(meaning && { meaning }) })
    return elsewhere === undefined
      ? searchInTurn(context, access, () => deps.search.ask(orgId, whole()))
      : askInView(deps, context, access, elsewhere, (view) => deps.search.askIn(view, orgId, whole()))
  }
  const { answer, meaning } = await askByMeaning(deps, access, asked.mode ?? 'auto', context.signal, ask)
  answered()
  return { ...describedAnswer(answer), ...(meaning && { meaning }) }
}

function questionOf(deps: Deps, { scope: { where, ...scope } = {}, mode, ...question }: Question): FilteredQuestion {
  const filter = where === undefined ? undefined : filterIn(deps, where, ['body', 'scope', 'where'])
  return { ...question, scope, today: todayOf(deps), ...(filter !== undefined && { where: filter.where }) }
}

function describedAnswer({ conditions, unknown, covered, doubt, ...answer }: SearchAnswer) {
  return {
    ...answer,
    ...(conditions.length > 0 && { conditions }),
    ...(unknown.length > 0 && { unknown: nearestNames(unknown) }),
  }
}

/** An expansion starts from the best matches, so it has no second page. @throws ValidationError value_error */
function refuseOffset({ offset = 0, expansion_depth }: Question): void {
  if (offset > 0 && expansion_depth !== 'none')
    throw invalid(['body', 'offset'], 'An offset needs `expansion_depth` none', offset)
}

/** Suggests titles. @throws AppError as authorizeOrg and searchInTurn; search_unavailable */
export async function suggest(
  deps: Deps,
  context: RequestContext,
  at: OrgAt,
  question: SuggestQuestion,
): Promise<Suggestions & Unindexed> {
  const patient = patience(deps.config)
  const access = await authorizeOrg(deps, context.actor, at, 'public')
  const answered = deps.metrics.searchSeconds.startTimer({ expansion: 'suggest' })
  const answer = await searchInTurn(context, access, () =>
    deps.search.suggest(at.org_id, { ...question, ...patient() }),
  )
  answered()
  return answer
}
