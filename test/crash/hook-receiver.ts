/**
 * A receiver of webhooks, as a process that is killed at any moment: `hook-receiver.ts FOLDER PORT SECRET FAILURES`. It
 * appends what it accepts, before it answers. Of `FAILURES` messages, one is answered 500; 0: none.
 */

import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { appendSeen, removeHalfLine } from './seen-lines.ts'

/** A message that was accepted. */
export interface SeenMessage {
  /** Of the header `webhook-id`. */
  readonly id: string
  /** Of the event in the body. */
  readonly eventId: string
  readonly seq: number
  readonly isSigned: boolean
}

const [folder = '', port = '', secret = '', failures = '0'] = process.argv.slice(2)
const file = join(folder, 'receiver.seen')
const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
removeHalfLine(file)

createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const isRefused = Number(failures) > 0 && Math.random() < 1 / Number(failures)
    if (!isRefused) appendSeen(file, messageOf(request, Buffer.concat(parts).toString()))
    response.writeHead(isRefused ? 500 : 204).end()
  })
}).listen(Number(port), '127.0.0.1', () => console.log('receiving'))

function messageOf({ headers }: IncomingMessage, body: string): SeenMessage {
  const [id, time, signatures] = ['id', 'timestamp', 'signature'].map((name) => `${headers[`webhook-${name}`]}`)
  const own = `v1,${createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64')}`
  const event = JSON.parse(body)
  return { id: id ?? '', eventId: event.id, seq: event.seq, isSigned: signatures?.split(' ').includes(own) ?? false }
}
