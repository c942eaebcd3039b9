/** Pushes that take long: on the service's own account, and while it stops. */

import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { type ClientRequest, createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Request, Response } from 'express'
import { flush, pktLine } from '../../gitstore/transfer/pkt-line.ts'
import type { Judge } from '../../gitstore/transfer/proc-receive.ts'
import { pushHeadOf, servePush } from '../../gitstore/transfer/smart-http.ts'
import { exchangesUntil } from '../../server/http/git/git.ts'
import { workingIn } from '../bench/processes.ts'
import { newDataDir } from '../support/data-folder.ts'
import { openService } from '../support/desk.ts'
import { type HeldTimers, holdTimers } from '../support/held-timers.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

describe('git: a push that takes long', () => {
  let grove: SpawnedGrove
  let ann: PersonClient
  let node: TestNode

  before(async () => {
    grove = await spawnGrove(await newDataDir())
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann)
  })
  after(async () => {
    await grove.kill()
    await rm(grove.dataDir, { recursive: true, force: true })
  })

  const capabilities = 'report-status side-band-64k'
  const command = (ref: string) =>
    Buffer.concat([pktLine(`${'0'.repeat(40)} ${node.git.head()} ${ref}\0 ${capabilities}`), flush])
  const pack = () => node.git.run(['pack-objects', '--stdout', '-q'], { input: node.git.head() })

  interface Heard {
    text(): string
    readonly ended: Promise<void>
  }

  /** The answer so far. */
  async function hear(one: ClientRequest): Promise<Heard> {
    const [answer] = (await once(one, 'response')) as [IncomingMessage]
    let text = ''
    answer.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
    })
    const ended = new Promise<void>((resolve) => answer.once('close', resolve))
    return { text: () => text, ended }
  }

  describe('to be judged', () => {
    let server: Server
    let judged: () => void
    let judge: Judge
    let timers: HeldTimers | undefined

    before(async () => {
      const exchanges = exchangesUntil(new AbortController().signal, new Set())
      server = createServer(async (req, res) => {
        const { gone, stopping } = exchanges.begin(req as Request, res as Response) // Node's own will do
        const head = await pushHeadOf(req)({ limitBytes: 1e6, hold: () => undefined, signal: gone })
        const conversation = {
          service: 'git-receive-pack',
          shown: ['refs/'],
          version: 0,
          bodyBytes: undefined,
          signal: gone,
          stopping,
        } as const
        const gate = { mark: join(node.git.dir, 'pushing'), closedBy: join(node.git.dir, 'closed') }
        const rules = { judge, cpuSeconds: 60, overspent: () => undefined, gate }
        await servePush({ dir: node.git.dir }, conversation, head, req, res, rules).catch(() => undefined)
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
    })
    afterEach(() => timers?.release())
    after(() => server.close())

    it('hears every two seconds that it continues, and is not cut for the service’s own silence', async () => {
      const held = new Promise<void>((resolve) => {
        judged = resolve
      })
      let isJudging = false
      judge = async () => {
        isJudging = true
        await held
        return { refused: new Map([['refs/heads/long', 'judged at last']]), lines: [] }
      }
      timers = holdTimers()
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens
      const one = openService({ url }, node, '', 'git-receive-pack')
      one.end(Buffer.concat([command('refs/heads/long'), pack()]))
      const heard = await hear(one)
      await until(() => isJudging)
      for (let minute = 0; minute < 50; minute++) timers.tick(60_000)
      await until(() => heard.text().includes('0005\x01'))
      judged()
      await heard.ended
      expect(heard.text()).to.include('ng refs/heads/long judged at last')
    })

    it('ends with a sentence if the judge fails after that: git would wait for ever for the rest of an answer', async () => {
      let isHeard = false
      judge = async () => {
        await until(() => isHeard)
        throw new Error('No judge')
      }
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens
      const one = openService({ url }, node, '', 'git-receive-pack')
      one.end(Buffer.concat([command('refs/heads/lost'), pack()]))
      const heard = await hear(one)
      await until(() => heard.text().includes('0005\x01'))
      isHeard = true
      await heard.ended
      expect(heard.text()).to.match(
        /\x03The push broke off and may have been carried out; fetch before you push again\n0000$/,
      )
    })
  })

  it('while the service stops: one that ends soon is taken, one that does not is told, new ones are refused', async () => {
    // Pushes of one person may wait for one another.
    const bob = await signUp(grove, 'Bob')
    await ann.put(`/orgs/${node.org}/members/bob@example.org`, { role: 'editor' })
    const open = (person: PersonClient, ref: string) => {
      const one = openService(grove, node, person.session.accessToken, 'git-receive-pack')
      one.write(command(ref))
      return one
    }
    const [soon, never] = [open(ann, 'refs/heads/soon'), open(bob, 'refs/heads/never')]
    // A connection that was there before, with a request that has not begun to ask for anything.
    const late = openService(grove, node, ann.session.accessToken, 'git-receive-pack')
    late.flushHeaders()
    never.write('PACK')
    await until(async () => (await workingIn(grove.dataDir)).length >= 2)
    const whole = pack()
    const stopped = grove.stop()
    const [refused] = (await once(late, 'response')) as [IncomingMessage]
    expect(refused.statusCode).to.equal(503)
    soon.end(whole)
    const taken = await hear(soon)
    await taken.ended
    expect(taken.text()).to.include('ok refs/heads/soon')
    const told = await hear(never)
    await told.ended
    expect(told.text()).to.match(/\x03The service is stopping; .*fetch before you push again\n0000$/)
    expect(await stopped).to.equal(0)
    expect(node.git.lines('for-each-ref', '--format=%(refname)', 'refs/heads')).to.deep.equal([
      'refs/heads/main',
      'refs/heads/soon',
    ])
  })
})
