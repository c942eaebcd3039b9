import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { listStaleFiles } from '../../gitstore/upkeep/stale-files.ts'
import { allOf } from '../support/all-of.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('a stale file', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode

  before(async () => {
    node = await newNode(grove, ann)
  })

  /** As the service will list it tomorrow. */
  const left = () =>
    allOf(listStaleFiles(join(grove.dataDir, 'run'), { dir: node.git.dir }, Date.now() + 24 * 3_600_000))

  it('is neither a branch nor a tag, with any name', async () => {
    for (const name of ['tmp_x', 'tmp-x/y', 'quarantine-1', 'incoming-mail', 'shallow_end', 'tmp_objdir-x/refs/tmp_y'])
      await node.branch(name)
    node.git.say('tag', 'tmp_1', 'main')
    expect(await left()).to.deep.equal([])
  })

  it('is what git and Grove write before it has its name', async () => {
    const made = ['tmp_x', 'objects/tmp_objdir-incoming-1/pack/x', 'objects/pack/tmp_pack_1', 'shallow_1'].map(
      (path) => {
        mkdirSync(dirname(join(node.git.dir, path)), { recursive: true })
        writeFileSync(join(node.git.dir, path), '')
        return path
      },
    )
    const named = made.map((path) => join(node.git.dir, path.replace('/pack/x', '')))
    expect(await left()).to.have.members(named)
  })
})
