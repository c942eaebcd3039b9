import { join } from 'node:path'
import { mock } from 'node:test'
import Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { signUp, startGrove } from '../support/grove.ts'
import { newNode } from '../support/node.ts'

describe('an index that somebody holds for long', () => {
  it('makes an answer 503 outcome_unknown once the change is made, busy before, and has all of it afterwards', async () => {
    const grove = await startGrove()
    try {
      const ann = await signUp(grove, 'Ann')
      const node = await newNode(grove, ann)
      await node.proposal('x')
      const holder = new Sqlite(join(grove.dataDir, 'index.sqlite'))
      holder.exec('begin immediate')
      // A statement waits ten seconds for the holder by this clock.
      const clock = performance.now.bind(performance)
      const began = clock()
      mock.method(performance, 'now', () => began + (clock() - began) * 20)
      const opened = await ann.post(`${node.at}/pull-requests`, { source_branch: 'x', title: 'X' })
      const refused = await ann.post(`${node.at}/branches`, { name: 'y' })
      holder.exec('rollback')
      holder.close()
      expect([opened.status, opened.body.code]).to.deep.equal([503, 'outcome_unknown'])
      expect([refused.status, refused.body.code]).to.deep.equal([503, 'busy'])
      expect((await node.pull(1)).title).to.equal('X')
      expect(node.git.lines('branch', '--list', 'y')).to.deep.equal([])
    } finally {
      await grove.close()
      mock.restoreAll()
    }
  })
})
