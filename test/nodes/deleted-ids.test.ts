/** Ids of what was deleted: kept for its owner while it lies in the trash, forgotten with it. */
import { expect } from 'chai'
import { grove as command } from '../support/command.ts'
import { expecting, newNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('the id of a deleted node', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'stranger' })

  /** The exit code and what was said. */
  async function cli(...args: string[]): Promise<[number | null, string]> {
    const { code, stdout, stderr } = await command(grove.dataDir, ...args)
    return [code, stdout + stderr]
  }

  const taken = (id: string) => ({
    status: 409,
    body: { detail: `The id ${id} is already in use`, code: 'node_exists' },
  })

  it('is nobody else’s: it comes back as it was', async () => {
    const node = await newNode(grove, ann, { title: 'Whales', text_content: 'Whale song.' })
    const before = (await ann.get(node.at)).body
    await ann.delete(node.at).then(expecting(204))
    expect(await bob.post(`/orgs/${bob.org}/nodes`, { id: node.id, title: 'Mine' })).to.deep.equal(taken(node.id))
    expect(await cli('restore-node', `${node.org}/${node.id}`)).to.deep.equal([
      0,
      `${node.org}/${node.id} was restored\n`,
    ])
    expect((await ann.get(node.at)).body).to.deep.equal(before)
    expect(await bob.post(`/orgs/${bob.org}/nodes`, { id: node.id, title: 'Mine' })).to.deep.equal(taken(node.id))
  })

  it('is nobody else’s if its organisation was deleted', async () => {
    const org = (await ann.post('/orgs', { name: 'Doomed' })).body.id
    const { id } = (await ann.post(`/orgs/${org}/nodes`, { title: 'Inside' })).body
    await ann.delete(`/orgs/${org}`).then(expecting(204))
    expect(await bob.post(`/orgs/${bob.org}/nodes`, { id, title: 'Mine' })).to.deep.equal(taken(id))
  })

  it('is kept while a rule for main is set, and free without one', async () => {
    const node = await newNode(grove, ann, { title: 'Approved' })
    const other = await newNode(grove, ann)
    const nodes = `/orgs/${ann.org}/nodes`
    const setRules = (...rules: object[]) => ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
    await ann.delete(node.at).then(expecting(204))
    const { id } = node
    const doors = {
      create: () => ann.post(nodes, { id, title: 'Evil' }),
      empty: () => ann.post(nodes, { id, title: 'Evil', initialize: false }),
      batch: () => ann.post(`${nodes}/batch`, { nodes: [{ id, title: 'Evil' }] }),
      update: () => ann.put(`${nodes}/batch`, { nodes: [{ id, title: 'Evil' }] }),
      copy: () => ann.post(`${other.at}/copy`, { id }),
    }
    await setRules({ branches: ['main'], approvals: 1, pages: 'existing' })
    for (const [name, send] of Object.entries(doors)) {
      const { status, body } = await send()
      expect([name, status, body.code]).to.deep.equal([name, 409, 'node_in_trash'])
    }
    await ann.post(`/orgs/${ann.org}/trash/${id}/restore`).then(expecting(200))
    expect((await ann.get(node.at)).body.title).to.equal('Approved')
    await ann.delete(node.at).then(expecting(204))
    await setRules()
    await doors.create().then(expecting(201))
  })

  it.deep('is free again, and leaves no row, once it is purged; searches forget it too', async () => {
    const [kept, gone] = [await newNode(grove, ann, { title: 'Krill' }), await newNode(grove, ann, { title: 'Krill' })]
    const found = async () => {
      const { body } = await ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'krill' }).then(expecting(200))
      return body.matches.map(({ node_id }: { node_id: string }) => node_id).sort()
    }
    const remembered = () => grove.deps.index.read.selectFrom('tombstone').select('node_id').execute()
    expect(await found()).to.deep.equal([kept.id, gone.id].sort())
    await ann.delete(gone.at).then(expecting(204))
    expect(await remembered()).to.deep.equal([{ node_id: gone.id }])
    expect((await cli('purge', '--older-than', '0', '--force'))[0]).to.equal(0)
    expect(await remembered()).to.deep.equal([])
    expect(await found()).to.deep.equal([kept.id])
    await bob.post(`/orgs/${bob.org}/nodes`, { id: gone.id, title: 'Mine' }).then(expecting(201))
  })
})
