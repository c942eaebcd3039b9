/** Tags that are nested by slashes: their order, their counts, and the nodes of each. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { titleKey } from '../../index/derived/title-order.ts'
import { cli } from '../operator/desk.ts'
import { expecting } from '../support/node.ts'
import type { PersonClient } from '../support/people.ts'
import { runs } from '../support/seed.ts'
import { ann, emptyOrg, grove, useScene } from './scene.ts'

interface Tagged {
  readonly id: string
  title: string
  tags: readonly string[]
}

describe('nested tags', () => {
  useScene()

  let atlas: PersonClient
  beforeEach(async () => {
    atlas = await emptyOrg()
  })

  const at = (path: string) => `/orgs/${atlas.org}${path}`
  const make = async (nodes: readonly Tagged[]) => {
    await ann.post(at('/nodes/batch'), { nodes }).then(expecting(201))
  }
  const page = async (query = '') => (await ann.get(at(`/tags${query}`)).then(expecting(200))).body
  type Row = { name: string; num_nodes: number; num_nodes_within: number }
  const listed = async (query: string) =>
    (await page(query)).tags.map(({ name, num_nodes, num_nodes_within }: Row) => [name, num_nodes, num_nodes_within])
  const nodesOf = async (tag: string, query = '') =>
    (await ann.get(at(`/tags/nodes?tag=${encodeURIComponent(tag)}${query}`)).then(expecting(200))).body
  const titlesOf = async (tag: string, query = '') =>
    (await nodesOf(tag, query)).nodes.map(({ title }: { title: string }) => title)
  const tagged = (title: string, ...tags: string[]): Tagged => ({ id: randomUUID(), title, tags })

  it('are below the tags above them, in natural order, with a node counted once', async () => {
    await make([
      tagged('Groups', 'math/algebra', 'math/Week 10'),
      tagged('Rings', 'math/algebra/rings', 'math/week 2'),
      tagged('All', 'math'),
      tagged('Money', 'math 2'),
      tagged('Case', 'Math/algebra'),
    ])
    expect(await listed('?order=name')).to.deep.equal([
      ['Math', 0, 1],
      ['Math/algebra', 1, 1],
      ['math', 1, 3],
      ['math/algebra', 1, 2],
      ['math/algebra/rings', 1, 1],
      ['math/week 2', 1, 1],
      ['math/Week 10', 1, 1],
      ['math 2', 1, 1],
    ])
    expect((await listed('')).map(([name]: [string]) => name)).to.not.include('Math')
    expect(await listed('?order=name&under=math&limit=2')).to.deep.equal([
      ['math/algebra', 1, 2],
      ['math/algebra/rings', 1, 1],
    ])
    expect((await page('?order=name&under=math&limit=2')).total).to.equal(4)
    expect(await listed('?order=name&q=WEEK')).to.deep.equal([
      ['math/week 2', 1, 1],
      ['math/Week 10', 1, 1],
    ])
    expect(await page('?q=week&limit=1&offset=1')).to.deep.equal({
      tags: [{ name: 'math/week 2', num_nodes: 1, num_nodes_within: 1 }],
      ...{ total: 2, limit: 1, offset: 1 },
    })
  })

  it('have a list of nodes in the order of titles, with or without those of tags below', async () => {
    await make([
      tagged('Week 10', 'math'),
      tagged('week 2', 'math/algebra', 'math/analysis'),
      tagged('Ábc', 'math/algebra', 'math'),
      tagged('Other', 'mathematics'),
    ])
    expect(await titlesOf('math')).to.deep.equal(['Ábc', 'week 2', 'Week 10'])
    expect(await titlesOf('math', '&exact=true')).to.deep.equal(['Ábc', 'Week 10'])
    expect(await nodesOf('math', '&exact=true&limit=1&offset=1')).to.deep.include({ total: 2, num_nodes_within: 3 })
    const { nodes, ...counts } = await nodesOf('math', '&limit=1')
    expect(counts).to.deep.equal({ total: 3, limit: 1, offset: 0, num_nodes: 2, num_nodes_within: 3 })
    expect(nodes[0]).to.deep.include({ title: 'Ábc', slug: 'ábc', tags: ['math/algebra', 'math'] })
    expect(await nodesOf('nothing')).to.deep.include({ nodes: [], total: 0, num_nodes: 0, num_nodes_within: 0 })
  })

  it('nest only by slashes between two other characters, and up to eight levels', async () => {
    const deep = Array.from({ length: 12 }, (_, n) => String(n + 1)).join('/')
    await make([tagged('Odd', '/a', 'b/', 'c//d', 'https://e', deep)])
    const names = (await listed('?order=name')).map(([name]: [string]) => name)
    expect(names.filter((name: string) => !name.startsWith('1'))).to.have.members(
      ['/a', 'b/', 'c//d', 'https://e', 'https://e'].slice(0, 4),
    )
    expect(names.filter((name: string) => name.startsWith('1'))).to.deep.equal([
      ...['1', '1/2', '1/2/3', '1/2/3/4', '1/2/3/4/5', '1/2/3/4/5/6', '1/2/3/4/5/6/7', deep],
    ])
  })

  it('are refused like other tags if they are empty or too long', async () => {
    for (const query of ['', '?tag=', `?tag=${'x'.repeat(101)}`, '?tag=x&exact=maybe'])
      expect((await ann.get(at(`/tags/nodes${query}`))).status, query).to.equal(422)
    for (const query of ['?under=', `?q=${'x'.repeat(101)}`, '?order=age'])
      expect((await ann.get(at(`/tags${query}`))).status, query).to.equal(422)
  })

  it('agree with a table after any changes, also in a rebuilt index', async () => {
    const names = ['a', 'a/b', 'a/b/c', 'A/b', 'x/2', 'x/10', 'x', 'ä/b']
    const tags = fc.uniqueArray(fc.constantFrom(...names), { maxLength: 4 })
    const title = fc.constantFrom('Sea', 'sea 2', 'sea 10', 'Ärger', 'Zoo')
    const step = fc.oneof(
      fc.record({ act: fc.constant('create' as const), title, tags }),
      fc.record({ act: fc.constant('tags' as const), which: fc.nat(20), tags }),
      fc.record({ act: fc.constant('title' as const), which: fc.nat(20), title }),
      fc.record({ act: fc.constant('delete' as const), which: fc.nat(20) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 10 }), async (steps) => {
        atlas = await emptyOrg()
        const world: Tagged[] = []
        for (const one of steps) {
          const node = 'which' in one ? world[one.which % Math.max(1, world.length)] : undefined
          if (one.act === 'create') {
            const made = { id: randomUUID(), title: one.title, tags: one.tags }
            await make([made])
            world.push(made)
          } else if (node !== undefined && one.act === 'delete') {
            await ann.delete(at(`/nodes/${node.id}`)).then(expecting(204))
            world.splice(world.indexOf(node), 1)
          } else if (node !== undefined) {
            const fields = one.act === 'tags' ? { tags: one.tags } : { title: 'title' in one ? one.title : '' }
            await ann.patch(at(`/nodes/${node.id}`), fields).then(expecting(200))
            Object.assign(node, fields)
          }
        }
        expect(await listed('?order=name')).to.have.deep.members(countedIn(world))
        for (const [tag] of countedIn(world)) {
          const all = world.filter((node) => node.tags.some((one) => isWithin(one, tag)))
          expect(
            (await nodesOf(tag)).nodes.map(({ id }: Tagged) => id),
            tag,
          ).to.deep.equal(sorted(all))
          const own = world.filter((node) => node.tags.includes(tag))
          expect((await nodesOf(tag, '&exact=true')).nodes.map(({ id }: Tagged) => id)).to.deep.equal(sorted(own))
        }
      }),
      { numRuns: runs(12) },
    )
    const { findings } = JSON.parse((await cli(grove.dataDir, 'doctor', '--json')).stdout)
    expect(findings).to.deep.equal([])
  })
})

const isWithin = (one: string, tag: string) => one === tag || one.startsWith(`${tag}/`)

/** Counts as the API should, by comparing all tags with all nodes. */
function countedIn(world: readonly Tagged[]): [string, number, number][] {
  const used = world.flatMap(({ tags }) => tags)
  const all = new Set(used.flatMap((tag) => tag.split('/').map((_, n, parts) => parts.slice(0, n + 1).join('/'))))
  return [...all].map((tag) => [
    tag,
    world.filter(({ tags }) => tags.includes(tag)).length,
    world.filter(({ tags }) => tags.some((one) => isWithin(one, tag))).length,
  ])
}

function sorted(nodes: readonly Tagged[]): string[] {
  const key = ({ id, title }: Tagged) => Buffer.from(`${titleKey(title)}\u0000${id}`)
  return [...nodes].sort((a, b) => Buffer.compare(key(a), key(b))).map(({ id }) => id)
}
