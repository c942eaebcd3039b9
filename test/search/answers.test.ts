/** Answers of a search: the same for the same state, bounded, and never an error. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import fc from 'fast-check'
import { createOrgIndex, flushIndex, mergeSegments } from '../../index/search/segments/org-index.ts'
import { anyCharacter } from '../support/any-text.ts'
import { runs } from '../support/seed.ts'
import {
  aQuestion,
  ask,
  child,
  DEPTHS,
  edits,
  finalState,
  IDS,
  indexOf,
  link,
  matchesIn,
  nodesIn,
  note,
  perform,
} from './notes.ts'
import {
  createSearchIndex,
  createSearchIndexIn,
  readerOf,
  removeNode,
  retrieve,
  type SearchIndex,
  takeInSome,
  termsOf,
} from './rows-in-memory.ts'

/** 64 known terms, and 8 similar ones of each of 8 words with a typing error. */
const mostTerms = 64 + 8 * 8

const someKeys = fc.array(fc.nat(), { minLength: 16, maxLength: 16 })

describe('search: one state, one answer', () => {
  it.deep('answers the same to the byte, whatever the edits that led to a state and whatever their order', () => {
    fc.assert(
      fc.property(edits, someKeys, fc.array(aQuestion, { minLength: 1, maxLength: 4 }), (done, keys, questions) => {
        const lived = perform(createSearchIndex(), done)
        const fresh = perform(createSearchIndex(), finalState(done, keys))
        for (const question of questions) {
          for (const expansion_depth of DEPTHS) {
            expect(JSON.stringify(retrieve(lived, { ...question, expansion_depth }))).to.equal(
              JSON.stringify(retrieve(fresh, { ...question, expansion_depth })),
            )
          }
        }
      }),
      { numRuns: 80 },
    )
  })

  it.deep('answers the same when asked between the edits as when asked only at the end', () => {
    fc.assert(
      fc.property(edits, aQuestion, (done, question) => {
        const asked = createSearchIndex()
        for (const edit of done) {
          perform(asked, [edit])
          retrieve(asked, { ...question, expansion_depth: 'deep' })
        }
        const left = perform(createSearchIndex(), done)
        expect(retrieve(asked, { ...question, expansion_depth: 'deep' })).to.deep.equal(
          retrieve(left, { ...question, expansion_depth: 'deep' }),
        )
      }),
      { numRuns: 40 },
    )
  })

  describe('for another process', () => {
    let folder: string
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'grove-answers-'))
    })
    after(() => rm(folder, { recursive: true, force: true }))

    it('answers the same if it reads in slices, amid edits, and seals and merges what it has read', () => {
      let run = 0
      const looks = fc.array(aLook, { minLength: 12, maxLength: 12 })
      const two = fc.array(aQuestion, { minLength: 2, maxLength: 2 })
      fc.assert(
        fc.property(edits, looks, two, (done, some, asked) => {
          const written = createSearchIndexIn(join(folder, `${++run}.sqlite`))
          const reader = readerOf(written)
          const anew = { ...reader, index: createOrgIndex('epoch') }
          let n = 0
          lookAmidEdits(written.db, () => look(reader, some[n++ % some.length]))
          perform(written, [...done, ...removals])
          for (const question of [everything, ...asked].flatMap((one) =>
            DEPTHS.map((depth) => ({ ...one, expansion_depth: depth })),
          ))
            expect(JSON.stringify(retrieve(reader, question))).to.equal(JSON.stringify(retrieve(anew, question)))
          reader.db.close()
          written.db.close()
        }),
        { numRuns: runs(40) },
      )
    })
  })
})

/** Of nodes that most edits leave behind. */
const removals = ['a', 'b'].map((id) => ({ kind: 'removal' as const, id }))

const everything = { query: '*', top_k: IDS.length, include_raw_text: false }

/** How many nodes are read, and what follows. */
const aLook = fc.record({ most: fc.integer({ min: 1, max: 4 }), next: fc.constantFrom('seal', 'merge', 'nothing') })

type Look = typeof aLook extends fc.Arbitrary<infer T> ? T : never

function look(reader: SearchIndex, { most, next }: Look = { most: 1, next: 'nothing' }): void {
  takeInSome(reader, most)
  if (next === 'seal') flushIndex(reader.index)
  if (next === 'merge' && reader.index.texts.frozen.length > 1) [...mergeSegments(reader.index, 0)]
}

/** Calls `look` between the statements of each edit. */
function lookAmidEdits(db: Sqlite.Database, look: () => void): void {
  db.function('look', look)
  for (const table of ['node', 'tombstone'])
    for (const event of ['insert', 'update', 'delete'])
      db.exec(`create temp trigger look_${table}_${event} before ${event} on ${table} begin select look(); end`)
}

describe('search: limits', () => {
  const kin = (count: number, text: string) =>
    Array.from({ length: count }, (_, i) => note(`kin${String(i).padStart(4, '0')}`, { text }))

  it('answers with 500 nodes and says so when more are reached; the matches stay', () => {
    const children = kin(600, 'grass')
    const matches = Array.from({ length: 50 }, (_, i) => note(`match${i}`, { text: 'zebra' }))
    const index = indexOf(
      [...matches, ...children],
      children.map(({ id }) => child(id, 'match0')),
    )
    const answer = ask(index, 'zebra', { top_k: 50, expansion_depth: 'shallow' })
    expect([answer.nodes.length, answer.matches.length, answer.truncated]).to.deep.equal([500, 50, true])
    expect(nodesIn(answer)).to.include.members(matchesIn(answer))
    const ends = new Set(nodesIn(answer))
    expect(answer.connections.every(({ source, target }) => ends.has(source) && ends.has(target))).to.equal(true)
  })

  it('answers with 500 nodes untruncated when there are no more', () => {
    const children = kin(499, 'grass')
    const index = indexOf(
      [note('seed', { text: 'zebra' }), ...children],
      children.map(({ id }) => child(id, 'seed')),
    )
    const { nodes, truncated } = ask(index, 'zebra', { expansion_depth: 'deep' })
    expect([nodes.length, truncated]).to.deep.equal([500, false])
  })

  it('sends 16 MiB of text at most, in UTF-8 bytes, and leaves out the nodes that score lowest', () => {
    const children = kin(8, 'é'.repeat(1.5 * 1024 * 1024))
    const index = indexOf(
      [note('seed', { text: 'zebra' }), ...children],
      children.map(({ id }) => child(id, 'seed')),
    )
    const { nodes, truncated } = ask(index, 'zebra', { expansion_depth: 'shallow', include_raw_text: true })
    expect(nodes.map(({ id }) => id)).to.deep.equal(['seed', 'kin0000', 'kin0001', 'kin0002', 'kin0003', 'kin0004'])
    expect([nodes.every(({ text_content }) => text_content !== undefined), truncated]).to.deep.equal([true, true])
    expect(ask(index, 'zebra', { expansion_depth: 'shallow' })).to.include({ truncated: false })
  })

  it('keeps a match whose text finds no room, without the text', () => {
    const index = indexOf([
      note('a', { title: 'zebra', text: 'é'.repeat(9 * 1024 * 1024) }),
      note('b', { title: 'zebra', text: 'small' }),
    ])
    const { nodes, truncated } = ask(index, 'zebra', { include_raw_text: true })
    expect(nodes.map(({ id, text_content }) => [id, text_content])).to.deep.equal([
      ['a', undefined],
      ['b', 'small'],
    ])
    expect(truncated).to.equal(true)
  })

  it('sends text only when asked', () => {
    const index = indexOf([note('a', { text: 'zebra' })])
    expect(ask(index, 'zebra').nodes[0]).not.to.have.property('text_content')
    expect(ask(index, 'zebra', { include_raw_text: true }).nodes[0]).to.include({ text_content: 'zebra' })
  })

  it('answers with top_k matches at most, equals by id', () => {
    const index = indexOf(['d', 'b', 'a', 'c'].map((id) => note(id, { title: 'same', text: 'zebra' })))
    expect(matchesIn(ask(index, 'zebra', { top_k: 3 }))).to.deep.equal(['a', 'b', 'c'])
  })
})

describe('search: whatever is asked', () => {
  const kib16 = (part: string) => part.repeat(Math.ceil((16 * 1024) / part.length)).slice(0, 16 * 1024)
  const distinct = Array.from({ length: 4000 }, (_, i) => (i * 7919 + 456976).toString(26).replace(/\d/g, 'q')).join(
    ' ',
  )
  const hostile: [string, string][] = [
    ['nothing', ''],
    ['white space', ' \n\t\u00a0'],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor hasOwnProperty toString valueOf __defineGetter__ prototype'],
    ['emoji', '🌍🚀 👩‍👩‍👧'],
    ['regex characters', '(?:.*+?^$|{}()[\\]/ (a+)+$ \\p{L}'],
    ['stop words', 'to be or not to be'],
    ['a lone surrogate', '\ud800 zebra \udc00'],
    ['a null byte', 'zebra\u0000zebra'],
    ['combining marks alone', '\u0301\u0301\u0301'],
    ['16 KiB of one letter', kib16('y')],
    ['16 KiB of y and a vowel', kib16('ya')],
    ['16 KiB of one word', kib16('zebra ')],
    ['16 KiB of one joined word', kib16("a.b'c")],
    ['16 KiB of words that are nearly there', distinct.slice(0, 16 * 1024)],
    ['16 KiB of emoji', kib16('🌍')],
    ['16 KiB of marks', `z${kib16('\u0301')}`],
    ['16 KiB of a ligature that unfolds', kib16('ﷺ')],
  ]
  const documents = Array.from({ length: 2000 }, (_, i) =>
    note(`n${i}`, {
      title: `Zebra ${i.toString(26)}`,
      text: `${distinct.slice(i * 5, i * 5 + 300)} constructor zebra`,
    }),
  )
  const edges = documents.slice(1).map(({ id }, i) => link(id, `n${i % 40}`))
  let index: SearchIndex
  before(() => {
    index = indexOf(documents, edges)
    ask(index, 'zebra')
  })

  for (const [name, query] of hostile) {
    it(`answers ${name}, and looks up no more terms than for any long question`, () => {
      expect(ask(index, query, { expansion_depth: 'deep', top_k: 50 }).query).to.equal(query)
      expect(termsOf(index, query).length).to.be.at.most(mostTerms)
    })
  }

  it('finds words that are names of an object’s own machinery', () => {
    const odd = indexOf([note('__proto__', { title: 'constructor', text: 'hasOwnProperty' }), note('constructor')])
    expect(matchesIn(ask(odd, 'constructor'))).to.have.members(['__proto__', 'constructor'])
    expect(matchesIn(ask(odd, 'hasownproperty'))).to.deep.equal(['__proto__'])
    removeNode(odd, '__proto__')
    expect(matchesIn(ask(odd, 'constructor'))).to.deep.equal(['constructor'])
  })

  it.deep('never throws, and takes back whatever text it took in', () => {
    const anything = fc.string({ unit: anyCharacter, maxLength: 200 })
    fc.assert(
      fc.property(anything, anything, anything, (title, text, query) => {
        const one = indexOf([note('x', { title, text }), note('y', { text: 'zebra' })])
        ask(one, query, { expansion_depth: 'deep' })
        removeNode(one, 'x')
        expect(ask(one, 'zebra')).to.deep.equal(ask(indexOf([note('y', { text: 'zebra' })]), 'zebra'))
      }),
      { numRuns: 300 },
    )
  })

  it('answers nothing from an empty index', () => {
    expect(ask(createSearchIndex(), 'zebra', { expansion_depth: 'deep' })).to.deep.equal({
      query: 'zebra',
      matches: [],
      total: 0,
      total_is_exact: true,
      nodes: [],
      connections: [],
      truncated: false,
      hint: 'scope_is_empty',
    })
  })
})
