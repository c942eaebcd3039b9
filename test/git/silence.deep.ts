/** Clients that fall silent: a minute without a byte either way, by a clock that the test turns. */

import { randomBytes } from 'node:crypto'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { flush, pktLine } from '../../gitstore/transfer/pkt-line.ts'
import { workingIn } from '../bench/processes.ts'
import { type Desk, newDesk, openService, remoteUrl } from '../support/desk.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { type HeldTimers, holdTimers } from '../support/held-timers.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'

describe('git: a client that falls silent', () => {
  let grove: Grove
  let ann: PersonClient
  let node: TestNode
  let desk: Desk
  let timers: HeldTimers

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann)
    const noise = node.git.commit({ files: { 'noise.bin': randomBytes(30_000_000) }, parents: [node.git.head()] })
    node.git.point('main', noise)
    desk = await newDesk()
  })
  beforeEach(() => {
    timers = holdTimers()
  })
  afterEach(async () => {
    timers.release()
    await desk.done(`rm -rf after; git clone -q ${remoteUrl(grove, node.org, node.id, ann.session.accessToken)} after`)
  })
  after(async () => {
    await desk.remove()
    await grove.close()
  })

  function open(service: 'git-upload-pack' | 'git-receive-pack', body: Buffer): ClientRequest {
    const one = openService(grove, node, ann.session.accessToken, service)
    one.on('error', () => undefined)
    one.write(body)
    return one
  }

  /**
   * Minutes pass until no git is left, and the connection is closed. What flows before the buffers are full counts as a sign
   * of life; a client that does not read sees the end of its connection only when it reads again.
   */
  async function leftAfterMinutes(one: ClientRequest, answer?: IncomingMessage): Promise<void> {
    let closed = false
    one.socket?.once('close', () => (closed = true))
    await until(async () => {
      timers.tick(60_000)
      return (await workingIn(grove.dataDir)).length === 0
    })
    answer?.resume()
    await until(() => {
      timers.tick(60_000)
      return closed
    })
    expect(answer?.complete ?? false, 'the answer is whole').to.equal(false)
  }

  it('in the middle of a push: git ends, and so does the connection', async () => {
    const command = pktLine(`${'0'.repeat(40)} ${node.git.head()} refs/heads/held\0 report-status`)
    const one = open('git-receive-pack', Buffer.concat([command, flush, Buffer.from('PACK')]))
    await until(async () => (await workingIn(grove.dataDir)).length > 0)
    await leftAfterMinutes(one)
  })

  it('in the middle of a clone: git ends, and so does the connection', async () => {
    const wants = [pktLine(`want ${node.git.head()} side-band-64k ofs-delta\n`), flush, pktLine('done\n')]
    const one = open('git-upload-pack', Buffer.concat(wants))
    one.end()
    const answer = await new Promise<IncomingMessage>((resolve) => one.once('response', resolve))
    answer.on('error', () => undefined)
    answer.pause()
    await leftAfterMinutes(one, answer)
  })

  for (const [what, byte] of [
    ['before it has asked anything', ''],
    ['but for a byte now and then', 'a'],
  ] as const)
    it(`${what}: it learns so, and no Git process runs for it`, async () => {
      const one = open('git-upload-pack', Buffer.from('ffff'))
      let answer: IncomingMessage | undefined
      one.once('response', (response) => (answer = response))
      await until(async () => {
        one.write(byte)
        expect(await workingIn(grove.dataDir)).to.deep.equal([])
        timers.tick(15_000)
        return answer !== undefined
      })
      expect(answer?.statusCode).to.equal(408)
      answer?.resume()
    })
})
