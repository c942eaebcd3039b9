/** Searches of dense graphs: what one looks at, counted in rows, and that hubs lead to what fits the question. */
import { expect } from 'chai'
import { type Retrieved, retrieve } from '../../index/search/retrieve.ts'
import { applyChanges, createOrgIndex } from '../../index/search/segments/org-index.ts'
import type { SearchRows } from '../../index/search/segments/rows.ts'
import { type Random, randomOf } from '../support/random.ts'
import { languageOf } from './over-files.ts'
import { createSearchIndex, type SearchIndex, type SearchQuestion } from './rows-in-memory.ts'

const nodes = 1_500
const edgesEach = 100
const children = 50_000
const deep: SearchQuestion = { query: 'whale', top_k: 50, expansion_depth: 'deep', include_raw_text: false }

interface NewEdge {
  readonly source: string
  readonly target: string
  readonly type: 'parent_child' | 'connection'
  readonly connectionType: string
}

interface Looked {
  neighbours: number
  connections: number
}

describe('a search of a dense graph', () => {
  let index: SearchIndex
  let answer: Retrieved
  let looked: Looked
  const edges = denseEdges(randomOf(1))
  before(() => {
    index = filled(nodes, edges)
    ;[answer, looked] = ask(index, deep)
  })
  after(() => index.db.close())

  it('looks at 1,400 edges for neighbours and at 1,000 for the connections of the answer, and says that it left out some', () => {
    expect(looked.neighbours).to.be.within(1_000, 1_400)
    expect(looked.connections).to.be.within(800, 2_000)
    expect(answer.nodes).to.have.length(500)
    expect(answer.truncated).to.equal(true)
  })

  it.deep('answers the same whatever the order is in which the edges came', () => {
    const some = edges.slice(0, 40_000)
    const answers = [2, 3].map((seed) => {
      const other = filled(nodes, randomOf(seed).shuffled(some))
      const [found] = ask(other, deep)
      other.db.close()
      return JSON.stringify(found)
    })
    expect(answers[1]).to.equal(answers[0])
  })

  it('answers the same where several connections lead to one node at the end of what is looked at', () => {
    const many = Array.from({ length: 520 }, (_, n) =>
      ['cites', 'extends'].map((type) => connection('n000000', idOf(n + 1), type)),
    )
    // The first 500 of them end between the two to one node.
    const all = [...many.flat(), connection('n000000', idOf(1), 'is_a')]
    const question = { ...deep, top_k: 1, query: 'title0', scope: { connection_types: ['extends'] } }
    const answers = [1, 2, 3, 4, 5, 6].map((seed) => {
      const other = filled(600, randomOf(seed).shuffled(all))
      const [found] = ask(other, question)
      other.db.close()
      return JSON.stringify(found)
    })
    expect(new Set(answers).size).to.equal(1)
  })
})

describe('a search beside a hub', () => {
  let index: SearchIndex
  const last = idOf(children)
  before(() => {
    // All but the last are told from the question's words by none of their own.
    index = filled(
      children + 1,
      Array.from({ length: children }, (_, n) => ({
        ...connection('n000000', idOf(n + 1)),
        type: 'parent_child' as const,
      })),
    )
    index.db.prepare("update node set title = 'Hub of krill' where id = 'n000000'").run()
    index.db.prepare("update node set title = 'Krill song' where id = ?").run(last)
    touch(index, ['n000000', last])
  })
  after(() => index.db.close())

  it.deep(
    'reaches the child that fits the question best, though 50,000 come before it by id, and says that it left out others',
    () => {
      for (const expansion_depth of ['shallow', 'deep'] as const) {
        const [{ nodes: found, matches, truncated }, { neighbours, connections }] = ask(index, {
          ...deep,
          query: 'hub krill',
          top_k: 1,
          expansion_depth,
        })
        expect(matches.map(({ node_id }) => node_id)).to.deep.equal(['n000000'])
        expect(
          found.find(({ id }) => id === last),
          expansion_depth,
        ).to.include({ relation: 'child', via: 'n000000' })
        expect(found[1]?.id, 'the first beside the match').to.equal(last)
        expect(found).to.have.length(500)
        expect(truncated).to.equal(true)
        expect(neighbours).to.be.at.most(2_000)
        expect(connections).to.be.at.most(20_000)
      }
    },
  )

  it.deep('says of a search that left out nothing that it is whole', () => {
    const [{ truncated }] = ask(index, { ...deep, query: 'hub krill', top_k: 1, expansion_depth: 'none' })
    expect(truncated).to.equal(false)
  })
})

function idOf(n: number): string {
  return `n${String(n).padStart(6, '0')}`
}

function connection(source: string, target: string, connectionType = 'cites'): NewEdge {
  return { source, target, type: 'connection', connectionType }
}

function denseEdges(random: Random): NewEdge[] {
  return Array.from({ length: nodes }, (_, n) => n).flatMap((n) => {
    const targets = new Set<number>()
    while (targets.size < edgesEach) targets.add(random.below(nodes))
    targets.delete(n)
    return [...targets].map((target) => connection(idOf(n), idOf(target)))
  })
}

/** Nodes whose every third text has the word, and the edges in this order. */
function filled(count: number, edges: readonly NewEdge[]): SearchIndex {
  const index = createSearchIndex()
  const { db, orgId } = index
  db.transaction(() => {
    const node = db.prepare(
      `insert into node (id, org_id, title, description, tags, properties, created_at, updated_at, head, ledger, version, changed)
       values (?, ?, ?, '', '[]', '{}', '', '2026-03-01T00:00:00.000Z', null, '', 0, ?)`,
    )
    const text = db.prepare('insert into node_text values (?, ?)')
    for (let n = 0; n < count; n++) {
      node.run(idOf(n), orgId, `title${n}`, n + 1)
      text.run(idOf(n), n % 3 === 0 ? 'a whale' : '')
    }
    const edge = db.prepare(
      `insert into edge (org_id, holder, key, edge_type, source, target, connection_type, label) values (?, ?, ?, ?, ?, ?, ?, '')`,
    )
    for (const { source, target, type, connectionType } of edges) {
      const isParent = type === 'parent_child'
      const [holder, key] = isParent ? [target, source] : [source, `${connectionType}-${target}`]
      edge.run(orgId, holder, key, type, source, target, isParent ? '' : connectionType)
    }
    db.prepare('update org set version = ?').run(count)
  })()
  return index
}

function touch({ db }: SearchIndex, ids: readonly string[]): void {
  for (const id of ids) {
    db.prepare('update org set version = version + 1').run()
    db.prepare('update node set changed = (select version from org) where id = ?').run(id)
  }
}

const made = new WeakMap<SearchIndex, ReturnType<typeof createOrgIndex>>()

/** The answer, and the edges that were looked at, each once; one more row of a statement says that there are others. */
function ask(index: SearchIndex, question: SearchQuestion): [Retrieved, Looked] {
  const { rows, orgId } = index
  const looked: Looked = { neighbours: 0, connections: 0 }
  const firstOf = new Map<string, number>()
  const counting: SearchRows = {
    ...rows,
    edgesAt: (id, end, type, limit) => {
      const found = rows.edgesAt(id, end, type, limit)
      const key = `${id} ${end} ${type}`
      const before = firstOf.get(key) ?? 0
      firstOf.set(key, Math.max(before, Math.min(found.others.length, limit - 1)))
      looked.neighbours += (firstOf.get(key) ?? 0) - before
      return found
    },
    edgesTo: (id, end, type, others) => {
      const found = rows.edgesTo(id, end, type, others)
      looked.neighbours += found.others.length
      return found
    },
    edgesFrom: (id) => {
      const found = rows.edgesFrom(id)
      looked.connections += found.targets.length
      return found
    },
  }
  return rows.inSnapshot(() => {
    const state = rows.orgState(orgId)
    if (state === undefined) throw new Error('The organisation is missing')
    const own = made.get(index) ?? createOrgIndex(state.epoch)
    made.set(index, own)
    applyChanges(own, rows, orgId, state, languageOf, () => false)
    return [retrieve(own, counting, languageOf, orgId, question), looked]
  })
}
