/** Finds the vectors that a question is compared with, of main or of a view. */

import { type ComparableVectors, similarityOf } from '../../../index/search/meaning/node-vectors.ts'
import type { QuestionMeaning } from '../../../index/search/ordered-hits.ts'
import type { QuestionParts } from '../../../index/search/ranking/filters.ts'
import type { PreparedView } from '../../../index/search/ranking/view.ts'
import { documentCount } from '../../../index/search/segments/corpus.ts'
import type { OrgIndex } from '../../../index/search/segments/org-index.ts'
import type { SearchRows } from '../../../index/search/segments/rows.ts'
import type { LanguageOf } from '../../../index/search/text/languages.ts'
import type { VectorRows } from '../../../index/vectors/read-rows.ts'
import { keyOf, meanOf, textsOf } from '../embeddings/texts.ts'
import type { OrgVectors } from './open-vectors.ts'

/** A question that may use meaning. */
export interface AskedMeaning {
  /** The id of the model. */
  readonly model: string
  /** The languages of questions that the model understands. Undefined: all. */
  readonly languages: readonly string[] | undefined
  /** The vector of the question. Absent: the answer only says whether words failed. */
  readonly question?: Int8Array
}

/** A question whose words failed. */
export interface Doubt {
  /** The words without filters. */
  readonly words: string
  /** True if the model understands their language. */
  readonly isUnderstood: boolean
  /** True if its meaning counted in the answer. */
  readonly isMeant: boolean
}

/** The least share of nodes with vectors. Below it, meaning would find some nodes only because others are missing. */
export const leastCovered = 0.5

/** The meaning of a question within one snapshot. `given` is absent if too few nodes have vectors. */
export interface MeaningHere {
  /** The share of the nodes of main whose texts were embedded. 0 to 1, in whole percents. */
  readonly covered: number
  readonly given?: QuestionMeaning
}

/** The nodes of a view: their keys in hex, and their vectors. */
type ViewVectors = ReadonlyMap<string, { readonly keys: readonly string[]; readonly vector: Int8Array | undefined }>

/** @param held undefined: the organisation has no vectors @param changed the nodes of a view */
export function meaningHere(
  stored: VectorRows,
  orgId: string,
  asked: AskedMeaning,
  held: OrgVectors | undefined,
  { index, rows }: { readonly index: OrgIndex; readonly rows: SearchRows },
  view?: { readonly changed: ViewVectors; readonly gone: readonly string[] },
): MeaningHere {
  const nodes = documentCount(index.texts)
  const covered = nodes === 0 ? 1 : Math.min(1, Math.floor((100 * (held?.settled ?? 0)) / nodes) / 100)
  if (held === undefined || covered < leastCovered) return { covered }
  const vectors: ComparableVectors =
    view === undefined
      ? held.vectors
      : held.vectors.withOthers(new Map([...view.changed].map(([id, { vector }]) => [id, vector])), view.gone)
  const { question } = asked
  // An endpoint may change its model. Such vectors cannot be compared.
  if (question?.length !== held.dimensions) return { covered, given: { vectors } }
  const keysOf = (id: string): readonly string[] => {
    const ofView = view?.changed.get(id)
    if (ofView) return ofView.keys
    const node = stored.nodeOf(orgId, held.model, id)
    // Keys of another commit belong to other passages.
    return node?.head === rows.describe(id)?.head ? (node?.keys ?? []) : []
  }
  const nearestPassage = (id: string) => {
    const keys = keysOf(id)
    return keys.length < 2 ? undefined : nearest(question, keys, stored.passages(orgId, held.model, keys))
  }
  return { covered, given: { vectors, question, nearestPassage } }
}

/** Returns the number of the nearest key, the first of equal ones. */
function nearest(
  question: Int8Array,
  keys: readonly string[],
  vectors: ReadonlyMap<string, Int8Array>,
): number | undefined {
  let best: { readonly number: number; readonly similarity: number } | undefined
  for (const [number, key] of keys.entries()) {
    const vector = vectors.get(key)
    if (vector === undefined || vector.length !== question.length) continue
    const similarity = similarityOf(question, vector)
    if (best === undefined || similarity > best.similarity) best = { number, similarity }
  }
  return best?.number
}

/** Finds the vectors of a view's nodes by their texts. Texts without a vector are left out. */
export function* vectorsOfView(
  stored: VectorRows,
  orgId: string,
  { model: modelId }: AskedMeaning,
  { model }: OrgVectors,
  { view }: PreparedView,
): Generator<undefined, ViewVectors, undefined> {
  const found = new Map<string, { keys: readonly string[]; vector: Int8Array | undefined }>()
  for (const { id, title, text } of view.nodes) {
    const texts = textsOf(title, text)
    const keys = texts.map((one) => keyOf(modelId, one).toString('hex'))
    const vectors = keys.length === 0 ? new Map<string, Int8Array>() : stored.passages(orgId, model, keys)
    const vector = meanOf(texts.map((one, n) => ({ length: one.length, vector: vectors.get(keys[n] ?? '') })))
    found.set(id, { keys, vector })
    yield
  }
  return found
}

const otherScript = /[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]/u

/** Describes a question whose words failed. @param query without conditions by property */
export function doubtOf(
  languageOf: LanguageOf,
  { languages }: AskedMeaning,
  { text, titles }: QuestionParts,
  given: QuestionMeaning | undefined,
): Doubt {
  const words = text === '' ? titles.join(' ') : text
  const isUnderstood = languages === undefined || (!otherScript.test(words) && languages.includes(languageOf(words)))
  return { words, isUnderstood, isMeant: given?.question !== undefined }
}
