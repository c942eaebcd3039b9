/** How long answers are, what they say of the rest, and many calls at once. */

import { expect } from 'chai'
import fc from 'fast-check'
import { made } from '../support/cast.ts'
import { runs } from '../support/seed.ts'
import { ann, connectHttp, factsIn, type Model, parted, type Revision, tokenOf, useScene } from './scene.ts'

/** Of a title, a label and a tag as long as the contract takes them. */
const long = 'w'.repeat(99)

describe('answers of /mcp', () => {
  useScene()
  let model: Model
  let org_id: string
  let node_id: string
  let text: string
  let number: number

  before(async () => {
    org_id = ann.org
    const paragraph = 'Whales sing in the sea, and nobody knows why they do it at night.\n'
    const chapters = Array.from({ length: 60 }, (_, n) => `## Chapter ${n}\n\n${paragraph.repeat(10)}`)
    const links = Array.from({ length: 100 }, (_, n) => `[whale ${n}](https://example.org/${n})`)
    text = `${chapters.join('\n')}\n${links.join('\n')}\n\n${'x'.repeat(20_000)}\u{1F40B}${'y'.repeat(20_000)}`
    const tags = Array.from({ length: 100 }, (_, n) => `${long.slice(3)}${n}`)
    const node = { title: `Whales ${long.repeat(4)}`, tags, text_content: text }
    const made1 = await made(ann.post(`/orgs/${org_id}/nodes`, node))
    node_id = made1.id
    const children = Array.from({ length: 150 }, (_, n) => ({ title: `Whale ${n} ${long}`, parents: [node_id] }))
    const { nodes } = await made(ann.post(`/orgs/${org_id}/nodes/batch`, { nodes: children }))
    for (const { id } of nodes.slice(0, 5))
      await made(ann.post(`/orgs/${org_id}/nodes/${node_id}/connections`, { target: id, label: long }))
    const at = `/orgs/${org_id}/nodes/${node_id}`
    await made(ann.post(`${at}/branches`, { name: 'draft' }))
    const changes = [{ action: 'put', path: `${long}.md`, content: 'Whales.\n' }]
    const { id: source } = await made(ann.post(`${at}/tree/draft/commits`, { message: long, changes }))
    const proposal = { source_branch: 'draft', title: `${long} ${long}` }
    number = (await made(ann.post(`${at}/pull-requests`, proposal))).pr.number
    const anchor = { commit: source, path: `${long}.md`, quote: { exact: 'Whales' } }
    const quoted = '"\\'.repeat(5_000)
    for (let n = 0; n < 30; n++)
      await made(ann.post(`${at}/pull-requests/${number}/comments`, { text: quoted, anchor }))
    const review = { text: quoted, expected_source_commit: source }
    for (let n = 0; n < 10; n++) await made(ann.post(`${at}/pull-requests/${number}/reviews`, review))
    const fields = Array.from({ length: 100 }, (_, n) => [
      `${long.slice(0, 60)}${n}`,
      { type: 'string', title: long, description: `${long} `.repeat(2), enum: [`${long}${n}`, '"\\'.repeat(10)] },
    ])
    for (let n = 0; n < 8; n++) {
      const properties = Object.fromEntries(fields.slice(0, n < 4 ? 100 : 10))
      const definition = { title: `Whale ${n}`, schema: { properties } }
      await made(ann.put(`/orgs/${org_id}/types/whale${n}`, { definition }))
    }
    model = await connectHttp(await tokenOf('write'))
  })

  const calls = (): readonly [string, object][] => [
    ['list_organisations', {}],
    ['search', { org_id, query: 'whales sing', top_k: 20, expand: 'deep' }],
    ['read_node', { org_id, node_id }],
    ['read_node', { org_id, node_id, from: 40_000 }],
    ['list_nodes', { org_id }],
    ['list_nodes', { org_id, where: 'title~e', facets: ['tag', 'type'], properties: ['type'] }],
    ['list_properties', { org_id }],
    ['list_types', { org_id }],
    ['list_types', { org_id, type: 'whale3' }],
    ['neighbours', { org_id, node_id }],
    ['history', { org_id, node_id }],
    ['list_proposals', { org_id, node_id, status: 'all' }],
    ['list_proposals', { org_id, status: 'all' }],
    ['diff', { org_id, node_id, base: 'main', head: 'main' }],
    ['read_discussion', { org_id, node_id, number, state: 'all' }],
    ['read_discussion', { org_id, node_id, number, entry: 1 }],
    ['waiting', { org_id }],
    ['list_trash', { org_id }],
  ]

  it.deep('are as long as is asked, and no longer; 12,000 characters unless asked', async () => {
    for (const [tool, input] of calls()) {
      expect((await model.ask(tool, input)).length, tool).to.be.at.most(12_000)
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 3_000, max: 32_000 }), async (max_chars) => {
          const answer = await model.ask(tool, { ...input, max_chars })
          parted(answer)
          return answer.length <= max_chars
        }),
        { numRuns: runs(6), seed: 7 },
      )
    }
  })

  it('say what they have left out, and how to ask for it', async () => {
    const { outside, parts } = parted(await model.ask('read_node', { org_id, node_id, max_chars: 4_000 }))
    const [first] = (parts.headings ?? '').split('\n')
    expect(JSON.parse(first ?? '')).to.deep.equal({ from: 0, heading: '## Chapter 0' })
    expect(outside.split('Left out: ')[1]).to.match(
      /^\d+ of 60 headings; .* \d+ of 100 links; .* \d+ of \d+ characters of the text; call again with from: \d+\.$/,
    )
    const list = await model.ask('list_nodes', { org_id, max_chars: 5_000 })
    const next = Number(/call again with offset: (\d+)/.exec(list)?.[1])
    expect(factsIn(list, 'nodes').length).to.equal(next)
    expect(list).to.include(`${151 - next} of 151 nodes`)
    const more = await model.ask('list_nodes', { org_id, max_chars: 5_000, offset: next })
    expect(factsIn(more, 'nodes')[0]?.id).to.not.equal(factsIn(list, 'nodes').at(-1)?.id)
  })

  it('list types a page at a time, and say where the rest of a long one is', async () => {
    const seen: unknown[] = []
    for (let offset = 0; offset < 8; ) {
      const answer = await model.ask('list_types', { org_id, max_chars: 9_000, offset })
      const { outside, parts } = parted(answer)
      for (const part of Object.values(parts)) {
        const lines = part.split('\n').map((line) => JSON.parse(line))
        seen.push(lines[0].type)
        if (lines[0].type < 'whale4')
          expect(lines.at(-1).left_out)
            .to.match(/^\d+ of 101 lines; /)
            .and.include(`read grove://${org_id}/types/${lines[0].type}`)
        else expect(lines.at(-1)).to.have.property('example')
      }
      const next = Number(/call again with offset: (\d+)/.exec(outside)?.[1] ?? 8)
      expect(next).to.be.above(offset)
      offset = next
    }
    expect(seen).to.deep.equal(Array.from({ length: 8 }, (_, n) => `whale${n}`))
    const whole = await model.ask('list_types', { org_id, type: 'whale7', max_chars: 32_000 })
    expect(whole)
      .to.include(`${long.slice(0, 60)}9`)
      .and.not.include('left_out')
    const { contents } = await model.client.readResource({ uri: `grove://${org_id}/types/whale0` })
    const { parts } = parted(String((contents[0] as { text?: string }).text))
    const { definition } = await made(ann.get(`/orgs/${org_id}/types/whale0`))
    expect(JSON.parse(parts['the definition'] ?? '')).to.deep.equal(definition)
  })

  it('give a heading where it stands, and a text whole by its parts', async () => {
    const first = await model.ask('read_node', { org_id, node_id })
    const { from, heading } = factsIn(first, 'headings')[7] ?? {}
    const chapter = await model.ask('read_node', { org_id, node_id, from })
    expect(parted(chapter).parts['the text']?.startsWith(`${heading}\n`)).to.equal(true)
    let whole = ''
    for (let part = first; ; ) {
      whole += parted(part).parts['the text']
      const next = /characters of the text; call again with from: (\d+)/.exec(part)?.[1]
      if (next === undefined) break
      part = await model.ask('read_node', { org_id, node_id, from: Number(next) })
    }
    expect(whole === text).to.equal(true)
  })

  it.deep('are right for 50 calls at once, and one proposal comes of ten that are the same', async () => {
    const revisions: readonly Revision[] = ['2025-11-25', '2026-07-28']
    const token = await tokenOf('write')
    const models = await Promise.all(revisions.map((revision) => connectHttp(token, revision)))
    const changes = [{ path: 'content.md', content: 'Short.\n' }]
    const proposed = new Set<string>()
    const asked = Array.from({ length: 50 }, async (_, n) => {
      const one = models[n % 2] ?? model
      if (n < 10) proposed.add(await one.ask('propose_change', { org_id, node_id, title: 'Shorter', changes }))
      else if (n < 30) {
        const title = `Node ${n}`
        const id = /^Node (\S+)/.exec(await one.ask('create_node', { org_id, title, text: `Text ${n}.\n` }))?.[1]
        const read = await one.ask('read_node', { org_id, node_id: id })
        expect(parted(read).parts['the text']).to.equal(`Text ${n}.\n`)
        expect(factsIn(read, 'node')[0]?.title).to.equal(title)
      } else expect(await one.ask('neighbours', { org_id, node_id })).to.include('children 150')
    })
    await Promise.all(asked)
    expect(proposed.size).to.equal(1)
    const { total } = await made(ann.get(`/orgs/${org_id}/nodes/${node_id}/pull-requests`))
    expect(total, 'with the one of before()').to.equal(2)
    expect((await made(ann.get(`/orgs/${org_id}/nodes/${node_id}/branches`))).total).to.equal(3)
  })
})
