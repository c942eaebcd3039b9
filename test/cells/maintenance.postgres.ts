/** Maintenance mode of a cell: it holds for the organisations of that cell, whichever cell gets the request. */
import { expect } from 'chai'
import { expecting, newNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { groveAt, here, move, orgsIn, setUrls, signIn, there, useCells } from './scene.ts'

describe('a cell in maintenance mode', () => {
  useCells()

  let ann: PersonClient
  let ben: PersonClient

  before(async () => {
    await setUrls()
    ann = await signUp(here, 'Ann')
    ben = await signUp(there, 'Ben')
    expect((await groveAt(there, 'maintenance', 'on')).code).to.equal(0)
    await until(async () => (await ben.get('/healthz')).body.maintenance === true)
  })

  it('refuses changes of its organisations, and other cells make theirs', async () => {
    const benHere = await signIn(here, ben)
    const nodes = `/orgs/${ben.org}/nodes`
    expect((await benHere.get(nodes)).status).to.equal(200)
    const refused = await benHere.post(nodes, { title: 'Whales' })
    expect([refused.status, refused.body.code, refused.headers['retry-after']]).to.deep.equal([
      503,
      'maintenance',
      '60',
    ])
    const annThere = await signIn(there, ann)
    await annThere.post(`/orgs/${ann.org}/nodes`, { title: 'Whales' }).then(expecting(201))
  })

  it('sends no organisation, and receives none', async () => {
    await newNode(here, ann)
    for (const [org, to] of [
      [ann.org, 'there'],
      [ben.org, 'here'],
    ] as const) {
      const { code, stdout, stderr } = await move(org, to)
      expect([code, `${stdout}${stderr}`].join(' ')).to.match(/^[12] .*maintenance/s)
    }
    expect(await orgsIn(here)).to.include(ann.org)
    expect(await orgsIn(there)).to.include(ben.org)
  })

  it('makes all changes again after its end', async () => {
    expect((await groveAt(there, 'maintenance', 'off')).code).to.equal(0)
    await until(async () => (await ben.post(`/orgs/${ben.org}/nodes`, { title: 'Whales' })).status === 201)
    expect((await move(ann.org, 'there')).code).to.equal(0)
  })
})
