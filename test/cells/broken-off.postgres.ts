/** Clones and pushes through a cell that has not the organisation, whose client goes away: git ends at the cell that has it. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { flush, pktLine } from '../../gitstore/transfer/pkt-line.ts'
import { workingIn } from '../bench/processes.ts'
import { filesBelow } from '../support/data-folder.ts'
import { openService } from '../support/desk.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { here, setUrls, there, useCells } from './scene.ts'

describe('through another cell, with a client that goes away', () => {
  useCells()
  let ann: PersonClient
  let node: TestNode
  let large: string

  before(async () => {
    await setUrls()
    ann = await signUp(here, 'Ann')
    node = await newNode(here, ann)
    // More than the sockets of two hops hold.
    large = node.git.commit({ files: { 'noise.bin': randomBytes(48_000_000) }, parents: [node.git.head()] })
    node.git.point('large', large)
  })

  const gits = async () => (await workingIn(here.dataDir)).length

  it('a clone ends its git', async () => {
    const one = openService(there, node, ann.session.accessToken, 'git-upload-pack')
    one.on('error', () => undefined)
    one.end(Buffer.concat([pktLine(`want ${large} side-band-64k`), flush, pktLine('done')]))
    const [answer] = (await once(one, 'response')) as [IncomingMessage]
    expect(answer.statusCode).to.equal(200)
    await once(answer, 'readable')
    expect(await gits()).to.be.above(0)
    one.destroy()
    await until(async () => (await gits()) === 0)
  })

  it('a push ends its git, and leaves nothing of its pack', async () => {
    const stored = async () => (await filesBelow(`${node.git.dir}/objects`)).sort()
    const before = await stored()
    const pack = node.git.run(['pack-objects', '--stdout', '-q', '--revs'], { input: large })
    const one = openService(there, node, ann.session.accessToken, 'git-receive-pack')
    one.on('error', () => undefined)
    const command = pktLine(`${'0'.repeat(40)} ${large} refs/heads/broken\0 report-status`)
    one.write(Buffer.concat([command, flush, pack.subarray(0, -100)]))
    await until(async () => (await stored()).length > before.length)
    one.destroy()
    await until(async () => (await gits()) === 0)
    // A git that had to be killed leaves what the service then removes.
    await until(async () => (await stored()).join() === before.join())
  })
})
