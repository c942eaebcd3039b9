/** Slots of git processes: a silent client holds none for long, and no client holds all of them. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { availableParallelism } from 'node:os'
import { expect } from 'chai'
import type { Caller } from '../../server/http/connection/caller-quota.ts'
import { acquireGit, type GitWork, newHold } from '../../server/http/git/git-limits.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('git: who gets one of the gits that run at once', () => {
  /** As server/http/git/git-limits.ts. */
  const running = Math.max(4, 2 * availableParallelism())

  describe('beside connections that are silent', () => {
    const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'stranger' })
    let node: TestNode
    let desk: Desk
    let silent: Socket[]

    before(async () => {
      node = await newNode(grove, ann)
      await ann.patch(`/orgs/${node.org}`, { published: true })
      desk = await newDesk()
    })
    beforeEach(() => {
      silent = []
    })
    afterEach(() => {
      for (const one of silent) one.destroy()
    })
    after(() => desk.remove())

    /** A request whose body does not come, or comes only in part. */
    async function fallSilent(
      token: string | undefined,
      service: string,
      headers: readonly string[],
      body = '',
    ): Promise<void> {
      const { hostname, port } = new URL(grove.url)
      const socket = connect(Number(port), hostname)
      silent.push(socket)
      await once(socket, 'connect')
      const lines = [
        `POST /git/${node.org}/${node.id}.git/${service} HTTP/1.1`,
        'Host: grove',
        `Content-Type: application/x-${service}-request`,
        ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
        ...headers,
      ]
      socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
    }

    async function expectServed(): Promise<void> {
      const url = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
      await desk.done(
        `rm -rf whales; git clone -q ${url} whales; cd whales; git commit -q --allow-empty -m x; git push -q`,
      )
      expect(silent.filter(({ destroyed }) => destroyed)).to.deep.equal([])
    }

    it.deep('that send nothing at all, a member is served', async () => {
      for (let n = 0; n < running; n++)
        for (const token of [undefined, bob.session.accessToken])
          await fallSilent(token, 'git-upload-pack', ['Content-Length: 10', 'Git-Protocol: version=2'])
      await expectServed()
    })

    it.deep('that send a part of a request, of a fetch or a push, a member is served', async () => {
      for (let n = 0; n < running; n++) {
        await fallSilent(bob.session.accessToken, 'git-upload-pack', ['Content-Length: 100'], '0032want ')
        await fallSilent(ann.session.accessToken, 'git-receive-pack', ['Content-Length: 100'], '00')
      }
      await expectServed()
    })
  })

  describe('by their shares', () => {
    const person = (name: string, isPublic = false) => ({ key: name, isAnonymous: false, isPublic, repository: name })
    const address = (name: string) => ({ key: name, isAnonymous: true, isPublic: true, repository: name })
    let taken: (() => void)[]

    beforeEach(() => {
      taken = []
    })
    afterEach(() => {
      for (const giveBack of taken) giveBack()
    })

    /** How many a caller gets of all, asking until one would have to wait. */
    async function takeAll(caller: Caller, work: GitWork = 'pack'): Promise<number> {
      for (let count = 0; ; count++) {
        const waits = new AbortController()
        const asked = acquireGit(work, caller, waits.signal)
        setImmediate(() => waits.abort())
        const giveBack = await asked.catch(() => undefined)
        if (giveBack === undefined) return count
        taken.push(giveBack)
      }
    }

    it('a user has half of them, an anonymous address a quarter, the public half, and members the rest', async () => {
      const half = Math.floor(running / 2)
      expect(await takeAll(address('one'))).to.equal(Math.floor(running / 4))
      expect(await takeAll(address('two'))).to.equal(Math.floor(running / 4))
      expect(await takeAll(person('stranger', true))).to.equal(half - 2 * Math.floor(running / 4))
      expect(await takeAll(person('member'))).to.equal(half)
    })

    const quarter = Math.floor(running / 4)
    const half = Math.floor(running / 2)
    const push = (name: string, network: string) => ({ ...person(name), network, isPush: true })

    it('pushes leave a quarter to fetches, and packs of both leave all of the lists of refs', async () => {
      for (let n = 0; n < running; n++) await takeAll(push(`${n}`, `${n}`))
      expect(taken.length).to.equal(running - quarter)
      expect(await takeAll(person('reader'))).to.equal(quarter)
      expect(await takeAll(push('writer', 'elsewhere'), 'list')).to.equal(quarter)
      expect(await takeAll(person('reader'), 'list')).to.equal(half)
    })

    it('accounts of one network have half of them for pushes, each a quarter, and three quarters in all', async () => {
      expect(await takeAll(push('one', '192.0.2.1'))).to.equal(quarter)
      expect(await takeAll(push('two', '192.0.2.1'))).to.equal(half - quarter)
      expect(await takeAll(push('three', '192.0.2.1'))).to.equal(0)
      expect(await takeAll({ ...person('four'), network: '192.0.2.1' })).to.equal(running - quarter - half)
      expect(await takeAll({ ...person('five'), network: '192.0.2.2' })).to.equal(quarter)
    })

    it('one that is given back goes to who has waited longest and may have it', async () => {
      const [first, second] = [person('first'), person('second')]
      await takeAll(first)
      await takeAll(second)
      const order: string[] = []
      const never = new AbortController().signal
      const waiters = [person('third'), person('fourth')].map((caller) =>
        acquireGit('pack', caller, never).then((giveBack) => {
          order.push(caller.key)
          giveBack()
        }),
      )
      taken.shift()?.()
      await Promise.all(waiters)
      expect(order).to.deep.equal(['third', 'fourth'])
    })

    it('requests of one person hold half of the memory for all at most, and leave the other half', () => {
      const all = 32 * 2 ** 20
      const [greedy, modest] = [newHold(person('greedy')), newHold(person('modest'))]
      greedy.hold(all / 2)
      expect(() => greedy.hold(1)).to.throw('Too many clones and pushes')
      modest.hold(all / 2)
      greedy.release()
      greedy.release()
      modest.release()
      const after = newHold(person('greedy'))
      after.hold(all / 2)
      after.release()
    })
  })
})
