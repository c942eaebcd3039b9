/** Two processes on one data folder count in one row, and failures of the database stop nobody. */

import { expect } from 'chai'
import { sql } from 'kysely'
import { here, there, useTwoServices } from '../accounts/two-services.ts'
import { made } from '../support/cast.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { startGrove } from '../support/grove.ts'
import { newNode } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { type Entry, entriesOf } from './scene.ts'

/** The time of both services, in the middle of an hour. */
const now = () => new Date('2026-01-01T09:30:00Z')

describe('the audit of two processes', () => {
  useTwoServices({ now })
  let ann: PersonClient
  let desk: Desk
  before(async () => {
    ann = await signUp(here, 'Ann')
    desk = await newDesk()
  })
  after(() => desk.remove())

  it('counts the failures of an account in one row, and no guess is left out', async () => {
    const fail = (grove: { readonly url: string }) =>
      client(grove).post('/auth/login', { email: 'ann@example.org', password: 'not the password' })
    const answers = await Promise.all([...Array(20)].map((_, at) => fail(at % 2 ? here : there)))
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(20).fill(401))
    let failed: Entry[] = []
    await until(async () => {
      failed = await entriesOf(ann, '/auth/audit', '&action=auth.failed')
      return failed[0]?.detail.count === 20
    })
    expect(failed.length).to.equal(1)
  })

  it.deep('counts the clones of a node in one row, and the first use of a token once', async () => {
    const node = await newNode(here, ann)
    const { token } = await made(ann.post('/auth/tokens', { name: 'CI', access: 'read' }))
    for (const [at, grove] of [here, there, here, there].entries())
      await desk.done(`git clone -q ${remoteUrl(grove, node.org, node.id, token)} clone${at}`)
    let fetched: Entry[] = []
    await until(async () => {
      fetched = await entriesOf(ann, `/orgs/${ann.org}/audit`, '&action=git.fetched')
      return fetched[0]?.detail.count === 4
    })
    expect(fetched.length).to.equal(1)
    expect(await entriesOf(ann, '/auth/audit', '&action=token.first_used')).to.have.lengthOf(1)
  })
})

describe('the audit without its table', () => {
  it('refuses nobody, and has the rows in the log without names', async () => {
    const grove = await startGrove({ logLevel: 'error', sweeps: false })
    await grove.deps.events.write((trx) => sql`drop table audit`.execute(trx))
    const ann = await signUp(grove, 'Ann Quetzal')
    await made(client(grove).post('/auth/login', { email: ann.user.email, password }))
    const lines = grove
      .logged()
      .split('\n')
      .filter((line) => line !== '')
    const rows = lines.map((line) => JSON.parse(line)).map(({ audit }) => audit)
    expect(rows.map(({ action }) => action)).to.deep.equal(['account.created', 'auth.sign_in', 'auth.sign_in'])
    for (const row of rows)
      expect(row).to.deep.include({ actor_id: ann.user.id, address: '127.0.0.1', outcome: 'success' })
    expect(grove.logged()).to.not.include('Quetzal')
    await grove.close()
  })
})

describe('the audit without fetches', () => {
  it('has clones of the organisation only', async () => {
    const grove = await startGrove({ auditFetches: false })
    const desk = await newDesk()
    const ann = await signUp(grove, 'Ann')
    const { token } = await made(ann.post('/auth/tokens', { name: 'CI', access: 'read' }))
    const node = await newNode(grove, ann)
    await desk.done(`git clone -q ${remoteUrl(grove, node.org, node.id, token)} node`)
    await desk.done(`git clone -q ${remoteUrl(grove, node.org, 'org', token)} org`)
    const actions = (await entriesOf(ann, `/orgs/${ann.org}/audit`)).map(({ action }) => action)
    expect(actions).to.include('org.cloned')
    expect(actions).to.not.include('git.fetched')
    await desk.remove()
    await grove.close()
  })

  it('has one row of anonymous callers of a node, without IP addresses', async () => {
    const grove = await startGrove()
    const desk = await newDesk()
    const ann = await signUp(grove, 'Ann')
    await made(ann.patch(`/orgs/${ann.org}`, { published: true }))
    const node = await newNode(grove, ann)
    for (const name of ['a', 'b']) await desk.done(`git clone -q ${remoteUrl(grove, node.org, node.id)} ${name}`)
    const fetched = await entriesOf(ann, `/orgs/${ann.org}/audit`, '&action=git.fetched')
    expect(fetched.map(({ actor, origin }) => ({ actor, origin }))).to.deep.equal([
      { actor: { kind: 'anonymous' }, origin: { via: 'fetch' } },
    ])
    await desk.remove()
    await grove.close()
  })
})
