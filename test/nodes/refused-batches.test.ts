/** A refused batch of nodes names the item, and writes nothing. */

import { randomUUID } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { batchNodes } from '../../server/domain/nodes/batch-input.ts'
import { countTurns } from '../support/turns.ts'
import { ann, grove, make, nodes, read, useScene } from './scene.ts'

type Loc = (string | number)[]

describe('a batch of nodes refuses', () => {
  useScene()

  const good = { ref: 'good', title: 'Good' }
  /** Below the item beside it, where that is so called. */
  const below = { ...good, parents: ['me'] }
  const id = randomUUID()
  const stranger = randomUUID()

  /** An item beside a good one, and what of it is wrong. */
  const wrong: Record<string, [item: object, loc: Loc, msg: RegExp]> = {
    'a title that is blank': [{ title: ' ' }, ['title'], /blank/],
    'a ref that is a UUID': [{ title: 'x', ref: id.toUpperCase() }, ['ref'], /UUID/],
    'a ref that another item has': [
      { title: 'x', ref: 'good' },
      ['ref'],
      /^nodes\[0\] and nodes\[1\] have the same ref: good$/,
    ],
    'a ref that no item has': [{ title: 'x', parents: ['nobody'] }, ['parents', 0], /neither the id/],
    'a parent that does not exist': [{ title: 'x', parents: ['good', stranger] }, ['parents', 1], /There is no node/],
    'a parent that is named twice': [{ id, title: 'x', parents: ['good', 'good'] }, ['parents'], /unique|twice/],
    'a node that is its own parent': [{ ref: 'me', title: 'x', parents: ['me'] }, ['parents', 0], /its own parent/],
    'a target that does not exist': [
      { title: 'x', connections: [{ target: 'good' }, { target: stranger }] },
      ['connections', 1],
      /^There is no node/,
    ],
    'a circle': [
      { ref: 'me', title: 'x', parents: ['good'] },
      ['parents', 0],
      /^parents\/good\.json: Node good is already below this node, so this parent would create a cycle$/,
    ],
    'a connection to itself': [
      { ref: 'me', title: 'x', connections: [{ id: 'c', target: 'me' }] },
      ['connections', 0],
      /connected to itself/,
    ],
    'two connections of one id': [
      {
        title: 'x',
        connections: [
          { id: 'c', target: 'good' },
          { id: 'C', target: 'good' },
        ],
      },
      ['connections', 1, 'id'],
      /^nodes\[1\]\.connections\[0\] and nodes\[1\]\.connections\[1\] have ids that differ only in case$/,
    ],
    'a path that git forbids': [{ title: 'x', files: [{ path: '.git/x', content: '' }] }, ['files', 0, 'path'], /path/],
    'a path that is named twice': [
      {
        title: 'x',
        files: [
          { path: 'a', content: '' },
          { path: 'a', content: '' },
        ],
      },
      ['files', 1, 'path'],
      /^nodes\[1\]\.files\[0\] and nodes\[1\]\.files\[1\] have the same path$/,
    ],
    'paths that differ in case only': [
      {
        title: 'x',
        files: [
          { path: 'a', content: '' },
          { path: 'A', content: '' },
        ],
      },
      ['files', 0, 'path'],
      /only in case/,
    ],
    'a file where a folder must be': [
      {
        title: 'x',
        files: [
          { path: 'a', content: '' },
          { path: 'a/b', content: '' },
        ],
      },
      ['files', 0, 'path'],
      /file and a folder/,
    ],
    'a file that is written from a field': [
      { title: 'x', files: [{ path: 'node.json', content: '{}' }] },
      ['files', 0, 'path'],
      /other fields/,
    ],
    'content that is not base64': [
      { title: 'x', files: [{ path: 'a', content: '*', encoding: 'base64' }] },
      ['files', 0, 'content'],
      /base64/,
    ],
    'properties of over 64 KiB': [{ title: 'x', properties: { text: 'x'.repeat(65_536) } }, [], /64 KiB/],
  }
  for (const [what, [item, loc, msg]] of Object.entries(wrong)) {
    it(what, async () => {
      const before = (await ann.get(nodes)).body.total
      for (const [method, named] of [
        ['post', {}],
        ['put', { ref: 'second' }],
      ] as const) {
        const { status, body } = await ann[method](`${nodes}/batch`, {
          nodes: [what === 'a circle' ? below : good, { ...named, ...item }],
        })
        expect([status, body.detail?.[0]?.loc], JSON.stringify(body)).to.deep.equal([422, ['body', 'nodes', 1, ...loc]])
        expect(body.detail[0].msg).to.match(msg)
      }
      expect((await ann.get(nodes)).body.total).to.equal(before)
    })
  }

  it('a number of its properties that is not kept exactly', async () => {
    const text = '{"nodes":[{"title":"x"},{"ref":"y","title":"y","properties":{"n":12345678901234567890}}]}'
    const { status, body } = await ann.post(`${nodes}/batch`, text)
    expect([status, body.detail[0].loc]).to.deep.equal([422, ['body', 'nodes', 1, 'properties']])
  })

  it('an id that is there, here or elsewhere, in the index or on the disk alone', async () => {
    const node = await make()
    const other = (await ann.post('/orgs', { name: 'Elsewhere' })).body.id
    const there = (await ann.post(`/orgs/${other}/nodes`, { title: 'There' })).body.id
    const onDisk = randomUUID()
    await mkdir(join(grove.dataDir, ann.org, `${onDisk}.git`, 'objects'), { recursive: true })
    for (const [id, location] of [
      [node.id, node.at],
      [onDisk, `${nodes}/${onDisk}`],
      [there, undefined],
    ]) {
      const answer = await ann.post(`${nodes}/batch`, { nodes: [good, { id, title: 'x' }] })
      expect([answer.status, answer.body.code, answer.headers.location]).to.deep.equal([409, 'node_exists', location])
      expect(answer.body.detail).to.include(id)
    }
    const put = await ann.put(`${nodes}/batch`, { nodes: [good, { id: there, title: 'x' }] })
    expect([put.status, put.body.code]).to.deep.equal([409, 'node_exists'])
  })

  it('more than 1,000 nodes, none at all, and items of PUT that have no name', async () => {
    const many = Array.from({ length: 1_001 }, () => ({ title: 'x' }))
    expect((await ann.post(`${nodes}/batch`, { nodes: many })).body.detail[0].loc).to.deep.equal(['body', 'nodes'])
    expect((await ann.post(`${nodes}/batch`, { nodes: [] })).body.detail[0].loc).to.deep.equal(['body', 'nodes'])
    const { body } = await ann.put(`${nodes}/batch`, { nodes: [good, { title: 'x' }] })
    expect(body.detail[0].loc).to.deep.equal(['body', 'nodes', 1, 'id'])
    const untitled = await ann.put(`${nodes}/batch`, { nodes: [good, { ref: 'x' }] })
    expect(untitled.body.detail[0]).to.deep.include({ loc: ['body', 'nodes', 1, 'title'], type: 'missing' })
  })

  it('a circle through nodes that are not in the batch', async () => {
    const [top, middle] = [await make({ title: 'Top' }), await make({ title: 'Middle' })]
    await ann.put(`${middle.at}/parents/${top.id}`, {})
    const answer = await ann.put(`${nodes}/batch`, {
      nodes: [
        { ref: 'low', title: 'Low', parents: [middle.id] },
        { id: top.id, parents: ['low'] },
      ],
    })
    expect([answer.status, answer.body.detail?.[0]?.loc]).to.deep.equal([422, ['body', 'nodes', 1, 'parents', 0]])
    expect((await read(top)).parents).to.deep.equal([])
  })

  it('to change main if that takes a pull request; new nodes are made', async () => {
    const org = (await ann.post('/orgs', { name: 'Strict', require_pull_requests: true })).body.id
    const at = `/orgs/${org}/nodes/batch`
    const first = await ann.put(at, { nodes: [{ ref: 'a', title: 'A' }] })
    const [{ id: made, head }] = first.body.nodes
    const answer = await ann.put(at, {
      nodes: [
        { ref: 'b', title: 'B' },
        { id: made, title: 'Other' },
      ],
    })
    expect([answer.status, answer.body.code]).to.deep.equal([409, 'pull_request_required'])
    expect((await ann.get(`/orgs/${org}/nodes`)).body.nodes).to.have.length(1)
    const same = await ann.put(at, { nodes: [{ id: made, title: 'A' }] })
    expect(same.body.nodes).to.deep.equal([{ id: made, head, status: 'unchanged' }])
  })

  it('and leaves no unfinished folder', async () => {
    expect((await readdir(join(grove.dataDir, ann.org))).filter((name) => !name.endsWith('.git'))).to.deep.equal([])
  })

  it.deep('as many problems as an answer lists, of a million, and takes turns while it looks for them', async () => {
    const names = Array.from({ length: 1_000 }, (_, n) => `n${n}`)
    const sent = (parents: readonly string[]) => names.map((ref) => ({ ref, title: ref, parents }))
    expect((await countTurns(() => batchNodes(sent(names), async () => {}))).turns).to.be.at.least(100)
    const problems = await batchNodes(sent(names.map(() => 'n0')), async () => {}).catch(({ problems }) => problems)
    expect(problems).to.have.length(100)
  })
})
