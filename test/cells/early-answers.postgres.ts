/** Answers of another cell that come before it has read the whole request. */

import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'chai'
import { v7 as newId } from 'uuid'
import { type PersonClient, signUp } from '../support/people.ts'
import { here, setUrl, there, useCells } from './scene.ts'

/** Bytes: more than all buffers between the client and the cell hold. */
const large = 60_000_000

describe('an answer of another cell before the end of the body', () => {
  useCells()
  let ann: PersonClient

  before(async () => {
    await setUrl('here', here.url)
    ann = await signUp(here, 'Ann')
  })

  /** The answer to a client that reads nothing until it has sent everything. */
  async function say(url: string, headers: string, body = Buffer.alloc(0)): Promise<string> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    let failure = ''
    socket.on('error', (error: NodeJS.ErrnoException) => {
      failure = ` ${error.code}`
    })
    const path = `/git/${ann.org}/${newId()}.git/git-receive-pack`
    socket.write(`POST ${path} HTTP/1.1\r\nHost: grove\r\n${headers}\r\n\r\n`)
    const closed = once(socket, 'close')
    if (body.length > 0) await Promise.race([new Promise((sent) => socket.write(body, sent)), closed])
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (text.includes('expired or revoked')) socket.destroy()
    })
    await closed
    return `${text.split('\r\n', 1)[0]}${failure}`
  }

  it('is all that a client hears who waits to be told to go on', async () => {
    const headers = `Content-Type: application/x-git-receive-pack-request\r\nExpect: 100-continue\r\nContent-Length: ${large}`
    for (const { url } of [here, there])
      expect(await say(url, `${headers}\r\nAuthorization: Bearer x`), url).to.equal('HTTP/1.1 401 Unauthorized')
  })

  it('is heard by a client that sends all of it first', async () => {
    const headers = `Content-Type: application/x-git-receive-pack-request\r\nAuthorization: Bearer x\r\nContent-Length: ${large}`
    for (const { url } of [here, there])
      expect(await say(url, headers, Buffer.alloc(large)), url).to.equal('HTTP/1.1 401 Unauthorized')
  })
})
