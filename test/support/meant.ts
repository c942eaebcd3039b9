/** Gives the searches of a service a state of search by meaning. */

import type { Config } from '../../server/base/config.ts'
import type { components } from '../../spec/types.ts'
import type { Grove } from './grove.ts'

type Meaning = components['schemas']['SearchMeaning']

/** A model elsewhere, to which nothing is sent, because no owner has allowed it. */
export const modelElsewhere = {
  endpoint: {
    url: 'https://models.invalid/v1',
    model: 'bge-m3',
    textPrefix: '',
    queryPrefix: '',
    rate: 300,
    isHttpAllowed: false,
    allow: [],
  },
  orgs: 'asked',
  isPublic: false,
} as const satisfies Config['embeddings']

/**
 * Decides the state of searches by meaning, until the returned function is called. No question leaves the process.
 *
 * @param grove a service with a model, whose name the answers show
 * @param titles the matches that have no word of the query
 * @param raised the matches that have words of the query, and rise by meaning
 */
export function addMeaning(
  { deps }: Grove,
  { state, covered = 1 }: Omit<Meaning, 'model'>,
  titles: readonly string[] = [],
  raised: readonly string[] = [],
): () => void {
  const { search, embeddings } = deps
  if (embeddings === undefined) throw new Error('The service has no model')
  const { model } = embeddings
  const before = { ask: search.ask, allows: embeddings.allows, embedQuestion: model.embedQuestion }
  search.ask = async (orgId, question) => {
    const { meaning, ...byWords } = question
    const answer = await before.ask(orgId, byWords)
    const isMeant = meaning?.question !== undefined
    const matches = answer?.matches.map((match) => {
      const hasNoWord = titles.includes(match.title)
      if (!isMeant || !(hasNoWord || raised.includes(match.title))) return match
      return { ...match, ...(hasNoWord && { matched_terms: [] }), meaning: { similarity: 0.5 } }
    })
    const doubt = { words: question.query, isUnderstood: state !== 'language', isMeant }
    return answer && Object.assign(answer, { covered, matches, ...(state !== 'not_needed' && { doubt }) })
  }
  embeddings.allows = () => state !== 'off'
  model.embedQuestion = async () => (state === 'used' ? Int8Array.of(1) : undefined)
  return () => {
    search.ask = before.ask
    embeddings.allows = before.allows
    model.embedQuestion = before.embedQuestion
  }
}
