/** Pull requests of typed content: what prevents a merge, and what is only said. */

import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

const schema = { required: ['serves'], properties: { serves: { type: 'integer' } } }

describe('pull requests of typed content', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })

  const define = async (name: string, definition: object): Promise<string> =>
    (
      await ann
        .put(`/orgs/${ann.org}/types/${name}`, { definition: { title: name, schema, ...definition } })
        .then(expecting(200))
    ).body.version
  const json = (properties: object) => JSON.stringify({ title: 'Dish', properties }, null, 2)
  const proposed = async (node: TestNode, properties: object) => {
    await node.branch('better')
    await node.commit('better', { 'node.json': json(properties) })
    return node.open('better')
  }

  it('name the line, the rule and the version of a strict type', async () => {
    const target = await newNode(grove, ann)
    const node = await newNode(grove, ann, { properties: { type: 'recipe', serves: 4 } })
    await ann.post(`${node.at}/connections`, { target: target.id, type: 'written_by' }).then(expecting(201))
    const version = await define('recipe', { enforcement: 'strict', connections: { written_by: { min: 1 } } })
    await node.branch('better')
    const edge = node.git.lines('ls-tree', '--name-only', 'main:connections')[0] ?? ''
    await node.commit('better', {
      'node.json': json({ type: 'recipe', serves: 'four' }),
      [`connections/${edge}`]: null,
    })
    const pr = await node.open('better')
    expect(pr).to.deep.include({ can_merge: false, merge_reasons: ['invalid_content'], type_problems: [] })
    expect(pr.merge_problems).to.deep.equal([
      {
        path: 'node.json',
        reason: 'line 5: properties.serves must be a whole number; it is the text "four" (type recipe)',
        ...{ type: 'recipe', version, rule: 'type', pointer: '/properties/serves', line: 5 },
      },
      {
        path: 'connections',
        reason: 'connections.written_by must have at least 1 connection; the node has 0 (type recipe)',
        ...{ type: 'recipe', version, rule: 'min' },
      },
    ])
    const merged = await ann.post(`${node.at}/pull-requests/${pr.number}/merge`, {}).then(expecting(409))
    expect(merged.body).to.deep.include({ code: 'invalid_content', merge_problems: pr.merge_problems })
    const { body: page } = await ann.get(`/orgs/${ann.org}/nodes/${node.id}/pull-requests`).then(expecting(200))
    expect(page.pull_requests[0].merge_problems).to.deep.equal(pr.merge_problems)
  })

  it('say what main would break more than now under an advisory type, and merge', async () => {
    await define('note', {})
    const node = await newNode(grove, ann, { properties: { type: 'note', serves: 4 } })
    const pr = await proposed(node, { type: 'note' })
    expect(pr).to.deep.include({ can_merge: true, merge_problems: [] })
    expect(pr.type_problems).to.deep.equal([
      {
        msg: 'properties.serves is missing',
        ...{ type: 'note', rule: 'required', place: 'properties.serves', pointer: '/properties/serves', line: 3 },
      },
    ])
    const { body } = await ann.post(`${node.at}/pull-requests/${pr.number}/merge`, {}).then(expecting(200))
    expect(body.pr).to.deep.include({ status: 'merged', merge_problems: [], type_problems: [] })
    const { type_problems } = (await ann.get(node.at).then(expecting(200))).body
    expect(type_problems.map(({ msg }: { msg: string }) => msg)).to.deep.equal(['properties.serves is missing'])
    await node.branch('worse', 'main')
    await node.commit('worse', { 'content.md': 'The old fault stays.\n' })
    expect((await node.open('worse')).type_problems).to.deep.equal([])
  })

  it('into another branch are not judged', async () => {
    await define('plan', { enforcement: 'strict' })
    const node = await newNode(grove, ann, { properties: { type: 'plan', serves: 4 } })
    await node.branch('draft')
    await node.branch('more', 'draft')
    await node.commit('more', { 'node.json': json({ type: 'plan' }) })
    const pr = await node.open('more', { target_branch: 'draft' })
    expect(pr).to.deep.include({ can_merge: true, merge_problems: [], type_problems: [] })
  })

  it('change their answer when the type changes, also for clients that have the old one', async () => {
    await define('film', {})
    const node = await newNode(grove, ann, { properties: { type: 'film', serves: 4 } })
    const { number } = await proposed(node, { type: 'film' })
    const at = `${node.at}/pull-requests/${number}`
    const first = await ann.get(at).then(expecting(200))
    const { etag } = first.headers as { readonly etag: string }
    await ann.get(at, { 'if-none-match': etag }).then(expecting(304))
    await define('film', { enforcement: 'strict' })
    const strict = await ann.get(at, { 'if-none-match': etag }).then(expecting(200))
    expect(strict.body.pr).to.deep.include({ can_merge: false, merge_reason: 'invalid_content', type_problems: [] })
    await define('film', { schema: {} })
    const free = await ann.get(at, { 'if-none-match': String(strict.headers.etag) }).then(expecting(200))
    expect(free.body.pr).to.deep.include({ can_merge: true, merge_problems: [], type_problems: [] })
    await define('film', { enforcement: 'strict' })
    await ann.post(`${at}/merge`, {}).then(expecting(409))
    await ann.delete(`/orgs/${ann.org}/types/film?force=true`).then(expecting(204))
    await ann.post(`${at}/merge`, {}).then(expecting(200))
  })
})
