/** Checks of change sets: one report for the heads of all pages. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import type { Answer, Client } from '../support/people.ts'
import { ann, aPage, bob, byPage, cy, di, open, pageAt, setOf, sets, useScene } from './scene.ts'

describe('checks of change sets', () => {
  useScene()

  const report = async (by: Client, number: number, more: object = {}) => {
    const { version: expected_version } = await setOf(number)
    return by.put(`${sets}/${number}/checks/build`, { state: 'success', expected_version, ...more })
  }
  const aSet = async () => {
    const [page, old] = [await aPage('Whales'), await aPage('Old')]
    const nodes = [{ title: 'Krill' }, { id: page, text_content: 'More.\n' }]
    return (await open(cy, { nodes, deletions: [{ node_id: old }] })).change_set
  }
  /** The states of the check at the head of each page. */
  const statesOf = async (number: number): Promise<string[]> => {
    const items: Answer['body'][] = Object.values(byPage(await setOf(number)))
    const all = items.map(async ({ node_id, source_commit }) => {
      const { checks } = (await ann.get(`${pageAt(node_id)}/checks/${source_commit}`).then(expecting(200))).body
      return checks.map((one: Answer['body']) => `${one.name} ${one.state} by ${one.reported_by.name}`).join()
    })
    return Promise.all(all)
  }
  const setRules = (...rules: object[]) => ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))

  it('are reported for new, changed and deleted pages at once, and again without effect', async () => {
    const { number } = await aSet()
    await setRules({ branches: ['main'], checks: [{ name: 'build' }] })
    expect((await setOf(number)).merge_reasons).to.deep.equal(['checks_missing'])
    const pending = await report(bob, number, {
      state: 'pending',
      description: 'Runs',
      url: 'https://ci.example.org/7',
    })
    expect(pending.status).to.equal(200)
    expect(pending.body).to.include({ name: 'build', state: 'pending', description: 'Runs' })
    expect(await statesOf(number)).to.deep.equal(Array(3).fill('build pending by Bob'))
    const done = (await report(bob, number).then(expecting(200))).body
    expect(await setOf(number)).to.include({ can_merge: true })
    expect((await report(bob, number).then(expecting(200))).body).to.deep.equal(done)
    await setRules()
  })

  it('are reported for all pages or none', async () => {
    const { number, items, version } = await aSet()
    const [{ node_id, source_commit }] = items
    await di.put(`${pageAt(node_id)}/checks/${source_commit}/build`, { state: 'failure' }).then(expecting(200))
    const refused = await report(bob, number)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'check_exists'])
    expect(await statesOf(number)).to.deep.equal(['build failure by Di', '', ''])
    const krill = items.find(({ act }: Answer['body']) => act === 'create')
    const commits = `${pageAt(krill.node_id)}/tree/${encodeURIComponent(krill.source_branch)}/commits`
    const changes = [{ action: 'put', path: 'content.md', content: 'More.\n' }]
    await cy.post(commits, { message: 'Say more', changes }).then(expecting(201))
    const late = await report(di, number, { expected_version: version })
    expect([late.status, late.body.code]).to.deep.equal([409, 'head_moved'])
    expect((await report(di, number)).status).to.equal(200)
    expect(await statesOf(number)).to.deep.equal(Array(3).fill('build success by Di'))
  })

  it('are refused for a set that has ended, and for a URL of another kind', async () => {
    const { number } = await aSet()
    expect((await report(cy, number)).status, 'a contributor').to.equal(403)
    expect((await report(bob, number, { url: 'https://[' })).status).to.equal(422)
    await cy.patch(`${sets}/${number}`, { status: 'closed' }).then(expecting(200))
    const refused = await report(bob, number)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'closed'])
    const body = { state: 'success', expected_version: 'a'.repeat(40) }
    expect((await bob.put(`${sets}/99/checks/build`, body)).body.code).to.equal('change_set_not_found')
  })
})
