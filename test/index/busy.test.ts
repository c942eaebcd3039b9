import { join } from 'node:path'
import { mock } from 'node:test'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { startGrove } from '../support/grove.ts'
import { newNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { until } from '../support/until.ts'

describe('an index that somebody holds for long', () => {
  it('makes an answer 503 outcome_unknown once the change is made, busy before, and has all of it afterwards', async () => {
    const grove = await startGrove()
    try {
      const ann = await signUp(grove, 'Ann')
      const node = await newNode(grove, ann)
      await node.proposal('x')
      const { id: former } = (await ann.post('/orgs', { name: 'Former' })).body
      const holder = openSqlite(join(grove.dataDir, 'index.sqlite'))
      holder.exec('begin immediate')
      // A statement waits ten seconds for the holder by this clock.
      const clock = performance.now.bind(performance)
      const began = clock()
      mock.method(performance, 'now', () => began + (clock() - began) * 20)
      const opened = await ann.post(`${node.at}/pull-requests`, { source_branch: 'x', title: 'X' })
      const refused = await ann.hasty.post(`${node.at}/branches`, { name: 'y' })
      const made = await ann.post('/orgs', { name: 'Made' })
      const removed = await ann.delete(`/orgs/${former}`)
      holder.exec('rollback')
      holder.close()
      mock.restoreAll()
      expect([opened.status, opened.body.code]).to.deep.equal([503, 'outcome_unknown'])
      expect([refused.status, refused.body.code]).to.deep.equal([503, 'busy'])
      for (const { status, body } of [made, removed])
        expect([status, body.code]).to.deep.equal([503, 'outcome_unknown'])
      expect((await node.pull(1)).title).to.equal('X')
      expect(node.git.lines('branch', '--list', 'y')).to.deep.equal([])
      const names = async () => (await ann.get('/orgs')).body.orgs.map(({ name }: { name: string }) => name)
      await until(async () => (await names()).join() === 'Ann,Made')
      expect((await ann.get(`/orgs/${former}`)).status).to.equal(404)
    } finally {
      await grove.close()
      mock.restoreAll()
    }
  })
})
