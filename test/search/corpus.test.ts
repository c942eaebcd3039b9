/** The corpus and its scores beside a MiniSearch index that is made of the same documents at once. */

import { expect } from 'chai'
import MiniSearch from 'minisearch'
import {
  type DocumentFilter,
  roundScore,
  type SearchedField,
  scoreTerms,
  type WeightedTerm,
} from '../../index/search/ranking/scores.ts'
import {
  type Corpus,
  createCorpus,
  flush,
  mergeFrom,
  removeDocument,
  setDocument,
} from '../../index/search/segments/corpus.ts'
import { type CorpusDocument, shortIdOf } from '../../index/search/segments/live-index.ts'
import { decodeSegments, encodeSegments, type Origin } from '../../index/search/segments/segment-file.ts'
import { sizeOf, stringAt } from '../../index/search/segments/string-table.ts'
import { type Random, randomOf } from '../support/random.ts'

const fieldCount = 2
const searched: readonly SearchedField[] = [
  { field: 0, boost: 1 },
  { field: 1, boost: 0.3 },
]
const origin: Origin = { analyzer: '1', epoch: 'e', from: 0, to: 9 }
// A protected member of MiniSearch 7.2.0 (pinned).
const AVERAGES = '_avgFieldLength'
const seeds = [1, 2, 3, 4]

describe('a corpus of segments and what is live', () => {
  for (const seed of seeds)
    it(`answers as MiniSearch does, to the last bit, after any edits, seals, merges and files (seed ${seed})`, () => {
      const random = randomOf(seed)
      const corpus = createCorpus(fieldCount)
      const documents = new Map<string, CorpusDocument>()
      let compared = 0
      let mostSegments = 0
      for (let edit = 1; edit <= 1_200; edit++) {
        change(random, corpus, documents)
        if (corpus.live.documents.size >= 150) flush(corpus)
        if (random.below(60) === 0 && corpus.frozen.length > 1) mergeBeside(random, corpus, documents)
        if (random.below(80) === 0) throughFile(corpus)
        mostSegments = Math.max(mostSegments, corpus.frozen.length)
        if (edit % 40 === 0) compared += compare(random, corpus, documents)
      }
      expect(compared).to.be.greaterThan(500)
      expect(mostSegments, 'segments').to.be.greaterThan(1)
    })

  it('answers the same whatever the order of the edits was', () => {
    const documents = Array.from({ length: 300 }, (_, i) => documentOf(randomOf(i), `n${i % 200}`))
    const last = new Map(documents.map((document) => [document.id, document]))
    const answers = [1, 2, 3].map((seed) => {
      const random = randomOf(seed)
      const corpus = createCorpus(fieldCount)
      for (const document of documents) setDocument(corpus, document)
      for (const document of random.shuffled([...last.values()])) {
        setDocument(corpus, document)
        if (random.below(20) === 0) flush(corpus)
      }
      return scoreTerms(corpus, searched, questionOf(randomOf(7))).best(50)
    })
    expect(answers[1]).to.deep.equal(answers[0])
    expect(answers[2]).to.deep.equal(answers[0])
  })
})

describe('a file of segments', () => {
  it('is not read where one bit differs, or its end is missing', () => {
    const random = randomOf(5)
    const corpus = createCorpus(fieldCount)
    for (let i = 0; i < 50; i++) setDocument(corpus, documentOf(random, `n${i}`))
    const segment = flush(corpus)
    const file = Buffer.concat(encodeSegments([segment, segment], origin))
    expect(decodeSegments(file)?.origin).to.deep.equal(origin)
    for (let round = 0; round < 2_000; round++) {
      const broken = Buffer.from(file)
      const at = random.below(file.length)
      broken[at] = (broken[at] ?? 0) ^ (1 << random.below(8))
      expect(decodeSegments(broken), `bit of byte ${at}`).to.equal(undefined)
    }
    for (let round = 0; round < 200; round++) {
      const length = random.below(file.length)
      expect(decodeSegments(file.subarray(0, length)), `${length} bytes`).to.equal(undefined)
    }
  })
})

function documentOf(random: Random, id: string): CorpusDocument {
  const words = Array.from({ length: 1 + random.below(40) }, () => wordOf(random))
  // The count of one term may not fit into a byte.
  if (random.below(25) === 0) words.push(...Array.from({ length: 200 + random.below(200) }, () => 'often'))
  const alike = random.below(8) === 0 ? ['same', 'text'] : words
  return { id, terms: [alike, alike.slice(0, random.below(6))], time: random.below(1_000) }
}

function wordOf(random: Random): string {
  // Few are frequent, many are rare.
  const n = Math.floor(400 ** (random.below(1_000) / 1_000))
  return n % 7 === 0 ? `größe${n}` : `w${n}`
}

function questionOf(random: Random): WeightedTerm[] {
  const words = new Set([
    ...Array.from({ length: 1 + random.below(8) }, () => wordOf(random)),
    'often',
    'missing',
    'same',
  ])
  return random.shuffled([...words]).map((term) => ({ term, weight: Math.sqrt(1 + random.below(3)) }))
}

function change(random: Random, corpus: Corpus, documents: Map<string, CorpusDocument>): void {
  const id = `n${random.below(500)}`
  if (random.below(10) === 0) {
    removeDocument(corpus, id)
    documents.delete(id)
    return
  }
  const document = documentOf(random, id)
  setDocument(corpus, document)
  documents.set(id, document)
}

/** Documents change between the turns of the merge. */
function mergeBeside(random: Random, corpus: Corpus, documents: Map<string, CorpusDocument>): void {
  const merging = mergeFrom(corpus, random.below(corpus.frozen.length - 1))
  while (!merging.next().done) change(random, corpus, documents)
}

function throughFile(corpus: Corpus): void {
  corpus.frozen = corpus.frozen.map((part) => {
    const file = Buffer.concat(encodeSegments([part.segment], origin))
    const [segment] = decodeSegments(file)?.segments ?? []
    if (!segment) throw new Error('A file that was just written is not whole')
    return { ...part, segment }
  })
}

function rebuilt(documents: ReadonlyMap<string, CorpusDocument>): MiniSearch<CorpusDocument> {
  const mini = new MiniSearch<CorpusDocument>({
    fields: ['0', '1'],
    extractField: (document, field) =>
      field === 'id' ? document.id : (document.terms[Number(field)]?.join(' ') ?? ''),
    tokenize: (text) => text.split(' ').filter((word) => word !== ''),
    processTerm: (term) => term,
  })
  mini.addAll([...documents.values()])
  // MiniSearch's own running mean rounds by the order of the edits.
  for (const field of [0, 1]) {
    const lengths = [...documents.values()].map(({ terms }) => new Set(terms[field]).size)
    mini[AVERAGES][field] = lengths.reduce((sum, length) => sum + length, 0) / lengths.length
  }
  return mini
}

function compare(random: Random, corpus: Corpus, documents: ReadonlyMap<string, CorpusDocument>): number {
  const mini = rebuilt(documents)
  let compared = 0
  for (let round = 0; round < 4; round++) {
    const terms = questionOf(random)
    const fields = random.below(4) === 0 ? searched.slice(1) : searched
    const found = mini
      .search('', {
        tokenize: () => terms.map(({ term }) => term),
        fields: fields.map(({ field }) => String(field)),
        boost: { 0: 1, 1: 0.3 },
        bm25: { k: 1.2, b: 0.75, d: 0 },
        boostTerm: (_, i) => terms[i]?.weight ?? 1,
      })
      .map(({ id, score, queryTerms }) => ({ id: String(id), score: score / queryTerms.length, terms: queryTerms }))
    const admitted =
      random.below(2) === 0 ? undefined : new Set([...documents.keys()].filter(() => random.below(3) === 0))
    const wanted = found
      .filter(({ id }) => admitted?.has(id) !== false)
      .sort((a, b) => roundScore(b.score) - roundScore(a.score) || (a.id < b.id ? -1 : 1))
    const scores = scoreTerms(corpus, fields, terms)
    const limit = random.pick([1, 5, 20, 1_000])
    const best = scores.best(limit, admitted && admissionOf(corpus, admitted))
    expect(best).to.deep.equal(wanted.slice(0, limit).map(({ id, score, terms }) => ({ score, terms, id })))
    const byId = new Map(found.map(({ id, ...hit }) => [id, hit]))
    for (const id of ['n0', 'n1', 'n499', 'none', ...best.slice(0, 5).map((hit) => hit.id)])
      expect(scores.find(id), id).to.deep.equal(byId.get(id))
    compared += best.length
  }
  return compared
}

function admissionOf({ frozen, live }: Corpus, ids: ReadonlySet<string>): DocumentFilter {
  const masks = frozen.map(({ segment }) =>
    Uint8Array.from({ length: sizeOf(segment.ids) }, (_, n) => (ids.has(stringAt(segment.ids, n)) ? 1 : 0)),
  )
  return { masks, live: new Set([...ids].map((id) => shortIdOf(live, id))) }
}
