import { readFile, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { IndexSchema } from '../../index/derived/schema.ts'
import type { DerivedDatabase } from '../../index/sqlite/rebuildable-database.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('git: a push that has moved its refs', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { sweeps: false })
  let node: TestNode
  let desk: Desk

  before(async () => {
    node = await newNode(grove, ann, { text_content: 'Whales are mammals.\n' })
    node.git.loosen()
    desk = await newDesk()
    const REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    await desk.done('git clone -q $REMOTE whales', { REMOTE })
  })
  after(() => desk.remove())

  it('is reported as done, although the storage fails for what is only advice', async () => {
    const path = `${grove.dataDir}/${node.org}/${node.id}.git/refs/heads/main`
    const main = await readFile(path, 'utf8')
    const { whole: index } = grove.deps.index as DerivedDatabase<IndexSchema> // as bootstrap.ts opens it
    const write = index.write
    const damaging: typeof write = async (work) => {
      const written = await write(work)
      await writeFile(path, '')
      return written
    }
    Object.assign(index, { write: damaging })
    try {
      const { code, text } = await desk.sh('cd whales; git push -q origin main:draft')
      expect(code, text).to.equal(0)
    } finally {
      Object.assign(index, { write })
      await writeFile(path, main)
    }
    expect(node.git.lines('rev-parse', 'draft')).to.deep.equal([main.trim()])
  })
})
