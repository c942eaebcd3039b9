/** Bounds on gits: how many run and wait, and that none outlives its client or the service. */

import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { availableParallelism } from 'node:os'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { flush, pktLine } from '../../gitstore/transfer/pkt-line.ts'
import { workingIn } from '../bench/processes.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Desk, newDesk, openService, remoteUrl } from '../support/desk.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

describe('git: how many at once, and for how long', () => {
  let grove: SpawnedGrove
  let ann: PersonClient
  let node: TestNode
  let desk: Desk
  let sent: ClientRequest[]

  beforeEach(async () => {
    grove = await spawnGrove(await newDataDir())
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann)
    desk = await newDesk()
    sent = []
  })
  afterEach(async () => {
    for (const one of sent) one.destroy()
    await grove.kill()
    await rm(grove.dataDir, { recursive: true, force: true })
    await desk.remove()
  })

  type Service = 'git-upload-pack' | 'git-receive-pack'

  /** A request of Ann's, whose body is the test's to write and whose answer is the test's to read. */
  function open(service: Service, headers: Record<string, string> = {}): ClientRequest {
    const one = openService(grove, node, ann.session.accessToken, service, headers)
    one.on('error', () => undefined)
    sent.push(one)
    return one
  }

  /** A push that has begun and does not go on. */
  function heldPush(): ClientRequest {
    const one = open('git-receive-pack')
    one.write(Buffer.concat([pktLine(`${'0'.repeat(40)} ${node.git.head()} refs/heads/held\0 report-status`), flush]))
    one.write('PACK')
    return one
  }

  /** The clone of a repository too large for the buffers between; its answer is not read. */
  async function heldClone(): Promise<void> {
    const head = node.git.commit({ files: { 'noise.bin': randomBytes(30_000_000) }, parents: [node.git.head()] })
    node.git.point('main', head)
    const one = open('git-upload-pack')
    const answered = new Promise<IncomingMessage>((resolve) => one.once('response', resolve))
    one.end(Buffer.concat([pktLine(`want ${head} side-band-64k ofs-delta\n`), flush, pktLine('done\n')]))
    const answer = await answered
    answer.pause()
  }

  async function untilGits(is: (count: number) => boolean): Promise<void> {
    await until(async () => is((await workingIn(grove.dataDir)).length))
  }

  it('one user holds neither all of them nor the whole queue; the next one learns when to retry', async () => {
    const bob = await signUp(grove, 'Bob')
    const other = await newNode(grove, bob)
    // As server/http/git/git-limits.ts: a quarter of all run for the pushes of one person, and 64 wait.
    const forOne = Math.floor(Math.max(4, 2 * availableParallelism()) / 4) + 64
    const refused: IncomingMessage[] = []
    const ended: number[] = []
    for (let n = 0; n < forOne + 1; n++) {
      const one = heldPush()
      one.once('response', (answer) => {
        if (answer.headers['retry-after'] !== undefined) refused.push(answer)
        else ended.push(answer.statusCode ?? 0)
      })
    }
    await until(() => refused.length > 0)
    expect(refused.map(({ statusCode }) => statusCode)).to.deep.equal([200])
    const [report = Readable.from([])] = refused
    expect(await text(report)).to.include('ng refs/heads/held Too many clones and pushes are running; try again')
    expect(ended).to.deep.equal([])
    const to = remoteUrl(grove, other.org, other.id, bob.session.accessToken)
    await desk.done(
      `git clone -q ${to} other; cd other; echo x > x; git add x; git commit -qm x; git push -q origin main`,
    )
    expect((await ann.get(node.at)).status).to.equal(200)
    for (const one of sent) one.destroy()
    await desk.done(`git clone -q ${remoteUrl(grove, node.org, node.id, ann.session.accessToken)} mine`)
    await untilGits((count) => count === 0)
  })

  it('clones and pushes end with their client, which is not a fault of the service', async () => {
    heldPush()
    await untilGits((count) => count > 0)
    await heldClone()
    await untilGits((count) => count > 2)
    for (const one of sent) one.destroy()
    await untilGits((count) => count === 0)
    expect(await grove.stop()).to.equal(0)
    expect(grove.output().stderr).to.equal('')
  })

  it('no git outlives a service that was killed, in the middle of pushes and of clones', async () => {
    heldPush()
    await untilGits((count) => count > 0)
    await heldClone()
    await untilGits((count) => count > 2)
    await grove.kill()
    await untilGits((count) => count === 0)
    grove = await spawnGrove(grove.dataDir)
    expect(node.git.lines('branch', '--list', 'held')).to.deep.equal([])
    await desk.done(`git clone -q ${remoteUrl(grove, node.org, node.id, ann.session.accessToken)} again`)
  })

  it('a service that is to stop does not wait for ever for a clone that continues', async () => {
    heldPush()
    await heldClone()
    expect(await grove.stop()).to.equal(0)
    await untilGits((count) => count === 0)
  })
})
