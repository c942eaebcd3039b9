/** The service's side of a push: receive-pack asks through its hook proc-receive, the judge answers for each ref. */

import type { Duplex } from 'node:stream'
import { isOid, type Oid } from '../repo.ts'
import { flush, pktLine, readPkts } from './pkt-line.ts'

/** What a push asks for one ref; null: the ref is not there, or is to be deleted. */
export interface RefCommand {
  readonly ref: string
  readonly from: Oid | null
  readonly to: Oid | null
}

export interface Push {
  readonly commands: readonly RefCommand[]
  /** All of them or none. */
  readonly atomic: boolean
}

/** What became of a push: why a ref was refused, by its name, and lines for the person at the terminal. */
export interface PushReport {
  readonly refused: ReadonlyMap<string, string>
  readonly lines: readonly string[]
}

/** Moves the refs. Every object of the push is in the repository, and durable after `syncReceived`; each ref is judged and moved, or refused. */
export type Judge = (push: Push) => Promise<PushReport>

/** The hook's side of gitprotocol's proc-receive (githooks(5)). Nothing happens where git refuses the push before. */
export async function procReceive(channel: Duplex, messages: Duplex, judge: Judge): Promise<void> {
  const pkts = readPkts(channel)
  const [greeting] = await listOf(pkts)
  if (greeting === undefined) return
  channel.write(Buffer.concat([pktLine('version=1\0atomic'), flush]))
  const commands = (await listOf(pkts)).map(parseCommand)
  const { refused, lines } = await judge({ commands, atomic: / atomic|\0atomic/.test(greeting) })
  messages.end(lines.map((line) => `${line}\n`).join(''))
  const verdicts = commands.map(({ ref }) => {
    const reason = refused.get(ref)
    return pktLine(reason === undefined ? `ok ${ref}` : `ng ${ref} ${oneLine(reason)}`)
  })
  channel.end(Buffer.concat([...verdicts, flush]))
}

/** The frames up to the next flush, as text; none where the stream ends. */
async function listOf(pkts: AsyncGenerator<Buffer | string>): Promise<string[]> {
  const list: string[] = []
  for (;;) {
    // Not `for await`: leaving that would close the channel.
    const { value, done } = await pkts.next()
    if (done || value === 'flush') return list
    list.push(value.toString().replace(/\n$/, ''))
  }
}

function parseCommand(line: string): RefCommand {
  const [from = '', to = '', ...name] = line.split(' ')
  const oid = (text: string) => (isOid(text) && !/^0+$/.test(text) ? text : null)
  return { from: oid(from), to: oid(to), ref: name.join(' ') }
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 500)
}
