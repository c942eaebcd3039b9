/** A BM25 index over titles and texts: MiniSearch's postings, set and removed here in steps. */
import MiniSearch from 'minisearch'
import { inSteps, type Steps } from './steps.ts'
import { type Field, type Terms, termsOf } from './terms.ts'

export interface IndexedText {
  id: string
  title: string
  text: string
}

export interface WeightedTerm {
  term: string
  weight: number
}

/** `terms`: those of the query that occur in the document. */
interface Hit {
  score: number
  terms: string[]
}

/** The scores of a list of terms by document; the ranking uses nothing else of BM25. */
export interface Scores {
  find(id: string): Hit | undefined
  /** Documents with a score, best first; their order among equals is undefined. */
  ranked(): Iterable<{ id: string; score: number }>
}

export interface TextIndex {
  mini: MiniSearch<IndexedText>
  /** As indexed: removal needs the exact text that was added. */
  texts: Map<string, IndexedText>
  /** Sums of field lengths over all documents, in the order of FIELDS; whole numbers, hence exact. */
  totalLengths: number[]
  /** Distinct, of all fields: MiniSearch would count them one by one. */
  numTerms: number
}

/** Of one term: by field, how often each document has it. */
type Postings = Map<number, Map<number, number>>

const FIELDS: Field[] = ['all', 'title']
const BOOST = { all: 1, title: 0.3 }
const BM25 = { k: 1.2, b: 0.75, d: 0 }

// Protected members of MiniSearch 7.2.0 (pinned); TypeScript allows and checks access through such names.
const AVERAGES = '_avgFieldLength'
const LENGTHS = '_fieldLength'
const SHORT_IDS = '_idToShortId'
const POSTINGS = '_index'
const FIELD_IDS = '_fieldIds'

export function createTextIndex(): TextIndex {
  const mini = new MiniSearch<IndexedText>({
    fields: FIELDS,
    storeFields: [],
    autoVacuum: false,
    // MiniSearch adds and discards documents without text; postings are set and removed here, in steps.
    extractField: (document, field) => (field === 'id' ? document.id : ''),
    tokenize: () => [],
    processTerm: (term) => term,
  })
  return { mini, texts: new Map(), totalLengths: FIELDS.map(() => 0), numTerms: 0 }
}

/**
 * Adds a document, or replaces the one with its id; `terms` are those of title and text. The index is inconsistent
 * until the last step.
 */
export function* setText(index: TextIndex, document: IndexedText, terms: Terms): Steps {
  yield* removeText(index, document.id)
  index.mini.add(document)
  index.texts.set(document.id, document)
  const place = slotOf(index, document.id)
  for (const field of FIELDS) {
    yield* inSteps(terms[field], ([term, { count }]) => addPosting(index, place, field, term, count))
    place.lengths[place.fieldIds[field] ?? -1] = terms[field].size
  }
  countLengths(index, document.id, 1)
  setAverages(index)
}

/** Removes all postings, which MiniSearch's `discard` leaves: scores would drift until a vacuum. */
export function* removeText(index: TextIndex, id: string): Steps {
  const old = index.texts.get(id)
  if (!old) return
  const terms = yield* termsOf(old.title, old.text)
  const place = slotOf(index, id)
  for (const field of FIELDS) yield* inSteps(terms[field].keys(), (term) => removePosting(index, place, field, term))
  countLengths(index, id, -1)
  index.mini.discard(id)
  index.texts.delete(id)
  setAverages(index)
}

interface DocumentPostings {
  shortId: number
  fieldIds: { [field: string]: number }
  /** By field. */
  lengths: number[]
}

function slotOf({ mini }: TextIndex, id: string): DocumentPostings {
  const shortId = mini[SHORT_IDS].get(id) ?? -1
  return { shortId, fieldIds: mini[FIELD_IDS], lengths: mini[LENGTHS].get(shortId) ?? [] }
}

function addPosting(
  index: TextIndex,
  { shortId, fieldIds }: DocumentPostings,
  field: Field,
  term: string,
  count: number,
): void {
  const fieldId = fieldIds[field] ?? -1
  const postings: Postings = index.mini[POSTINGS].fetch(term, () => {
    index.numTerms++
    return new Map()
  })
  const documents = postings.get(fieldId)
  if (documents) documents.set(shortId, count)
  else postings.set(fieldId, new Map([[shortId, count]]))
}

function removePosting(index: TextIndex, { shortId, fieldIds }: DocumentPostings, field: Field, term: string): void {
  const fieldId = fieldIds[field] ?? -1
  const postings: Postings | undefined = index.mini[POSTINGS].get(term)
  const documents = postings?.get(fieldId)
  if (!postings || !documents) return
  documents.delete(shortId)
  if (documents.size === 0) postings.delete(fieldId)
  if (postings.size > 0) return
  index.mini[POSTINGS].delete(term)
  index.numTerms--
}

function countLengths(index: TextIndex, id: string, sign: 1 | -1): void {
  const lengths = index.mini[LENGTHS].get(index.mini[SHORT_IDS].get(id) ?? -1) ?? []
  for (const [field, length] of lengths.entries())
    index.totalLengths[field] = (index.totalLengths[field] ?? 0) + sign * length
}

/** Sets exact averages: the rounding of MiniSearch's running average depends on the order of the edits. */
function setAverages(index: TextIndex): void {
  const count = index.mini.documentCount
  for (const [field, total] of index.totalLengths.entries())
    index.mini[AVERAGES][field] = count === 0 ? 0 : total / count
}

/** Inverse document frequency as in MiniSearch's BM25; of a term that no document has, 0. */
export function idf(index: TextIndex, field: Field, term: string): number {
  const matching = documentFrequency(index, field, term)
  return matching === 0 ? 0 : Math.log(1 + (index.mini.documentCount - matching + 0.5) / (matching + 0.5))
}

/** How many documents have `term` in `field`. */
export function documentFrequency(index: TextIndex, field: Field, term: string): number {
  return index.mini[POSTINGS].get(term)?.get(index.mini[FIELD_IDS][field] ?? -1)?.size ?? 0
}

/** Terms of the index within `distance` edits of `term`, with their distances, the closest first, then by name. */
export function similarTerms(index: TextIndex, field: Field, term: string, distance: number): [string, number][] {
  const found = index.mini[POSTINGS].fuzzyGet(term, distance)
  return [...found]
    .filter(([similar]) => documentFrequency(index, field, similar) > 0)
    .map(([similar, [, edits]]): [string, number] => [similar, edits])
    .sort((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1))
}

/**
 * BM25 of distinct `terms`, in the order given, over title and text or over the title alone. MiniSearch multiplies a
 * score by the number of matched terms, without a switch; dividing again gains 1.4 to 6.1 points of nDCG@10.
 *
 * A top-k scorer over MiniSearch's postings could replace this: `ranked` would stop at the best few and `find` would score one
 * document.
 */
export function scoreTerms(index: TextIndex, field: Field, terms: WeightedTerm[]): Scores {
  const results = index.mini.search('', {
    tokenize: () => terms.map(({ term }) => term),
    processTerm: (term) => term,
    fields: field === 'title' ? ['title'] : FIELDS,
    boost: BOOST,
    bm25: BM25,
    boostTerm: (_, i) => terms[i]?.weight ?? 1,
  })
  const hits = new Map<string, Hit>()
  const ranked: { id: string; score: number }[] = []
  for (const result of results) {
    const score = result.score / result.queryTerms.length
    hits.set(result.id, { score, terms: result.queryTerms })
    ranked.push({ id: result.id, score })
  }
  ranked.sort((a, b) => b.score - a.score)
  return { find: (id) => hits.get(id), ranked: () => ranked }
}
