/** A process that is killed in the middle of propose_change: what is left can be seen, and the same call goes on from it. */

import { readdir } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { made, makeNode } from '../support/cast.ts'
import { newDataDir } from '../support/data-folder.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { connectHttp, connectStdio, tokenOf } from './scene.ts'

const changes = [{ path: 'content.md', content: 'Whales breathe air.\n' }]

describe('a process that is killed between branch and request', () => {
  it('of the service leaves a branch at most, and the same call makes one proposal', async () => {
    const dataDir = await newDataDir()
    for (let round = 0; round < 3; round++) {
      const first = await spawnGrove(dataDir)
      const ann = await signUp(first, `Ann ${round}`)
      const org_id = ann.org
      const node_id = await makeNode({ org: org_id, owner: ann })
      const token = await tokenOf('write', {}, ann)
      const input = { org_id, node_id, title: 'They breathe', changes }
      const model = await connectHttp(token, '2026-07-28', first)
      const cutOff = model.ask('propose_change', input).catch(() => undefined)
      const branches = join(dataDir, org_id, `${node_id}.git`, 'refs/heads/agent')
      let isOver = false
      void cutOff.finally(() => {
        isOver = true
      })
      while (
        !isOver &&
        !(await readdir(branches).then(
          (found) => found.some(isBranch),
          () => false,
        ))
      )
        await turn()
      await first.kill()
      await cutOff
      const second = await spawnGrove(dataDir)
      await expectOneProposal({ ...ann, ...client(second, ann.session.accessToken) }, node_id, async () => {
        const again = await connectHttp(token, '2026-07-28', second)
        return again.ask('propose_change', input)
      })
      await second.stop()
    }
  })

  it('of `grove mcp` leaves a branch that lists show, and the same call makes one proposal', async () => {
    const service = await spawnGrove(await newDataDir())
    const ann = await signUp(service, 'Ann')
    const org_id = ann.org
    const node_id = await makeNode({ org: org_id, owner: ann })
    const token = await tokenOf('write', {}, ann)
    const input = { org_id, node_id, title: 'They breathe', changes }
    const between = await cutBefore(service.url, '/pull-requests')
    const model = await connectStdio(token, '2026-07-28', between)
    const said = await Promise.race([model.ask('propose_change', input), between.cut])
    expect(said).to.equal('cut')
    await model.client.close()
    between.close()
    const { branches } = await made(ann.get(`/orgs/${org_id}/nodes/${node_id}/branches`))
    expect(branches.map(({ name }: { name: string }) => name.replace(/[\da-f]{12}$/, '…'))).to.deep.equal([
      'agent/…',
      'main',
    ])
    expect((await made(ann.get(`/orgs/${org_id}/nodes/${node_id}/pull-requests`))).total).to.equal(0)
    await expectOneProposal(ann, node_id, async () => {
      const again = await connectStdio(token, '2025-11-25', service)
      return again.ask('propose_change', input)
    })
    await service.stop()
  })
})

function isBranch(name: string): boolean {
  return /^[\da-f]{12}$/.test(name)
}

async function expectOneProposal(ann: PersonClient, node: string, again: () => Promise<string>): Promise<void> {
  const at = `/orgs/${ann.org}/nodes/${node}`
  const before = (await made(ann.get(`${at}/branches`))).branches.map(({ name }: { name: string }) => name)
  expect(before.filter((name: string) => name !== 'main').length).to.be.at.most(1)
  expect(await again())
    .to.include('Proposal 1 of node')
    .and.to.include('can_merge: true')
  const { pull_requests, total } = await made(ann.get(`${at}/pull-requests?status=all`))
  expect([total, pull_requests[0].commits_ahead]).to.deep.equal([1, 1])
  expect((await made(ann.get(`${at}/branches`))).total).to.equal(2)
  await made(ann.post(`${at}/pull-requests/1/merge`, {}))
  expect((await made(ann.get(at))).text_content).to.equal('Whales breathe air.\n')
}

/** Hands requests on to the service, until one is sent to a path that ends so: that is never answered. */
async function cutBefore(url: string, ending: string): Promise<{ url: string; cut: Promise<'cut'>; close(): Server }> {
  let tell: (said: 'cut') => void
  const cut = new Promise<'cut'>((resolve) => {
    tell = resolve
  })
  const server = createServer((req, res) => {
    if (req.method === 'POST' && req.url?.endsWith(ending)) {
      tell('cut')
      return
    }
    const sent: Buffer[] = []
    req.on('data', (part) => sent.push(part))
    req.on('end', async () => {
      const { authorization = '', 'content-type': type = 'application/json' } = req.headers
      const body = sent.length > 0 ? { body: Buffer.concat(sent) } : {}
      const method = req.method ?? 'GET'
      const answer = await fetch(url + req.url, { method, headers: { authorization, 'content-type': type }, ...body })
      res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
      res.end(Buffer.from(await answer.arrayBuffer()))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on a port
  const close = () => {
    server.closeAllConnections()
    return server.close()
  }
  return { url: `http://127.0.0.1:${port}`, cut, close }
}
