/** Passages in an answer instead of whole texts. */
import { expect } from 'chai'
import fc from 'fast-check'
import { proseOf } from '../../index/search/text/prose.ts'
import { aQuestion, ask, child, edits, indexOf, note, perform } from './notes.ts'
import { createSearchIndex, type Retrieved, retrieve } from './rows-in-memory.ts'

const words = (word: string, count: number) => `${`${word} `.repeat(count).trim()}.`

const text = `# Africa

${words('grass', 70)}

## Stripes

${words('zebra', 3)} ${words('savanna', 70)}

${words('lion', 70)}

## More stripes

A **zebra** and a [zebra](https://example.org/zebra) and a [[Equus|zebra]] and a [[zebra]]. ${words('gnu', 70)}

## Others

The zebra is last. ${words('giraffe', 70)}

### Even others

And a zebra of ${words('ostrich', 70)}
`

const passagesIn = ({ nodes }: Retrieved) => nodes.map(({ passages }) => passages ?? [])

describe('search: passages of an answer', () => {
  const index = indexOf(
    [note('a', { title: 'Animals', text }), note('b', { text: 'Grass that nobody eats.' }), note('c')],
    [child('b', 'a'), child('c', 'a')],
  )
  const passages = (more: object = {}) =>
    ask(index, 'zebra', { expansion_depth: 'shallow', include_raw_text: 'passages', ...more })

  it('are the best three of a text, best first, each with its heading and line, in prose', () => {
    const answer = passages()
    const [ofMatch = [], ofChild = [], ofEmpty] = passagesIn(answer)
    expect(ofMatch.map(({ heading, line }) => [heading, line])).to.deep.equal([
      ['More stripes', 13],
      ['Stripes', 7],
      ['Others', 17],
    ])
    expect(ofMatch[0]?.text).to.match(/^A zebra and a zebra and a zebra and a zebra\. gnu/)
    expect(ofMatch.map(({ score }) => score)).to.deep.equal(ofMatch.map(({ score }) => score).sort((a, b) => b - a))
    expect(ofChild).to.deep.equal([{ heading: '', line: 1, text: 'Grass that nobody eats.', score: 0 }])
    expect(ofEmpty).to.deep.equal([])
    expect(answer.matches[0]?.snippet).to.include('A zebra and a zebra and a zebra and a zebra. gnu gnu')
    for (const node of answer.nodes) expect(node).to.not.have.any.keys('text_content', 'text_truncated')
  })

  it('are whole or left out where max_chars ends, and it is said', () => {
    const [first] = passagesIn(passages())[0] ?? []
    const length = first?.text.length ?? 0
    const { nodes } = passages({ max_chars: length })
    expect(nodes.map((node) => node.passages?.length)).to.deep.equal([1, 0, 0])
    expect(nodes.map((node) => node.text_truncated)).to.deep.equal([true, true, undefined])
    expect(passages({ max_chars: length - 1 }).nodes[0]).to.deep.include({ passages: [], text_truncated: true })
  })

  it.deep('are in the text, at most three of a node, and never more than max_chars, whatever is asked', () => {
    fc.assert(
      fc.property(edits, aQuestion, fc.integer({ min: 1, max: 200 }), (done, question, max_chars) => {
        const state = perform(createSearchIndex(), done)
        const asked = { ...question, expansion_depth: 'deep' as const }
        const whole = retrieve(state, { ...asked, include_raw_text: true })
        const shown = retrieve(state, { ...asked, include_raw_text: 'passages', max_chars })
        expect(shown.nodes.map(({ id }) => id)).to.deep.equal(whole.nodes.map(({ id }) => id))
        const all = passagesIn(shown)
        expect(all.flat().reduce((sum, passage) => sum + passage.text.length, 0)).to.be.at.most(max_chars)
        for (const [n, some] of all.entries()) {
          expect(some.length).to.be.at.most(3)
          for (const passage of some) expect(proseOf(whole.nodes[n]?.text_content ?? '').text).to.include(passage.text)
        }
      }),
      { numRuns: 200 },
    )
  })

  it.deep('are read of a mebibyte of texts; what follows says that its are missing', () => {
    const long = Array.from({ length: 8 }, (_, n) => note(`n${n}`, { text: words(`zebra`, 40_000) }))
    const { nodes } = ask(indexOf(long), 'zebra', { top_k: 8, include_raw_text: 'passages' })
    const has = nodes.map((node) => (node.passages?.length ?? 0) > 0)
    expect(has.slice(0, 4)).to.deep.equal([true, true, true, true])
    expect(has.at(-1)).to.equal(false)
    for (const node of nodes) expect(node.text_truncated === true).to.equal(node.passages?.length === 0)
  })
})
