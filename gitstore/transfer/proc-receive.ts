/** The service's side of a push: receive-pack asks through its hook proc-receive, the judge answers for each ref. */

import type { Duplex } from 'node:stream'
import { isOid, type Oid } from '../repo.ts'
import { flush, pktLine, readPkts } from './pkt-line.ts'

/** The command of a push for one ref; null: the ref does not exist, or is to be deleted. */
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

/** The outcome of a push: reasons of refusals by ref, and lines for the user of the client. */
export interface PushReport {
  readonly refused: ReadonlyMap<string, string>
  readonly lines: readonly string[]
}

/** Judges each ref and moves or refuses it. Every object of the push is in the repository, and durable after `syncReceived`. */
export type Judge = (push: Push) => Promise<PushReport>

/** Speaks the hook's side of proc-receive (githooks(5)). Returns without an effect where git has refused the push before. */
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
