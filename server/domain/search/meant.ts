/** Search by meaning: which questions may use it, and what an answer says about it. */

import { ValidationError } from '../../base/errors.ts'
import type { OrgAccess } from '../access.ts'
import type { Embeddings } from '../embeddings/embeddings.ts'
import { embeddingsChoice } from '../format/org-format.ts'
import type { Services } from '../services.ts'
import { type AskedMeaning, leastCovered } from './question-meaning.ts'
import type { SearchAnswer } from './search-thread.ts'

/** `auto` uses meaning if it is available. `hybrid` is refused without a model. */
export type SearchMode = 'auto' | 'lexical' | 'hybrid'

/** How meaning took part in an answer, as in spec/openapi.yaml. */
interface Meaning {
  readonly state: 'used' | 'not_needed' | 'off' | 'unavailable' | 'catching_up' | 'language'
  /** The name of the model. */
  readonly model: string
  /** The share of the nodes of main that have vectors, 0 to 1. Absent with `off`. */
  readonly covered?: number
}

/** An answer, and how meaning took part. It is absent if the service has no model. */
export interface MeantAnswer {
  readonly answer: SearchAnswer
  readonly meaning?: Meaning
}

/**
 * Asks by words. If words fail, asks again with the vector of the question.
 *
 * So a question that words answer is not embedded: it waits for nothing, costs nothing, and does not leave the machine.
 *
 * @throws ValidationError embeddings_off, and errors of `ask`
 */
export async function askByMeaning(
  deps: Services,
  access: OrgAccess,
  mode: SearchMode,
  signal: AbortSignal,
  ask: (meaning?: AskedMeaning) => Promise<SearchAnswer>,
): Promise<MeantAnswer> {
  const { embeddings } = deps
  if (embeddings === undefined) {
    if (mode === 'hybrid') throw withoutModel()
    return { answer: await ask() }
  }
  const { model } = embeddings
  const said = (state: Meaning['state'], covered?: number): Meaning => ({
    state,
    model: model.name,
    ...(covered !== undefined && { covered }),
  })
  if (mode === 'lexical' || !mayUse(embeddings, access)) return { answer: await ask(), meaning: said('off') }
  const asked = { model: model.id, languages: model.languages }
  const answer = await ask(asked)
  const { covered = 0, doubt } = answer
  if (covered < leastCovered) return { answer, meaning: said('catching_up', covered) }
  if (doubt === undefined) return { answer, meaning: said('not_needed', covered) }
  if (!doubt.isUnderstood) return { answer, meaning: said('language', covered) }
  const vector = await model.embedQuestion(doubt.words, signal)
  if (vector === undefined) return { answer, meaning: said('unavailable', covered) }
  const meant = await ask({ ...asked, question: vector })
  return { answer: meant, meaning: said(stateOf(meant), meant.covered) }
}

function withoutModel(): ValidationError {
  const msg = 'This service has no model for search by meaning; leave `mode` out to search by words'
  return new ValidationError([{ loc: ['body', 'mode'], msg, type: 'embeddings_off', input: 'hybrid' }])
}

/** Strangers to an organisation could spend the operator's money. */
function mayUse(embeddings: Embeddings, { org, role }: OrgAccess): boolean {
  if (role === null && !embeddings.servesStrangers) return false
  return embeddings.allows({ id: org.id, embeddings: embeddingsChoice(org) })
}

/** Nodes may have changed between the two questions. */
function stateOf({ covered = 0, doubt }: SearchAnswer): Meaning['state'] {
  if (covered < leastCovered) return 'catching_up'
  if (doubt === undefined) return 'not_needed'
  return doubt.isMeant ? 'used' : 'unavailable'
}
