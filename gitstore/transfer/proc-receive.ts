/**
 * Answers the proc-receive hook of receive-pack during a push. The judge decides on each ref.
 */

import type { Duplex } from 'node:stream'
import { isOid, type Oid } from '../repo.ts'
import { flush, pktLine, readPkts } from './pkt-line.ts'

/** A push's command for one ref. `from` is null if the ref does not exist. `to` is null if it is to be deleted. */
export interface RefCommand {
  readonly ref: string
  readonly from: Oid | null
  readonly to: Oid | null
}

export interface Push {
  readonly commands: readonly RefCommand[]
  /** True if all commands must succeed or none. */
  readonly atomic: boolean
}

/** The outcome of a push: refusals by ref, and lines for the client's user. */
export interface PushReport {
  readonly refused: ReadonlyMap<string, string>
  /** The refs that were moved instead of those that the client named. Git shows their names since version 2.29. */
  readonly renamed?: ReadonlyMap<string, string>
  readonly lines: readonly string[]
}

/** Moves or refuses each ref. Every object of the push is in the repository, and is durable after `syncReceived`. */
export type Judge = (push: Push) => Promise<PushReport>

/** Speaks the hook's side of proc-receive (githooks(5)). Does nothing if Git has already refused the push. */
export async function procReceive(channel: Duplex, messages: Duplex, judge: Judge): Promise<void> {
  const pkts = readPkts(channel)
  const [greeting] = await listOf(pkts)
  if (greeting === undefined) return
  channel.write(Buffer.concat([pktLine('version=1\0atomic'), flush]))
  const commands = (await listOf(pkts)).map(parseCommand)
  const { refused, renamed, lines } = await judge({ commands, atomic: / atomic|\0atomic/.test(greeting) })
  messages.end(lines.map((line) => `${line}\n`).join(''))
  const verdicts = commands.flatMap(({ ref }) => {
    const reason = refused.get(ref)
    if (reason !== undefined) return [pktLine(`ng ${ref} ${oneLine(reason)}`)]
    const instead = renamed?.get(ref)
    return [pktLine(`ok ${ref}`), ...(instead === undefined ? [] : [pktLine(`option refname ${instead}`)])]
  })
  channel.end(Buffer.concat([...verdicts, flush]))
}

/** Returns the frames as strings, up to the next flush or the stream's end. */
async function listOf(pkts: AsyncGenerator<Buffer | string>): Promise<string[]> {
  const list: string[] = []
  for (;;) {
    // `for await` would close the channel when it is left.
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
