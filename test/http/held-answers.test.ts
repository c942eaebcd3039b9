/** Large answers that nobody reads: of one address so many, and others get theirs. */

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect } from 'chai'
import { from, startBehindProxy } from '../support/behind-proxy.ts'
import { type Grove, signUp } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { connectTo } from '../support/raw.ts'
import { until } from '../support/until.ts'

describe('large answers that are not read', () => {
  let grove: Grove
  let idle: Socket[] = []

  before(async () => {
    grove = await startBehindProxy()
  })
  after(async () => {
    for (const socket of idle) socket.destroy()
    await grove.close()
  })

  it('are three of one address, and none once it has gone; another address gets its own', async () => {
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
})
