/** Creations that arrive at the same time: they share transactions, and none decides for another. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting, newNode } from '../support/node.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'
import { type NotedStatements, noteStatements } from '../support/statements.ts'
import { useWorld } from '../support/world.ts'

describe('creations at the same time', () => {
  let noted: NotedStatements
  let ann: PersonClient
  before(() => {
    noted = noteStatements()
  })
  after(() => noted.end())
  const { grove } = useWorld({}, { sweeps: false, quotaNodes: 60 })
  beforeEach(async () => {
    ann = await signUp(grove, `Ann ${randomUUID().slice(0, 8)}`)
  })

  const create = (fields: object, person = ann) => person.post(`/orgs/${ann.org}/nodes`, fields)
  const times = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at))
  const codes = (answers: readonly Answer[]) => answers.map(({ status, body }) => body.code ?? status)

  /** Expects each node to be whole: as its creation answered, and as git finds nothing wrong with. */
  async function expectWhole(answers: readonly Answer[]) {
    for (const { status, body } of answers) {
      expect(status).to.equal(201)
      const { body: read } = await ann.get(`/orgs/${ann.org}/nodes/${body.id}`).then(expecting(200))
      expect(read).to.deep.equal(body)
    }
  }

  it('share transactions, and are in the list in one order', async () => {
    const parent = await newNode(grove, ann)
    for (const more of [{}, { parents: [parent.id] }]) {
      noted.begin()
      const answers = await Promise.all(times(16, (at) => create({ title: `Calf ${at}`, tags: ['young'], ...more })))
      expect(noted.all().filter((source) => source === 'commit').length).to.be.below(16)
      await expectWhole(answers)
      for (const { body } of answers.slice(0, 6)) {
        const events = await ann.get(`/orgs/${ann.org}/events?node_id=${body.id}`)
        expect(events.body.events.map((one: { type: string }) => one.type)).to.deep.equal(['node.created'])
      }
    }
    const { body: list } = await ann.get(`/orgs/${ann.org}/nodes?limit=100`).then(expecting(200))
    expect(list.nodes).to.have.length(33)
    const { body: node } = await ann.get(parent.at).then(expecting(200))
    expect(node.num_children).to.equal(16)
  })

  it.deep('are refused one by one', async () => {
    const definition = {
      title: 'Book',
      enforcement: 'strict',
      schema: { properties: { pages: {} }, required: ['pages'] },
    }
    await ann.put(`/orgs/${ann.org}/types/book`, { definition }).then(expecting(200))
    const parent = await newNode(grove, ann)
    const [good, bad] = [
      [{}, { parents: [parent.id] }, { connections: [{ target: parent.id }] }],
      [{ parents: [randomUUID()] }, { connections: [{ target: randomUUID() }] }, { properties: { type: 'book' } }],
    ]
    const all = times(5, () => [...good, ...bad]).flat()
    const answers = await Promise.all(all.map((fields) => create({ title: 'Calf', ...fields })))
    const isGood = (_: unknown, at: number) => at % 6 < good.length
    await expectWhole(answers.filter(isGood))
    for (const { status } of answers.filter((answer, at) => !isGood(answer, at))) expect(status).to.equal(422)
    const { body: list } = await ann.get(`/orgs/${ann.org}/nodes?limit=100`).then(expecting(200))
    expect(list.nodes).to.have.length(16)
  })

  it('fill an organisation exactly', async () => {
    const found = codes(await Promise.all(times(70, () => create({ title: 'Calf' }))))
    expect(found.filter((code) => code === 201)).to.have.length(60)
    expect(found.filter((code) => code === 'quota_exceeded')).to.have.length(10)
  })

  it('of a member whose role ends during them are made or refused, each by itself', async () => {
    const bob = await signUp(grove, `Bob ${randomUUID().slice(0, 8)}`)
    const member = `/orgs/${ann.org}/members/${bob.user.email}`
    await ann.put(member, { role: 'editor' }).then(expecting(200))
    const [own, others] = [
      Promise.all(times(12, (at) => create({ title: `Ann ${at}` }))),
      Promise.all(times(12, (at) => create({ title: `Bob ${at}` }, bob))),
    ]
    await ann.delete(member).then(expecting(204))
    const late = await create({ title: 'Late' }, bob)
    expect(late.status).to.equal(404)
    await expectWhole(await own)
    const answers = await others
    for (const { status } of answers) expect(status).to.be.oneOf([201, 403, 404])
    const made = answers.filter(({ status }) => status === 201)
    const { body: list } = await ann.get(`/orgs/${ann.org}/nodes?limit=100`).then(expecting(200))
    expect(list.nodes).to.have.length(12 + made.length)
  })
})
