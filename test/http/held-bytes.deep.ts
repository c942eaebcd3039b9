/** Large answers that their clients do not read, and large bodies that do not end: one address has a limit, others are served. */

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { from, startBehindProxy } from '../support/behind-proxy.ts'
import type { Grove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { connectTo } from '../support/raw.ts'
import { until } from '../support/until.ts'

describe('what is held in memory', () => {
  let grove: Grove
  let idle: Socket[] = []

  before(async () => {
    grove = await startBehindProxy()
  })
  after(async () => {
    for (const socket of idle) socket.destroy()
    await grove.close()
  })

  it('is three answers of one address that reads none, and none once it has gone; another address gets its own', async () => {
    const ann = await signUp(grove, 'Ann')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const node = await newNode(grove, ann)
    // More than the buffers of a connection take; three are less than 96 MiB, four are more.
    const files = { large: Buffer.alloc(31_000_000) }
    node.git.point('main', node.git.commit({ files, parents: [node.git.head()] }))
    const path = `${node.at}/objects/${node.git.say('rev-parse', 'main:large')}`
    const ask = async (address: string) => {
      const headers = { ...from(address), 'accept-encoding': 'identity' }
      const answer = await fetch(grove.url + path, { headers })
      return `${answer.status} ${(await answer.arrayBuffer()).byteLength > 1_000_000}`
    }
    idle = Array.from({ length: 5 }, () => connectTo(grove))
    const statuses = idle.map(async (socket) => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: grove\r\nX-Forwarded-For: 10.8.0.1\r\n\r\n`)
      await once(socket, 'readable')
      return String(socket.read(12)).slice(-3)
    })
    expect((await Promise.all(statuses)).sort()).to.deep.equal(['200', '200', '200', '503', '503'])
    expect(await ask('10.8.0.1')).to.equal('503 false')
    expect(await ask('10.8.0.2')).to.equal('200 true')
    for (const socket of idle) socket.destroy()
    await until(async () => (await ask('10.8.0.1')) === '200 true')
  })

  it('is 96 MiB of bodies of one address that do not end, compressed as they may be; another address is served', async () => {
    const body = gzipSync(Buffer.alloc(15 * 1_048_576, ' '))
    const head = [
      'POST /auth/login HTTP/1.1',
      'Host: grove',
      'Content-Type: application/json',
      'Content-Encoding: gzip',
      'X-Forwarded-For: 10.8.1.1',
      `Content-Length: ${body.length + 1}`,
    ]
    const statuses: string[] = []
    const sending = Array.from({ length: 8 }, () => {
      const socket = connectTo(grove)
      socket.write(`${head.join('\r\n')}\r\n\r\n`)
      socket.write(body)
      void once(socket, 'readable').then(() => statuses.push(String(socket.read(12)).slice(-3)))
      return socket
    })
    idle.push(...sending)
    await until(async () => statuses.length === 2)
    expect(statuses).to.deep.equal(['503', '503'])
    const large = { email: 'ann@example.org', password: 'x'.repeat(1_000_000) }
    const login = async (address: string, sent: object) =>
      (await client(grove).hasty.post('/auth/login', sent, from(address))).status
    expect([await login('10.8.1.2', large), statuses.length]).to.deep.equal([422, 2])
    expect(await login('10.8.1.1', { email: 'ann@example.org', password: 'wrong guess' })).to.equal(401)
    for (const socket of sending) socket.destroy()
    await until(async () => (await login('10.8.1.1', { ...large, password: 'x'.repeat(10_000_000) })) === 422)
  })
})
