/** Who may be sent a large file, or an export, while others do not read theirs. */

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect } from 'chai'
import { runningGits } from '../../gitstore/native.ts'
import { from, startBehindProxy } from '../support/behind-proxy.ts'
import type { Grove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { connectTo } from '../support/raw.ts'

describe('what takes long to send', () => {
  let grove: Grove
  const idle: Socket[] = []

  before(async () => {
    grove = await startBehindProxy()
  })
  after(async () => {
    for (const socket of idle) socket.destroy()
    await grove.close()
  })

  /** Resolves once the answer has begun, if it is no refusal. Nothing more of it is read. */
  async function isServed(socket: Socket): Promise<void> {
    await once(socket, 'readable')
    if (String(socket.read(12)) !== 'HTTP/1.1 200') await new Promise(() => {})
  }

  it('is sent to anyone while one address asks for many and reads none: a large file, an export', async () => {
    const ann = await signUp(grove, 'Ann')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const node = await newNode(grove, ann)
    // More than the buffers of a connection take.
    const content = Buffer.alloc(24 * 1_048_576)
    node.git.point('main', node.git.commit({ files: { large: content }, parents: [node.git.head()] }))
    for (const path of [`${node.at}/tree/main/raw/large`, `/orgs/${node.org}/export`]) {
      const sockets = Array.from({ length: 12 }, () => connectTo(grove))
      idle.push(...sockets)
      for (const socket of sockets)
        socket.write(`GET ${path} HTTP/1.1\r\nHost: grove\r\nX-Forwarded-For: 10.7.0.1\r\n\r\n`)
      await Promise.race(sockets.map(isServed))
      const answer = await fetch(grove.url + path, { headers: from('10.7.0.2') })
      expect(answer.status, path).to.equal(200)
      expect((await answer.arrayBuffer()).byteLength, path).to.be.at.least(content.length)
    }
  })

  it('takes no more gits at once for the last byte of a large file than for all of it', async () => {
    const bob = await signUp(grove, 'Bob')
    await bob.patch(`/orgs/${bob.org}`, { published: true }).then(expecting(200))
    const node = await newNode(grove, bob)
    const files = { large: Buffer.alloc(8_000_000) }
    node.git.point('main', node.git.commit({ files, parents: [node.git.head()] }))
    const ask = async () => {
      const headers = { ...from('10.7.0.3'), range: 'bytes=-1' }
      const answer = await fetch(`${grove.url}${node.at}/tree/main/raw/large`, { headers })
      return `${answer.status} ${(await answer.arrayBuffer()).byteLength}`
    }
    expect(await ask()).to.equal('206 1')
    const [before, gits] = [runningGits(), new Set<number>()]
    const watch = setInterval(() => gits.add(runningGits() - before), 1)
    const answers = await Promise.all(Array.from({ length: 30 }, ask))
    clearInterval(watch)
    expect(new Set(answers)).to.deep.equal(new Set(['206 1']))
    // Two that send, and those that end just now.
    expect(Math.max(...gits)).to.be.at.most(6)
  })
})
