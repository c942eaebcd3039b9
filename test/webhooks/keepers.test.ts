/** Webhooks end with the owner, the token or the program that made them. */
import { expect } from 'chai'
import { connectProgram } from '../support/connector.ts'
import { expecting } from '../support/node.ts'
import { type Client, client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { startReceiver } from './receiver.ts'

describe('a webhook', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'owner' })

  /** A way to act as Bob, and how it ends. */
  interface Way {
    readonly as: Client
    end(): Promise<unknown>
  }
  const ways: Readonly<Record<string, () => Promise<Way>>> = {
    'the token': async () => {
      const { id, token } = (await bob.post('/auth/tokens', { name: 'T', access: 'write' }).then(expecting(201))).body
      return { as: client(grove, token), end: () => bob.delete(`/auth/tokens/${id}`).then(expecting(204)) }
    },
    'the connection': async () => {
      const program = await connectProgram(grove, bob, { access: 'write' })
      return { as: program, end: () => bob.delete(`/auth/connections/${program.id}`).then(expecting(204)) }
    },
    'the role of owner': async () => ({
      as: bob,
      end: () => ann.put(`/orgs/${ann.org}/members/${bob.user.email}`, { role: 'editor' }).then(expecting(200)),
    }),
  }

  for (const [what, begin] of Object.entries(ways))
    it(`ends with ${what} that made it, changed its URL or replaced its secret, until another owner enables it`, async () => {
      await ann.put(`/orgs/${ann.org}/members/${bob.user.email}`, { role: 'owner' }).then(expecting(200))
      const { as, end } = await begin()
      const receiver = await startReceiver()
      const hooks = `/orgs/${ann.org}/webhooks`
      const own = (await as.post(hooks, { url: receiver.url, types: ['node.*'] }).then(expecting(201))).body
      const hers = (await ann.post(hooks, { url: receiver.url, types: ['node.*'] }).then(expecting(201))).body
      await as.patch(`${hooks}/${hers.id}`, { url: `${receiver.url}?taken` }).then(expecting(200))
      const rotated = (await ann.post(hooks, { url: receiver.url, types: ['node.*'] }).then(expecting(201))).body
      await as.post(`${hooks}/${rotated.id}/rotate`).then(expecting(200))
      const arrived = async () => {
        const before = receiver.received.length
        await ann.node({ title: 'Whales' })
        await grove.settled()
        return receiver.received.length - before
      }
      expect(await arrived()).to.equal(3)
      await end()
      expect(await arrived()).to.equal(0)
      for (const { id } of [own, hers, rotated]) {
        expect((await ann.get(`${hooks}/${id}`)).body).to.include({ state: 'disabled', reason: 'revoked' })
        await ann.patch(`${hooks}/${id}`, { active: true, from: 'now' }).then(expecting(200))
      }
      expect(await arrived()).to.equal(3)
      for (const { id } of [own, hers, rotated]) await ann.delete(`${hooks}/${id}`).then(expecting(204))
    })
})
