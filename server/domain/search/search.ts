/** Retrieval and suggestions within one organisation. */
import type { SearchQuestion } from '../../../index/search/retrieve.ts'
import type { Suggestions, SuggestQuestion } from '../../../index/search/suggest.ts'
import type { Deps } from '../../deps.ts'
import { orgFor } from '../access.ts'
import type { Actor } from '../actor.ts'
import type { OrgAt } from '../at.ts'
import { refuseLongQuery } from '../format/limits.ts'
import { inPlace } from './places.ts'
import type { SearchAnswer } from './search-thread.ts'

/** @throws Refusal as orgFor and inPlace; search_unavailable */
export async function retrieve(deps: Deps, actor: Actor, at: OrgAt, question: SearchQuestion): Promise<SearchAnswer> {
  const access = await orgFor(deps, actor, at, 'public')
  refuseLongQuery(question.query)
  return inPlace(deps, access, question.expansion_depth, () => deps.search.ask(at.orgId, question))
}

/** @throws as retrieve */
export async function suggest(deps: Deps, actor: Actor, at: OrgAt, question: SuggestQuestion): Promise<Suggestions> {
  const access = await orgFor(deps, actor, at, 'public')
  return inPlace(deps, access, 'suggest', () => deps.search.suggest(at.orgId, question))
}
