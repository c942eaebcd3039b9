/** A view of other contents beside an index that is built of them. */
import { expect } from 'chai'
import { prepareView, type View, type ViewNode, viewOf } from '../../index/search/ranking/view.ts'
import { retrieve } from '../../index/search/retrieve.ts'
import { applyChanges, createOrgIndex, flushIndex, setNode } from '../../index/search/segments/org-index.ts'
import { type Random, randomOf } from '../support/random.ts'
import { child, DEPTHS, link, note, WORDS } from './notes.ts'
import { languageOf } from './over-files.ts'
import { createSearchIndex, type SearchIndex, type SearchQuestion, setDocument, setEdges } from './rows-in-memory.ts'

const count = 120
const orgId = 'org'
const ids = Array.from({ length: count }, (_, n) => `n${String(n).padStart(3, '0')}`)

describe('a view of some nodes as they are elsewhere', () => {
  for (const seed of [1, 2])
    it.deep(
      `answers to the last bit as an index that is built of that state, and leaves the index as it was (seed ${seed})`,
      () => {
        const random = randomOf(seed)
        const nodes = new Map(ids.map((id) => [id, nodeOf(random, id)]))
        const index = filled(nodes, seed)
        let compared = 0
        for (let round = 0; round < 12; round++) {
          const before = answers(index, questionsOf(randomOf(round), 4))
          const view = viewFrom(random, index)
          const questions = questionsOf(random, 6)
          expect(inView(index, view, questions)).to.deep.equal(builtAnew(nodes, view, questions, seed))
          expect(answers(index, questionsOf(randomOf(round), 4)), 'main afterwards').to.deep.equal(before)
          compared += questions.length
          if (round % 3 === 2) flushIndex(index.index)
          for (const id of [random.pick(ids), random.pick(ids)]) {
            const node = nodeOf(random, id)
            nodes.set(id, node)
            setDocument(index, documentOf(node))
          }
          caughtUp(index)
        }
        expect(compared).to.be.above(50)
      },
    )

  it('is not answered where a node has changed since that it does not know', () => {
    const random = randomOf(9)
    const index = filled(new Map(ids.map((id) => [id, nodeOf(random, id)])), 9)
    const known = nodeOf(random, 'n001')
    const view = { ...viewFrom(random, index), nodes: [known], gone: ['n002'] }
    const isAnswered = (of: View) => inView(index, of, questionsOf(random, 1)) !== undefined
    for (const id of ['n001', 'n002']) setDocument(index, documentOf(nodeOf(random, id)))
    expect(isAnswered(view)).to.equal(true)
    setDocument(index, documentOf(nodeOf(random, 'n003')))
    expect([isAnswered(view), isAnswered({ ...view, branch: 'draft' })]).to.deep.equal([false, true])
    index.db.prepare("insert into branch (org_id, node_id, name, head) values ('org', 'n003', 'draft', 'c')").run()
    expect(isAnswered({ ...view, branch: 'draft' })).to.equal(false)
    expect(isAnswered({ ...view, version: view.version + 3 })).to.equal(true)
    expect(isAnswered({ ...view, version: view.version + 3, epoch: 'another' })).to.equal(false)
  })

  it('lacks a node of it that has been deleted since', () => {
    const random = randomOf(8)
    const index = filled(new Map(ids.map((id) => [id, nodeOf(random, id)])), 8)
    const node = { ...nodeOf(random, 'n001'), text: 'quagga' }
    const view = { ...viewFrom(random, index), nodes: [node], gone: [] }
    const question: SearchQuestion = { query: 'quagga', top_k: 5, expansion_depth: 'none', include_raw_text: false }
    expect(inView(index, view, [question])?.[0]).to.contain('"n001"')
    index.db.prepare("delete from node where id = 'n001'").run()
    expect(inView(index, view, [question])?.[0]).not.to.contain('"n001"')
  })
})

function nodeOf(random: Random, id: string): ViewNode {
  const words = (most: number) => Array.from({ length: random.below(most) }, () => random.pick(WORDS)).join(' ')
  return {
    id,
    title: `${words(3)} ${id}`,
    tags: random.below(3) === 0 ? '["red"]' : '[]',
    properties: '{}',
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: new Date(Date.UTC(2026, 0, 1 + random.below(300))).toISOString(),
    head: `c${random.below(9)}`,
    // Headings make passages.
    text: Array.from({ length: random.pick([1, 1, 2, 5, 12]) }, () => `# ${words(3)}\n\n${words(30)}`).join('\n\n'),
  }
}

const documentOf = ({ id, title, tags, updated_at, head, text }: ViewNode) =>
  note(id, { title, tags: JSON.parse(tags), updatedAt: updated_at, commitId: head ?? '', text })

/** With edges that follow from the seed. */
function filled(nodes: ReadonlyMap<string, ViewNode>, seed: number): SearchIndex {
  const random = randomOf(seed)
  const index = createSearchIndex()
  for (const node of nodes.values()) setDocument(index, documentOf(node))
  for (const id of ids) {
    const others = [...new Set(Array.from({ length: random.below(4) }, () => random.pick(ids)))]
    setEdges(
      index,
      id,
      others.map((other, n) => (n === 0 ? child(id, other) : link(id, other))),
    )
  }
  caughtUp(index)
  return index
}

function caughtUp({ index, rows }: SearchIndex): void {
  const state = rows.orgState(orgId)
  if (state) applyChanges(index, rows, orgId, state, languageOf, () => false)
}

function viewFrom(random: Random, { rows }: SearchIndex): View {
  const chosen = random.shuffled(ids)
  const replaced = random.pick([0, 1, 20, 60])
  const { epoch = '', version = 0 } = rows.orgState(orgId) ?? {}
  return {
    epoch,
    version,
    nodes: chosen.slice(0, replaced).map((id) => nodeOf(random, id)),
    gone: chosen.slice(replaced, replaced + random.pick([0, 1, 30])),
  }
}

function questionsOf(random: Random, number: number): SearchQuestion[] {
  return Array.from({ length: number }, (_, n) => ({
    query: Array.from({ length: 1 + random.below(3) }, () => random.pick(WORDS)).join(' '),
    top_k: random.pick([3, 20]),
    expansion_depth: DEPTHS[n % DEPTHS.length] ?? 'none',
    include_raw_text: n % 2 === 0,
    ...(n % 3 === 0 ? { scope: { tags: ['red'], updated_after: '2026-03-01T00:00:00.000Z' } } : {}),
  }))
}

function answers({ index, rows }: SearchIndex, questions: readonly SearchQuestion[]): string[] {
  return questions.map((question) => JSON.stringify(retrieve(index, rows, languageOf, orgId, question)))
}

function inView(of: SearchIndex, view: View, questions: readonly SearchQuestion[]): string[] | undefined {
  caughtUp(of)
  const preparing = prepareView(view, languageOf)
  let step = preparing.next()
  while (!step.done) step = preparing.next()
  const found = viewOf(of.index, of.rows, orgId, step.value)
  return found && answers({ ...of, ...found }, questions)
}

/** The edges are main's: those of nodes that are gone count for others. */
function builtAnew(
  nodes: ReadonlyMap<string, ViewNode>,
  { nodes: replaced, gone }: View,
  questions: readonly SearchQuestion[],
  seed: number,
): string[] {
  const state = new Map([...nodes, ...replaced.map((node): [string, ViewNode] => [node.id, node])])
  const { rows, ...rest } = filled(state, seed)
  const index = createOrgIndex('')
  for (const [id, node] of state) if (!gone.includes(id)) setNode(index, { ...node, beginning: node.text }, languageOf)
  return answers({ ...rest, rows, index }, questions)
}
