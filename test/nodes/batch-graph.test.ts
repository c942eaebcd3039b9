/** The graph that several nodes make together, compared with exhaustive walks on small graphs. */

import type Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import fc from 'fast-check'
import { Kysely } from 'kysely'
import type { IndexSchema } from '../../index/derived/schema.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { sqliteDialect } from '../../index/sqlite/driver.ts'
import type { NodeContent } from '../../server/domain/format/node-format.ts'
import { judgeGraph, type NodeMove } from '../../server/domain/nodes/batch-graph.ts'

const org = 'an organisation'
const ids = Array.from({ length: 6 }, (_, at) => `00000000-0000-4000-8000-00000000000${at}`)
const idAt = (at: number) => ids[at] ?? ''

/** An `absent` node has neither row nor move. A `foreign` one has its row in another organisation. */
const role = fc.constantFrom(
  ...(['still', 'moving', 'moving', 'coming', 'leaving', 'leaving', 'foreign', 'absent'] as const),
)
const someNodes = fc.uniqueArray(fc.nat(ids.length - 1), { maxLength: 3 })
const edges = fc.record({ parents: someNodes, connections: fc.array(fc.nat(ids.length - 1), { maxLength: 2 }) })
const node = fc.record({ role, before: edges, after: edges, keeps: fc.boolean(), isListed: fc.boolean() })
const graph = fc.array(node, { minLength: ids.length, maxLength: ids.length })
type Edges = typeof edges extends fc.Arbitrary<infer E> ? E : never
type Drawn = typeof node extends fc.Arbitrary<infer N> ? N : never

interface Node {
  readonly id: string
  readonly role: Drawn['role']
  readonly before: NodeContent
  readonly after: NodeContent
  /** True if it is in the batch. A leaving node may be. */
  readonly moves: boolean
}

function contentOf({ parents, connections }: Edges): NodeContent {
  return {
    jsonBlob: undefined,
    title: undefined,
    tags: [],
    properties: {},
    textBlob: undefined,
    parents: parents.map((at) => ({ id: idAt(at), label: '' })),
    connections: connections.map((at, key) => ({ id: `c${key}`, target: idAt(at), type: 'related_to', label: '' })),
    problems: [],
  }
}

/** Parents are above in the order of ids before the change, so there is no cycle yet. */
function nodesOf(drawn: readonly Drawn[]): Node[] {
  return drawn.map(({ role, before, after, keeps, isListed }, at) => {
    const isOld = ['still', 'moving', 'leaving'].includes(role)
    const old = { ...before, parents: before.parents.filter((parent) => parent < at) }
    const kept = { ...after, parents: [...new Set([...old.parents, ...after.parents])] }
    return {
      id: idAt(at),
      role,
      before: contentOf(isOld ? old : { parents: [], connections: [] }),
      after: contentOf(isOld && keeps ? kept : after),
      moves: role === 'moving' || role === 'coming' || (role === 'leaving' && isListed),
    }
  })
}

/** A path and its target for each edge. */
function edgesOf({ parents, connections }: NodeContent): Map<string, string> {
  return new Map([
    ...parents.map(({ id }) => [`parents/${id}.json`, id] as const),
    ...connections.map(({ id, target }) => [`connections/${id}.json`, target] as const),
  ])
}

/** The parents of each node once the nodes of `moved` have moved, and leaving nodes are gone. */
function parentsAfter(nodes: readonly Node[], moved: (node: Node) => boolean): Map<string, string[]> {
  const leaving = nodes.filter((one) => one.role === 'leaving').map(({ id }) => id)
  const staying = nodes.filter((one) => one.role !== 'leaving')
  return new Map(
    staying.map((one) => {
      const { parents } = moved(one) ? one.after : one.before
      return [one.id, parents.map(({ id }) => id).filter((id) => !leaving.includes(id))]
    }),
  )
}

/** True if `to` is reached from `from` by one or more edges. */
function reaches(parents: ReadonlyMap<string, readonly string[]>, from: string, to: string): boolean {
  const found = new Set(parents.get(from))
  for (const id of found) for (const next of parents.get(id) ?? []) found.add(next)
  return found.has(to)
}

const same = /^The same proposal deletes node /
const absent = /^There is no node /
const self = /^A node cannot be /
const circle = /^Node .* is already below this node, so this parent would create a cycle$/

/** The problems of edges, each as the node's position, the path and the kind of reason. */
function expectedProblems(nodes: readonly Node[]): string[] {
  const roles = new Map(nodes.map(({ id, role }) => [id, role]))
  return nodes.flatMap((one, at) => {
    if (!one.moves || one.role === 'leaving') return []
    const before = edgesOf(one.before)
    return [...edgesOf(one.after)].flatMap(([path, target]) => {
      const there = roles.get(target) ?? 'absent'
      if (there === 'leaving') return [`${at} ${path} ${same}`]
      if (before.get(path) === target) return []
      if (target === one.id) return [`${at} ${path} ${self}`]
      return there === 'absent' || there === 'foreign' ? [`${at} ${path} ${absent}`] : []
    })
  })
}

describe('the graph of a batch', () => {
  let handle: Sqlite.Database
  let db: Kysely<IndexSchema>
  before(() => {
    handle = openSqlite(':memory:')
    handle.exec('create table node (id, org_id); create table edge (source, target, edge_type)')
    db = new Kysely<IndexSchema>({ dialect: sqliteDialect(handle, 'read') })
  })
  after(() => handle.close())

  async function judged(nodes: readonly Node[]) {
    handle.exec('delete from node; delete from edge')
    const addNode = handle.prepare('insert into node values (?, ?)')
    const addEdge = handle.prepare('insert into edge values (?, ?, ?)')
    for (const { id, role, before } of nodes) {
      if (role !== 'absent' && role !== 'coming') addNode.run(id, role === 'foreign' ? 'another' : org)
      for (const parent of before.parents) addEdge.run(parent.id, id, 'parent_child')
      for (const { target } of before.connections) addEdge.run(id, target, 'connection')
    }
    const moves: NodeMove[] = nodes.flatMap(({ id, before, after, moves }, at) =>
      moves ? [{ at, id, before, after }] : [],
    )
    const named = (role: Node['role']) => new Set(nodes.filter((one) => one.role === role).map(({ id }) => id))
    return judgeGraph(db, org, moves, named('coming'), named('leaving'))
  }

  it('has the problems of all edges, also those to nodes that leave', () =>
    fc.assert(
      fc.asyncProperty(graph.map(nodesOf), async (nodes) => {
        const { problems } = await judged(nodes)
        const found = problems
          .filter(({ reason }) => !circle.test(reason))
          .map(({ at, path, reason }) => `${at} ${path} ${[same, absent, self].find((kind) => kind.test(reason))}`)
        expect(found.sort()).to.deep.equal(expectedProblems(nodes).sort())
      }),
      { numRuns: 1_000 },
    ))

  it('has a cycle if its nodes close one that no leaving node breaks', () =>
    fc.assert(
      fc.asyncProperty(graph.map(nodesOf), async (nodes) => {
        const { problems } = await judged(nodes)
        const parents = parentsAfter(nodes, ({ moves }) => moves)
        const closing = nodes.flatMap(({ id, moves, role, before, after }, at) => {
          const known = before.parents.map((parent) => parent.id)
          const fresh = after.parents.filter((parent) => parent.id !== id && !known.includes(parent.id))
          const all = moves && role !== 'leaving' ? fresh : []
          return all
            .filter((parent) => parents.has(parent.id) && reaches(parents, parent.id, id))
            .map((parent) => `${at} parents/${parent.id}.json`)
        })
        const found = problems.filter(({ reason }) => circle.test(reason)).map(({ at, path }) => `${at} ${path}`)
        if (closing.length > 0) expect(found).to.not.deep.equal([])
        expect(closing).to.include.members(found)
      }),
      { numRuns: 1_000 },
    ))

  it('moves its nodes in an order without a cycle in between', () =>
    fc.assert(
      fc.asyncProperty(graph.map(nodesOf), async (nodes) => {
        const { problems, order } = await judged(nodes)
        const parentsOf = ({ parents }: NodeContent) =>
          parents
            .map(({ id }) => id)
            .sort()
            .join()
        const changing = nodes.filter(
          ({ moves, role, before, after }) => moves && role !== 'leaving' && parentsOf(before) !== parentsOf(after),
        )
        expect([...order].sort()).to.deep.equal(changing.map(({ id }) => id))
        fc.pre(!problems.some(({ reason }) => circle.test(reason) || self.test(reason)))
        for (const count of order.keys()) {
          const parents = parentsAfter(nodes, ({ id }) => order.slice(0, count + 1).includes(id))
          for (const id of ids) expect(reaches(parents, id, id), `${id} after ${count + 1} moves`).to.equal(false)
        }
      }),
      { numRuns: 500 },
    ))
})
