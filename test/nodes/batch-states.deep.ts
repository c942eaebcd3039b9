/** PUT of many nodes: brings them to a state, commits nothing where they are in it, and completes what was cut off. */

import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { grove as command } from '../support/command.ts'
import { everythingIn } from '../support/everything.ts'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { runs } from '../support/seed.ts'
import { ann, emptyOrg, grove, make, nodes, read, useScene } from './scene.ts'

const put = (items: readonly object[], at = nodes) => ann.put(`${at}/batch`, { nodes: items })

async function statuses(items: readonly object[], at = nodes): Promise<string[]> {
  const { body } = await put(items, at).then(expecting(200))
  return body.nodes.map(({ status }: { status: string }) => status)
}

describe('a batch of nodes that is put', () => {
  useScene()

  it('commits once to what differs, leaves what is absent, and nothing the second time', async () => {
    const [oceans, krill] = [await make({ title: 'Oceans' }), await make({ title: 'Krill' })]
    const whales = await make({ title: 'Whales', text_content: 'They sing', tags: ['sea'], parents: [oceans.id] })
    await ann.put(`${whales.at}/parents/${oceans.id}`, { label: 'home' })
    await whales.commit('main', { 'songs/one.txt': 'one', 'songs/two.txt': 'two' })
    const items = [
      {
        id: whales.id,
        tags: ['sea', 'mammal'],
        parents: [oceans.id, 'arctic'],
        connections: [{ target: krill.id, type: 'feeds_on' }],
        files: [{ path: 'songs/two.txt', content: 'two again' }],
      },
      { id: randomUUID(), ref: 'arctic', title: 'Arctic', parents: [oceans.id] },
      { id: krill.id, title: 'Krill' },
    ]
    expect(await statuses(items)).to.deep.equal(['updated', 'created', 'unchanged'])
    const after = await read(whales)
    expect(after).to.deep.include({ title: 'Whales', text_content: 'They sing', tags: ['sea', 'mammal'] })
    expect(after.parents.map(({ label }: { label: string }) => label).sort()).to.deep.equal(['', 'home'])
    const files = whales.git.lines('ls-tree', '-r', '--name-only', 'main').filter((path) => path.startsWith('songs'))
    expect(files).to.deep.equal(['songs/two.txt'])
    expect(whales.git.lines('log', '-1', '--format=%s %an', 'main')).to.deep.equal(['Edit node Ann'])
    expect(whales.git.log()).to.have.length(4)
    expect(await statuses(items)).to.deep.equal(Array(3).fill('unchanged'))
    expect(whales.git.log()).to.have.length(4)
    expect(await statuses([{ id: whales.id, connections: [], parents: [] }])).to.deep.equal(['updated'])
    expect(await read(whales)).to.deep.include({ parents: [], connections: [] })
  })

  it('turns a chain of parents around', async () => {
    const ids: string[] = Array.from({ length: 6 }, () => randomUUID())
    const chain = (order: readonly string[]) =>
      order.map((id, at) => ({ id, title: `Node ${ids.indexOf(id)}`, parents: at === 0 ? [] : [order[at - 1]] }))
    expect(await statuses(chain(ids))).to.deep.equal(Array(6).fill('created'))
    expect(await statuses(chain(ids.toReversed()))).to.deep.equal(Array(6).fill('updated'))
    expect((await read({ at: `${nodes}/${ids[0]}` })).num_ancestors).to.equal(5)
  })

  it('completes what was cut off: nodes that are on the disk, and not in the index', async () => {
    const items = Array.from({ length: 5 }, (_, n) => ({ id: randomUUID(), title: `Part ${n}` }))
    await put(items.slice(0, 2)).then(expecting(200))
    const [hidden, aside] = [items[0]?.id, join(grove.dataDir, `tmp-aside-${randomUUID()}`)]
    const path = join(grove.dataDir, ann.org, `${hidden}.git`)
    await rename(path, aside)
    expect((await ann.get(`${nodes}/${hidden}`)).status).to.equal(404)
    await rename(aside, path)
    expect((await ann.post(`${nodes}/batch`, { nodes: items })).body.code).to.equal('node_exists')
    expect(await statuses(items)).to.deep.equal(['unchanged', 'unchanged', 'created', 'created', 'created'])
  })

  it('beside others: the same ids from two batches are made once, and parents that go meanwhile leave whole nodes', async () => {
    const parent = await make({ title: 'Parent' })
    const items = Array.from({ length: 40 }, (_, n) => ({ id: randomUUID(), title: `Twin ${n}`, parents: [parent.id] }))
    const [first, second, deleted] = await Promise.all([
      ann.post(`${nodes}/batch`, { nodes: items }),
      ann.put(`${nodes}/batch`, { nodes: items }),
      ann.delete(parent.at),
    ])
    expect([201, 409, 422]).to.include(first.status)
    expect([200, 409, 422]).to.include(second.status)
    expect(deleted.status).to.equal(204)
    const made = readdirSync(join(grove.dataDir, ann.org))
    for (const { id } of items.filter((item) => made.includes(`${item.id}.git`))) {
      gitIn(grove, ann.org, id).fsck()
      expect((await ann.get(`${nodes}/${id}`)).status).to.equal(200)
    }
  })

  it('is in the index as a rebuild has it, for any batches', async () => {
    const { org } = await emptyOrg()
    const at = `/orgs/${org}/nodes`
    const ids = Array.from({ length: 8 }, () => randomUUID())
    const item = fc.record(
      {
        text_content: fc.string({ maxLength: 20, unit: fc.constantFrom('whale ', 'sea ', 'krill\n', 'é') }),
        tags: fc.uniqueArray(fc.constantFrom('sea', 'mammal', 'song'), { maxLength: 3 }),
        properties: fc.dictionary(fc.constantFrom('depth', 'name'), fc.integer({ min: -5, max: 5 })),
        // Of lower numbers alone, so that there is no circle.
        parents: fc.uniqueArray(fc.nat({ max: 7 }), { maxLength: 3 }),
        connections: fc.array(fc.nat({ max: 7 }), { maxLength: 2 }),
        files: fc.uniqueArray(fc.constantFrom('a.txt', 'b/c.txt', 'b/d.txt'), { maxLength: 3 }),
      },
      { requiredKeys: [] },
    )
    const batches = fc.array(item, { minLength: 8, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(batches, async (drawn) => {
        const items = drawn.map(({ parents, connections, files, ...fields }, n) => ({
          id: ids[n],
          title: `Node ${n}`,
          ...fields,
          ...(parents && { parents: parents.filter((one) => one < n).map((one) => ids[one]) }),
          ...(connections && {
            connections: connections.filter((one) => one !== n).map((one) => ({ target: ids[one] })),
          }),
          ...(files && { files: files.map((path) => ({ path, content: path })) }),
        }))
        await put(items, at).then(expecting(200))
        expect(await statuses(items, at)).to.deep.equal(Array(8).fill('unchanged'))
        for (const [n, { files }] of drawn.entries()) {
          const there = gitIn(grove, org, ids[n] ?? '').lines('ls-tree', '-r', '--name-only', 'main')
          if (files) expect(there.filter((path) => path.endsWith('.txt'))).to.deep.equal([...files].sort())
        }
      }),
      { numRuns: runs(6), seed: 41 },
    )
    const before = await everythingIn(grove, ann.session.accessToken, [org], ['whale'])
    await command(grove.dataDir, 'reindex')
    expect(await everythingIn(grove, ann.session.accessToken, [org], ['whale'])).to.deep.equal(before)
    for (const id of ids) gitIn(grove, org, id).fsck()
  })
})
