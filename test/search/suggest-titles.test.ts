/** Titles as they are typed: which words find them, and the order, beside a search through all titles. */
import { expect } from 'chai'
import { flush, mergeFrom } from '../../index/search/segments/corpus.ts'
import { titleWords, typedWords } from '../../index/search/text/title-words.ts'
import { type Random, randomOf } from '../support/random.ts'
import { ask, indexOf, link, note } from './notes.ts'
import { alignment } from './plain-distance.ts'
import { createSearchIndex, removeNode, type SearchIndex, setDocument, setEdges, suggest } from './rows-in-memory.ts'

const titlesFor = (index: SearchIndex, query: string, limit = 10) =>
  suggest(index, { query, limit }).map(({ title }) => title)

describe('suggestions: what finds a title', () => {
  const titles = [
    'Blue whale',
    'The Whalers',
    'Café Müller',
    'searchIndex in node.js',
    "O'Brien's moon",
    '水族館の魚',
    '深水',
    'クジラ',
    'ปลาวาฬสีน้ำเงิน',
    '고래',
    'RNA 2.0',
  ]
  const index = indexOf(titles.map((title, n) => note(`n${n}`, { title })))
  const rules: [string, string, string[]][] = [
    ['the beginning of any word', 'wha', ['Blue whale', 'The Whalers']],
    ['a whole word, without stems', 'whalers', ['The Whalers']],
    ['stop words', 'the', ['The Whalers']],
    ['several words, each a beginning, in any order', 'wh bl', ['Blue whale']],
    ['a word that is typed twice', 'wha whale ', ['Blue whale', 'The Whalers']],
    ['a space at the end', 'wha ', ['Blue whale', 'The Whalers']],
    ['other case and accents', 'CAFE mull', ['Café Müller']],
    ['an identifier and its parts', 'index', ['searchIndex in node.js']],
    ['an identifier as it is typed', 'node.j', ['searchIndex in node.js']],
    ['apostrophes', "o'bri", ["O'Brien's moon"]],
    ['one Han character, wherever it stands', '水', ['深水', '水族館の魚']],
    ['the last character of a run', '魚', ['水族館の魚']],
    ['pairs', '族館', ['水族館の魚']],
    ['kana', 'クジ', ['クジラ']],
    ['half-width kana', 'ｸｼﾞ', ['クジラ']],
    ['words of Thai', 'ปลา', ['ปลาวาฬสีน้ำเงิน']],
    ['a syllable of Hangul that is not complete', '고ㄹ', ['고래']],
    ['Hangul', '고', ['고래']],
    ['digits', '2', ['RNA 2.0']],
    ['one letter too many', 'whaale', ['Blue whale', 'The Whalers']],
    ['one letter missing', 'wale', ['Blue whale', 'The Whalers']],
    ['another letter', 'wgale', ['Blue whale', 'The Whalers']],
    ['an error beside a word as it is', 'blue whaxe', ['Blue whale']],
    ['no error in three letters', 'xha', []],
    ['nothing where one word is missing', 'blue zebra', []],
    ['nothing without a word', ' -"*(', []],
    ['nothing for nothing', '', []],
  ]
  for (const [rule, query, expected] of rules)
    it(`${rule}: ${JSON.stringify(query)}`, () => {
      expect(titlesFor(index, query)).to.deep.equal(expected)
    })
})

describe('the words of titles as they stand', () => {
  it('take no part in a search, and in no correction of a typing error', () => {
    const index = indexOf([note('a', { title: '深水 crocodiles' }), note('b', { text: 'crocodiles' })])
    expect(titlesFor(index, '水')).to.deep.equal(['深水 crocodiles'])
    expect(ask(index, '水')).to.include({ hint: 'no_term_known' })
    // One edit from the word of the title, two from the stem of both.
    const without = indexOf([note('a', { text: '深水 crocodiles' }), note('b', { text: 'crocodiles' })])
    const scoreOfB = (of: SearchIndex) => ask(of, 'crocodilex').matches.find(({ node_id }) => node_id === 'b')?.score
    expect(scoreOfB(index)).to.be.above(0)
    expect(scoreOfB(index)).to.equal(scoreOfB(without))
  })
})

describe('suggestions: the order', () => {
  const index = indexOf(
    [
      note('a', { title: 'Sea of stars' }),
      note('b', { title: 'Seas' }),
      note('c', { title: 'Sea' }),
      note('d', { title: 'Seal' }),
      note('e', { title: 'The sea' }),
      note('f', { title: 'Sear' }),
    ],
    [link('a', 'x'), link('a', 'y'), link('e', 'a')],
  )

  it('is: the title that is typed, edges, the shorter title, id', () => {
    expect(titlesFor(index, 'sea')).to.deep.equal(['Sea', 'Sea of stars', 'The sea', 'Seas', 'Seal', 'Sear'])
  })

  it('is cut at the limit', () => {
    expect(titlesFor(index, 'sea', 2)).to.deep.equal(['Sea', 'Sea of stars'])
  })

  it('has the title that is typed first, whatever its length and however many begin so', () => {
    const many = Array.from({ length: 300 }, (_, n) => note(`n${n}`, { title: `Waterfall${n}` }))
    const typed = 'Water and all that falls down with it into the deep'
    const all = indexOf([...many, note('z', { title: typed })])
    expect(titlesFor(all, typed.toLowerCase(), 1)).to.deep.equal([typed])
    const short = indexOf([...many, note('z', { title: 'Water' })])
    expect(titlesFor(short, 'water', 1)).to.deep.equal(['Water'])
  })
})

const parts = ['se', 'a', 'sea', 'wh', 'ale', 'é', 'ク', '水', '深', 'ab', 'X']

describe('suggestions beside a search through all titles', () => {
  for (const seed of [1, 2])
    it.deep(`are the same after any edits, deletions, seals and merges (seed ${seed})`, () => {
      const random = randomOf(seed)
      const index = createSearchIndex()
      const nodes = new Map<string, { title: string; degree: number }>()
      let compared = 0
      let erred = 0
      let mostSegments = 0
      for (let edit = 1; edit <= 600; edit++) {
        change(random, index, nodes)
        if (edit % 100 === 0) {
          suggest(index, { query: 'a', limit: 1 })
          flush(index.index.texts)
        }
        mostSegments = Math.max(mostSegments, index.index.texts.frozen.length)
        if (edit % 300 === 0) for (const _ of mergeFrom(index.index.texts, random.below(2)));
        if (edit % 30 > 0) continue
        for (let round = 0; round < 8; round++) {
          const query = questionOf(random, nodes)
          const limit = random.pick([1, 5, 50])
          const { suggestions, hasErrors } = expected(nodes, query)
          expect(
            suggest(index, { query, limit }).map(({ node_id }) => node_id),
            query,
          ).to.deep.equal(suggestions.slice(0, limit))
          compared += suggestions.length
          if (hasErrors) erred++
        }
      }
      expect(mostSegments).to.be.above(2)
      expect(compared).to.be.above(500)
      expect(erred).to.be.above(2)
    })
})

function titleOf(random: Random): string {
  const word = () => Array.from({ length: 1 + random.below(3) }, () => random.pick(parts)).join('')
  return Array.from({ length: 1 + random.below(4) }, word).join(' ')
}

function change(random: Random, index: SearchIndex, nodes: Map<string, { title: string; degree: number }>): void {
  const id = `n${random.below(400)}`
  if (random.below(8) === 0) {
    removeNode(index, id)
    nodes.delete(id)
    return
  }
  const title = titleOf(random)
  setDocument(index, note(id, { title }))
  // Nodes that nothing else leads to.
  const targets = Array.from({ length: random.below(4) }, (_, n) => `${id}-${n}`)
  setEdges(
    index,
    id,
    targets.map((target) => link(id, target)),
  )
  nodes.set(id, { title, degree: targets.length })
}

/** A beginning of a title, or one with errors, or of another one. */
function questionOf(random: Random, nodes: ReadonlyMap<string, { title: string }>): string {
  const { title } = random.pick([...nodes.values()])
  const begun = title.slice(0, 1 + random.below(title.length))
  if (random.below(3) > 0) return begun
  const at = random.below(begun.length)
  return begun.slice(0, at) + random.pick(['q', '', 'se']) + begun.slice(at + random.below(2))
}

/** By the rules of the operation, title by title. */
function expected(nodes: ReadonlyMap<string, { title: string; degree: number }>, query: string) {
  const typed = typedWords(query)
  if (typed.length === 0) return { suggestions: [], hasErrors: false }
  const kept = [...new Set(typed)].filter((word) => !typed.some((other) => other !== word && other.startsWith(word)))
  const long = new Set(kept.filter((word) => [...word].length >= 4).slice(0, 8))
  const all = [...nodes].map(([id, node]) => {
    const words = titleWords(node.title)
    const edits = kept.map((word) => {
      if (words.some((one) => one.startsWith(word))) return 0
      return long.has(word) && words.some((one) => isNear(word, one)) ? 1 : Number.POSITIVE_INFINITY
    })
    const isTyped = [...words].sort().join(' ') === titleWords(query).sort().join(' ')
    return { id, ...node, words: words.length, isTyped, edits: edits.reduce<number>((sum, one) => sum + one, 0) }
  })
  const strict = all.filter(({ edits }) => edits === 0)
  const found = strict.length > 0 ? strict : all.filter(({ edits }) => edits < Number.POSITIVE_INFINITY)
  found.sort(
    (a, b) => Number(b.isTyped) - Number(a.isTyped) || a.edits - b.edits || a.words - b.words || compare(a.id, b.id),
  )
  const best = found.slice(0, 100)
  const isTitle = ({ title }: { title: string }) => typedWords(title).join(' ') === typed.join(' ')
  best.sort(
    (a, b) =>
      Number(isTitle(b)) - Number(isTitle(a)) ||
      a.edits - b.edits ||
      b.degree - a.degree ||
      a.title.length - b.title.length ||
      compare(a.id, b.id),
  )
  return { suggestions: best.map(({ id }) => id), hasErrors: strict.length === 0 && best.length > 0 }
}

/** Whether the word is one edit from some beginning of the other, in code points. */
function isNear(word: string, other: string): boolean {
  const letters = [...other]
  return letters.some((_, n) => alignment(word, letters.slice(0, n + 1).join('')) <= 1)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
