/** The bytes in the index are those on the disk, for every way to write. */
import { expect } from 'chai'
import { maintain } from '../../gitstore/upkeep/maintenance.ts'
import { correctBytes } from '../../server/domain/indexing/byte-counts.ts'
import { reindex } from '../../server/domain/indexing/reindex.ts'
import { purge } from '../../server/domain/operator/trash.ts'
import { git } from '../support/data-folder.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { expecting, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'
import { countedBytes, diskBytes } from './disk.ts'

describe('the bytes of an organisation', () => {
  // Background jobs would hide a wrong count.
  const { grove, ann } = useWorld({ ann: 'owner' }, { sweeps: false })
  let desk: Desk
  before(async () => {
    desk = await newDesk()
  })
  after(() => desk.remove())

  const expectSame = async () => {
    const disk = await diskBytes(grove, ann.org)
    expect(await countedBytes(grove, ann.org)).to.equal(disk)
    return disk
  }
  const text = (seed: number) => Array.from({ length: 200 }, (_, at) => `${seed * at ** 2}`).join(' ')

  /** Creates a node with commits, branches, pull requests and comments. */
  async function filled(): Promise<TestNode> {
    const node = await ann.node({ text_content: text(3) })
    await node.commit('main', { 'a.md': text(5), 'b.md': text(7) })
    await node.proposal('change')
    const { number } = await node.open('change')
    const at = `${node.at}/pull-requests/${number}`
    await ann.post(`${at}/comments`, { text: text(11) }).then(expecting(201))
    await node.commit('main', { 'c.md': text(13) })
    await ann.post(`${at}/update-branch`, {}).then(expecting(200))
    await ann.post(`${at}/merge`, {}).then(expecting(200))
    await ann.patch(node.at, { tags: ['sea'] }).then(expecting(200))
    return node
  }

  it('counts what REST writes', async () => {
    const node = await filled()
    await ann.post(`${node.at}/copy`, {}).then(expecting(201))
    const nodes = [1, 2, 3].map((n) => ({ title: `N ${n}`, text_content: text(n) }))
    await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
    expect(await expectSame()).to.be.greaterThan(4_000)
  })

  it.deep('counts pushes, small and large, and refused ones', async () => {
    const node = await ann.node()
    const { token } = await ann.api.createToken({ body: { name: 'git', access: 'write' } })
    await desk.done(`git clone -q ${remoteUrl(grove, node.org, node.id, token)} whales`)
    const push = (files: number, ref: string, path = 'f') =>
      desk.sh(`cd whales; for n in $(seq ${files}); do echo "$n $(date +%N) ${text(files)}" > "${path}$n.txt"; done
        git add .; git commit -qm Files; git push -q origin HEAD:${ref}`)
    for (const files of [3, 150]) {
      expect(await push(files, 'main')).to.include({ code: 0 })
      await expectSame()
    }
    await desk.done("cd whales; mkdir parents; echo '{' > parents/nobody.json")
    const before = await expectSame()
    expect((await push(2, 'main')).code).to.equal(1)
    expect(await expectSame()).to.be.greaterThan(before)
    expect(
      await desk.sh('cd whales; git push -q origin HEAD~1:refs/heads/other; git push -q origin :other'),
    ).to.include({ code: 0 })
    await expectSame()
  })

  it('counts what is deleted until it is purged', async () => {
    const node = await filled()
    const before = await expectSame()
    await ann.delete(node.at).then(expecting(204))
    expect(await expectSame()).to.be.greaterThan(before - 1)
    await ann.post(`/orgs/${node.org}/trash/${node.id}/restore`, {}).then(expecting(200))
    await expectSame()
    await ann.delete(node.at).then(expecting(204))
    await purge(grove.deps, new Date(Date.now() + 60_000), () => {})
    expect(await expectSame()).to.be.lessThan(before)
  })

  it('is the same after a reindex', async () => {
    await ann.delete((await filled()).at).then(expecting(204))
    await filled()
    const before = await expectSame()
    await reindex(grove.deps)
    expect(await expectSame()).to.equal(before)
  })

  it('is corrected after Git has packed', async () => {
    const node = await filled()
    await git(node.git.dir, 'gc', '--quiet')
    expect(await countedBytes(grove, node.org)).to.not.equal(await diskBytes(grove, node.org))
    await correctBytes(grove.deps, node.org, node.id)
    await expectSame()
    const all = { objects: true, packs: true, refs: true, graph: true }
    await maintain({ dir: node.git.dir }, all, new AbortController().signal)
    await correctBytes(grove.deps, node.org, node.id)
    await expectSame()
  })
})
