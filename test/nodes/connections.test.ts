/** The connections of a node. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { ann, emptyOrg, grove, make, problem, read, useScene } from './scene.ts'

const noConnection = {
  status: 404,
  body: { detail: 'The node has no connection with this id', code: 'connection_not_found' },
}

interface Named {
  readonly id: string
  readonly source_title: string
  readonly target_title: string
}

const titlesOf = ({ source_title, target_title }: Named) => [source_title, target_title]

describe('nodes', () => {
  useScene()

  describe('connections', () => {
    let whales: TestNode
    let krill: TestNode

    beforeEach(async () => {
      whales = await make()
      krill = await make({ title: 'Krill' })
    })

    it('are made by one commit on the node that holds them, and seen from both ends', async () => {
      const sent = { target: krill.id, type: 'feeds_on', label: 'by the tonne', id: 'krill' }
      const answer = await ann.post(`${whales.at}/connections`, sent)
      const connection = {
        ...sent,
        node_id: whales.id,
        source: whales.id,
        source_title: 'Whales',
        target_title: 'Krill',
      }
      expect(answer).to.deep.equal({ status: 201, body: connection })
      expect(answer.headers.location).to.equal(`${whales.at}/connections/krill`)
      expect((await read(whales)).connections).to.deep.equal([connection])
      expect((await read(krill)).connections).to.deep.equal([connection])
      expect(whales.git.say('show', 'main:connections/krill.json')).to.equal(
        JSON.stringify({ target: krill.id, type: 'feeds_on', label: 'by the tonne' }, null, 2),
      )
      expect([whales.git.log().length, krill.git.log().length]).to.deep.equal([2, 1])
    })

    it('have an id and the type related_to of their own accord', async () => {
      const { status, body } = await ann.post(`${whales.at}/connections`, { target: krill.id })
      const { id, ...rest } = body
      expect([status, /^[A-Za-z0-9_-]{12}$/.test(id)]).to.deep.equal([201, true])
      expect(rest).to.deep.equal({
        node_id: whales.id,
        source: whales.id,
        target: krill.id,
        source_title: 'Whales',
        target_title: 'Krill',
        type: 'related_to',
        label: '',
      })
    })

    it('may be several between the same two nodes, and form cycles', async () => {
      await ann.post(`${whales.at}/connections`, { target: krill.id }).then(expecting(201))
      await ann.post(`${whales.at}/connections`, { target: krill.id, type: 'feeds_on' }).then(expecting(201))
      await ann.post(`${krill.at}/connections`, { target: whales.id, type: 'feeds' }).then(expecting(201))
      expect((await read(whales)).connections).to.have.length(3)
      expect((await read(whales)).num_ancestors).to.equal(0)
    })

    it('carry the titles of both ends as they are on main, in the node, in the list, and in what changes them', async () => {
      const path = `${whales.at}/connections`
      await ann.post(path, { target: krill.id, id: 'food' }).then(expecting(201))
      await ann.post(`${krill.at}/connections`, { target: whales.id, id: 'eaters' }).then(expecting(201))
      await krill.branch('draft')
      await krill.commit('draft', { 'node.json': '{"title": "Draft"}' })
      await ann.patch(krill.at, { title: 'Antarctic krill' }).then(expecting(200))
      const there = ['Whales', 'Antarctic krill']
      for (const node of [whales, krill])
        for (const { connections } of [await read(node), (await ann.get(`${node.at}/connections`)).body])
          expect(new Map(connections.map((one: Named) => [one.id, titlesOf(one)]))).to.deep.equal(
            new Map([
              ['food', there],
              ['eaters', there.toReversed()],
            ]),
          )
      expect(titlesOf((await ann.patch(`${path}/food`, { type: 'eats' })).body)).to.deep.equal(there)
      await ann.delete(krill.at).then(expecting(204))
      expect(titlesOf((await ann.patch(`${path}/food`, { type: 'ate' })).body)).to.deep.equal(['Whales', ''])
    })

    it('have a slug as their type', async () => {
      for (const type of ['is_a', 'a', `a${'9'.repeat(63)}`]) {
        expect((await ann.post(`${whales.at}/connections`, { target: krill.id, type })).status, type).to.equal(201)
      }
      for (const type of ['', 'Is_a', 'is a', 'is-a', '1a', '_a', 'é', `a${'9'.repeat(64)}`]) {
        const answer = await ann.post(`${whales.at}/connections`, { target: krill.id, type })
        expect(problem(answer), type).to.deep.include({ loc: ['body', 'type'], type: 'string_pattern_mismatch' })
      }
    })

    it('lead to another node of the same organisation that exists', async () => {
      const gone = await make()
      await ann.delete(gone.at).then(expecting(204))
      const foreign = await newNode(grove, await emptyOrg())
      await ann.post(`${whales.at}/connections`, { target: krill.id, id: 'food' }).then(expecting(201))
      for (const target of [whales.id, randomUUID(), gone.id, foreign.id, 'nonsense', '']) {
        for (const answer of [
          await ann.post(`${whales.at}/connections`, { target }),
          await ann.patch(`${whales.at}/connections/food`, { target }),
        ]) {
          expect(problem(answer), target).to.deep.include({ loc: ['body', 'target'], type: 'value_error' })
        }
      }
      expect(whales.git.log()).to.have.length(2)
    })

    it('have an id once, in any case', async () => {
      await ann.post(`${whales.at}/connections`, { target: krill.id, id: 'food' }).then(expecting(201))
      for (const id of ['food', 'FOOD']) {
        expect(await ann.post(`${whales.at}/connections`, { target: krill.id, id })).to.deep.equal({
          status: 409,
          body: { detail: 'A connection with this id already exists', code: 'connection_exists' },
        })
      }
      expect((await ann.post(`${krill.at}/connections`, { target: whales.id, id: 'food' })).status).to.equal(201)
    })

    it('have an id that can be the name of a file', async () => {
      for (const id of ['', 'a/b', '..', 'a.b', 'a b', 'é', 'a'.repeat(65)]) {
        const answer = await ann.post(`${whales.at}/connections`, { target: krill.id, id })
        expect(problem(answer), id).to.deep.include({ loc: ['body', 'id'], type: 'string_pattern_mismatch' })
      }
    })

    it('change in what is given, by one commit, or none', async () => {
      const bears = await make({ title: 'Bears' })
      const sent = { target: krill.id, type: 'feeds_on', label: 'by the tonne', id: 'food' }
      const { body: before } = await ann.post(`${whales.at}/connections`, sent)
      const path = `${whales.at}/connections/food`
      expect(await ann.patch(path, { type: 'eats' })).to.deep.equal({ status: 200, body: { ...before, type: 'eats' } })
      const after = { ...before, target: bears.id, target_title: 'Bears', type: 'eats', label: '' }
      expect(await ann.patch(path, { target: bears.id, label: '' })).to.deep.equal({ status: 200, body: after })
      expect(whales.git.log()).to.have.length(4)
      for (const same of [{}, { type: 'eats' }, { label: null }]) {
        expect(await ann.patch(path, same)).to.deep.equal({ status: 200, body: after })
      }
      expect(whales.git.log()).to.have.length(4)
      expect((await read(bears)).connections).to.deep.equal([after])
      expect((await read(krill)).connections).to.deep.equal([])
    })

    it('are removed by one commit, once', async () => {
      await ann.post(`${whales.at}/connections`, { target: krill.id, id: 'food' }).then(expecting(201))
      const path = `${whales.at}/connections/food`
      expect(await ann.delete(path)).to.deep.equal({ status: 204, body: undefined })
      expect((await read(krill)).connections).to.deep.equal([])
      expect(await ann.delete(path)).to.deep.equal(noConnection)
      expect(await ann.patch(path, { label: 'once' })).to.deep.equal(noConnection)
      expect(whales.git.log()).to.have.length(3)
    })

    it('are changed and removed at the node that holds them, and nowhere else', async () => {
      await ann.post(`${whales.at}/connections`, { target: krill.id, id: 'food' }).then(expecting(201))
      for (const path of [`${krill.at}/connections/food`, `${whales.at}/connections/f%2Food`]) {
        expect(await ann.patch(path, { label: 'once' })).to.deep.equal(noConnection)
        expect(await ann.delete(path)).to.deep.equal(noConnection)
      }
    })

    it('move only at the expected head', async () => {
      const expected_head = '0123456789012345678901234567890123456789'
      const connections = `${whales.at}/connections`
      await ann.post(connections, { target: krill.id, id: 'food' }).then(expecting(201))
      const answers = [
        await ann.post(connections, { target: krill.id, expected_head }),
        await ann.patch(`${connections}/food`, { label: 'once', expected_head }),
        await ann.delete(`${connections}/food?expected_head=${expected_head}`),
      ]
      const current_head = whales.git.head()
      expect(answers.map(({ status, body }) => [status, body.code, body.current_head])).to.deep.equal(
        Array(3).fill([409, 'head_moved', current_head]),
      )
      expect((await ann.delete(`${connections}/food?expected_head=${current_head}`)).status).to.equal(204)
    })
  })
})
