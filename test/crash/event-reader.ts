/**
 * A reader of an organisation's events, as a process that is killed at any moment: `event-reader.ts pages|stream FOLDER`.
 * It appends what it saw with the cursor after it, in one line, and continues there after a kill.
 */

import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { follow } from '../support/event-stream.ts'
import { Unanswered } from '../support/exchange.ts'
import { client } from '../support/people.ts'
import { until } from '../support/until.ts'
import { appendSeen, readSeen, removeHalfLine } from './seen-lines.ts'

/** Where the service is now. The storm replaces the file. */
export interface Doors {
  readonly urls: readonly string[]
  readonly org: string
  readonly token: string
  /** A status of 500 or higher that is not a fault. */
  readonly tolerated: readonly number[]
}

/** Events in the order of their arrival, and the cursor after them. */
export interface SeenEvents {
  readonly cursor: string
  readonly events: readonly { readonly id: string; readonly seq: number; readonly type: string }[]
}

const eventsOfPage = 20

const [kind = '', folder = ''] = process.argv.slice(2)
const file = join(folder, `${kind}.seen`)
removeHalfLine(file)
let cursor = readSeen<SeenEvents>(file).at(-1)?.cursor ?? ''
console.log('reading')
for (;;) {
  const doors: Doors = JSON.parse(readFileSync(join(folder, 'doors.json'), 'utf8'))
  const url = doors.urls[Math.floor(Math.random() * doors.urls.length)]
  if (url !== undefined) await (kind === 'stream' ? readStream : readPage)(url, doors).catch(unlessBroken)
  await sleep(20)
}

function unlessBroken(error: unknown): void {
  // A connection that ends says nothing about events.
  if (error instanceof Unanswered || (error instanceof Error && 'code' in error)) return
  throw error
}

function keep(next: string, events: readonly SeenEvents['events'][number][]): void {
  if (next === cursor && events.length === 0) return
  appendSeen(file, { cursor: next, events: events.map(({ id, seq, type }) => ({ id, seq, type })) })
  cursor = next
}

function refuse(status: number, body: unknown, { tolerated }: Doors): void {
  if (!tolerated.includes(status))
    appendFileSync(join(folder, `${kind}.faults`), `after ${cursor}: ${status} ${JSON.stringify(body)}\n`)
}

async function readPage(url: string, doors: Doors): Promise<void> {
  const path = `/orgs/${doors.org}/events?limit=${eventsOfPage}&after=${cursor}`
  const { status, body } = await client({ url }, doors.token).get(path)
  if (status === 200) keep(body.next, body.events)
  else refuse(status, body, doors)
}

async function readStream(url: string, doors: Doors): Promise<void> {
  const stream = await follow(`${url}/orgs/${doors.org}/events`, doors.token, { 'last-event-id': cursor })
  if (stream.status !== 200) return refuse(stream.status, await stream.body().catch(() => 'broken'), doors)
  for (let read = 0; read < stream.blocks.length || stream.end() === 'open'; read++) {
    await until(() => read < stream.blocks.length || stream.end() !== 'open')
    const { id, data } = stream.blocks[read] ?? {}
    if (id !== undefined) keep(id, data === undefined ? [] : [JSON.parse(data)])
  }
}
