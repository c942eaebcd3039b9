/** Limits that administrators set for one organisation. */
import { expect } from 'chai'
import { sql } from 'kysely'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

describe('the limits of one organisation', () => {
  let grove: Grove
  let root: PersonClient
  let ann: PersonClient
  before(async () => {
    grove = await startGrove({ quotaBytes: 20_000, quotaNodes: 3 })
    root = await signUp(grove, 'Root')
    ann = await signUp(grove, 'Ann')
    await grove.deps.credentials.write((trx) =>
      sql`update account set is_admin = 1 where id = ${root.user.id}`.execute(trx),
    )
  })
  after(() => grove.close())

  const set = (org: string, limits: object, who = root) => who.patch(`/admin/orgs/${org}`, limits)
  const noise = (bytes: number) => Array.from({ length: bytes }, () => Math.random().toString(36)[3] ?? 'x').join('')
  const commit = ({ at }: { at: string }, content: string) =>
    ann.post(`${at}/tree/main/commits`, { message: 'A change', changes: [{ action: 'put', path: 'a.txt', content }] })

  it('let a refused change through at once, and return to the configured ones', async () => {
    const node = await newNode(grove, ann)
    await commit(node, noise(40_000)).then(expecting(403))
    expect((await set(ann.org, { max_bytes: 90_000 }).then(expecting(200))).body).to.include({
      nodes: 1,
      max_bytes: 90_000,
      max_nodes: 3,
    })
    await commit(node, noise(40_000)).then(expecting(201))
    await commit(node, noise(120_000)).then(expecting(403))
    expect((await set(ann.org, { max_bytes: 0 }).then(expecting(200))).body).to.not.have.property('max_bytes')
    await commit(node, noise(120_000)).then(expecting(201))
    expect((await set(ann.org, { max_bytes: null }).then(expecting(200))).body.max_bytes).to.equal(20_000)
    expect((await commit(node, 'small').then(expecting(403))).body.limit).to.equal(20_000)
  })

  it('count nodes, of this organisation only', async () => {
    const bob = await signUp(grove, 'Bob')
    const add = (person: PersonClient) => person.post(`/orgs/${person.org}/nodes`, { title: 'Whale' })
    await set(bob.org, { max_nodes: 1 }).then(expecting(200))
    await add(bob).then(expecting(201))
    expect((await add(bob).then(expecting(403))).body).to.include({ limit: 1, what: 'nodes' })
    await set(bob.org, {}).then(expecting(200))
    await set(bob.org, { max_nodes: 2 }).then(expecting(200))
    await add(bob).then(expecting(201))
  })

  it('are for administrators, and valid', async () => {
    await set(ann.org, { max_bytes: 1 }, ann).then(expecting(403))
    expect((await set(ann.user.id, { max_bytes: 1 }).then(expecting(404))).body.code).to.equal('org_not_found')
    for (const wrong of [{ max_bytes: -1 }, { max_bytes: 1.5 }, { max_nodes: '3' }, { most: 3 }])
      await set(ann.org, wrong).then(expecting(422))
  })
})
