/** Retrieval and suggestions within one organisation. */

import type { Suggestions } from '../../../index/search/answers/suggest.ts'
import type { Scope } from '../../../index/search/ranking/scope.ts'
import type { SearchQuestion } from '../../../index/search/retrieve.ts'
import { invalid } from '../../base/errors.ts'
import { authorizeOrg } from '../access.ts'
import { refuseLongQuery } from '../format/limits.ts'
import type { RequestCtx, Services } from '../services.ts'
import type { Body, OrgAt, Path, Query } from '../targets.ts'
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
export async function searchNodes(ctx: RequestCtx, { path, body }: Path<OrgAt> & Body<Question>) {
  const { org_id: orgId } = path
  const access = await authorizeOrg(ctx, path, 'public')
  refuseLongQuery(body.query)
  refuseOffset(body)
  const elsewhere = snapshotOf(body.scope, ['body', 'scope'])
  const question = questionOf(ctx, body)
  const answered = ctx.metrics.searchSeconds.startTimer({ expansion: body.expansion_depth })
  const patient = patience(ctx.config)
  const ask = (meaning?: AskedMeaning) => {
    const whole = () => ({ ...question, ...patient(), ...(meaning && { meaning }) })
    return elsewhere === undefined
      ? searchInTurn(ctx, access, () => ctx.search.ask(orgId, whole()))
      : askInView(ctx, access, elsewhere, (view) => ctx.search.askIn(view, orgId, whole()))
  }
  const { answer, meaning } = await askByMeaning(ctx, access, body.mode ?? 'auto', ctx.request.signal, ask)
  answered()
  return { ...describedAnswer(answer), ...(meaning && { meaning }) }
}

function questionOf(
  deps: Services,
  { scope: { where, ...scope } = {}, mode, ...question }: Question,
): FilteredQuestion {
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

interface TitleQuery {
  readonly q: string
  readonly limit: number
}

/** Suggests titles. @throws AppError as authorizeOrg and searchInTurn; search_unavailable */
export async function suggestTitles(
  ctx: RequestCtx,
  { path, query: { q, limit } }: Path<OrgAt> & Query<TitleQuery>,
): Promise<Suggestions & Unindexed> {
  const patient = patience(ctx.config)
  const access = await authorizeOrg(ctx, path, 'public')
  const answered = ctx.metrics.searchSeconds.startTimer({ expansion: 'suggest' })
  const answer = await searchInTurn(ctx, access, () =>
    ctx.search.suggest(path.org_id, { query: q, limit, ...patient() }),
  )
  answered()
  return answer
}
