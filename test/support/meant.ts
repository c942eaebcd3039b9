/** Adds a state of search by meaning to the answers of a service. */

import type { components } from '../../spec/types.ts'
import type { Grove } from './grove.ts'

type Meaning = components['schemas']['SearchMeaning']

/**
 * Adds to the answers of the service's searches, until the returned function is called.
 *
 * @param titles the matches that have no word of the query
 */
export function addMeaning({ deps }: Grove, meaning: Meaning, titles: readonly string[] = []): () => void {
  const { search } = deps
  const { ask } = search
  search.ask = async (orgId, question) => {
    const answer = await ask(orgId, question)
    const matches = answer?.matches.map((match) =>
      titles.includes(match.title) ? { ...match, matched_terms: [], meaning: { similarity: 0.5 } } : match,
    )
    return answer && Object.assign(answer, { meaning, matches })
  }
  return () => {
    search.ask = ask
  }
}
