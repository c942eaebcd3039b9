/**
 * Serves smart HTTP with native Git (gitprotocol-http(5)): upload-pack for clone and fetch, receive-pack for push. The
 * request is read and checked before Git starts. Git checks the pack of a push in quarantine and then asks `judge`.
 * Only the judge moves refs.
 */

import { type Duplex, PassThrough, type Readable, type Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { killGroup, writeInput } from '../native.ts'
import { removeFolder } from '../refs/unindexed-moves.ts'
import type { Repo } from '../repo.ts'
import { type ReadOptions, readFrames } from './bounded-input.ts'
import { CutOffError, type Exchange, relayOutput } from './exchange.ts'
import { bodyOf, type Fetch, type FetchRequest, fetchReader, type LsRefs } from './fetch-request.ts'
import { flush, pktLine } from './pkt-line.ts'
import { type Judge, oneLine, procReceive } from './proc-receive.ts'
import { watchCpu } from './process-tree.ts'
import { type PushHead, pushReader, refusalOf } from './push-request.ts'
import { countReceived } from './quarantine.ts'
import { type PushGate, startService } from './service-process.ts'

/** Git lists its capabilities in a moment, for any number of refs. */
const capabilitiesTimeoutMs = 60_000

/** The capabilities that upload-pack advertises in protocol v2. They are the same for every repository. */
let capabilities: Promise<Buffer> | undefined

/**
 * Advertises the refs and capabilities with which an exchange begins. @throws GitError busy, native_failed,
 * repo_missing
 */
export async function advertise(repo: Repo, conversation: Exchange, output: Writable): Promise<void> {
  if (conversation.version === 2 && conversation.service === 'git-upload-pack') {
    capabilities ??= readCapabilities(repo, conversation).catch((error: unknown) => {
      capabilities = undefined
      throw error
    })
    output.end(await capabilities)
    return
  }
  const child = startService(repo, { ...conversation, advertises: true })
  child.stdin.end()
  const opening = Buffer.concat([pktLine(`# service=${conversation.service}\n`), flush])
  await relayOutput(repo, child, conversation, output, { opening })
}

/** Reads the capabilities. Several clients may wait for the same answer, so it does not end with the first of them. */
async function readCapabilities(repo: Repo, conversation: Exchange): Promise<Buffer> {
  const child = startService(repo, { ...conversation, advertises: true })
  child.stdin.end()
  const said = new PassThrough()
  const signal = AbortSignal.timeout(capabilitiesTimeoutMs)
  const [bytes] = await Promise.all([buffer(said), relayOutput(repo, child, { ...conversation, signal }, said)])
  return bytes
}

/** Reads the body of a request to upload-pack. @throws the errors of readFrames, and GitError not_offered */
export async function readFetch(input: Readable, version: 0 | 1 | 2, reading: ReadOptions): Promise<FetchRequest> {
  const reader = fetchReader(version === 2 ? 2 : 0)
  const outcome = await readFrames(input, reading, reader.take)
  return reader.request(outcome === 'ended')
}

/**
 * Returns a function that reads the request of a push up to its pack. The pack stays in `input`. Once it has succeeded,
 * it returns the same again. If it throws, the next call continues where it broke off.
 *
 * @throws the errors of readFrames
 */
export function pushHeadOf(input: Readable): (reading: ReadOptions) => Promise<PushHead> {
  const reader = pushReader()
  let head: PushHead | undefined
  return async (reading) => {
    head ??= reader.head((await readFrames(input, reading, reader.take)) === 'ended')
    return head
  }
}

/**
 * Answers a checked request. Resolves when `output` has ended.
 *
 * @throws GitError busy, repo_missing, native_failed (Git ended with an error before it had answered)
 */
export async function serveFetch(
  repo: Repo,
  conversation: Exchange,
  request: LsRefs | Fetch,
  output: Writable,
): Promise<void> {
  const child = startService(repo, { ...conversation, advertises: false })
  child.stdin.end(bodyOf(request))
  const bands = request.command === 'fetch' && (request.version === 2 || request.options.has('side-band-64k'))
  await relayOutput(repo, child, conversation, output, { bands })
}

/** Sends a sentence that the Git client shows to its user. */
export function sendError(output: Writable, sentence: string): void {
  output.end(pktLine(`ERR ${oneLine(sentence)}`))
}

export interface PushRules {
  readonly judge: Judge
  /** Seconds of CPU time that Git may take before `judge` is asked. A large pack gets more. */
  readonly cpuSeconds: number
  /** Called when the push is refused because of its time or its size. */
  readonly overspent: (reason: string) => void
  readonly gate: PushGate
  /** Absent: any number of bytes, up to the limit of Git's settings. */
  readonly room?: PushRoom | undefined
}

/** The bytes that a push may add. */
export interface PushRoom {
  /** The bytes that were left when the push began. */
  readonly left: number
  /** Counts bytes as they come. Returns the reason to refuse the push, if there are too many. */
  received(bytes: number): string | undefined
}

/**
 * Serves a push whose pack follows in `input`. Resolves when `output` and the judge have ended.
 *
 * @throws the errors of serveFetch
 */
export async function servePush(
  repo: Repo,
  conversation: Exchange,
  head: PushHead,
  input: Readable,
  output: Writable,
  { judge, cpuSeconds, overspent, gate, room }: PushRules,
): Promise<void> {
  const child = startService(repo, {
    ...conversation,
    shown: ['refs/'],
    advertises: false,
    gate,
    bytesLeft: room?.left,
  })
  const [, , , protocol, messages] = child.stdio as unknown as readonly [0, 0, 0, Duplex, Duplex] // receive-pack has these two
  child.stdin.write(head.bytes)
  const cut = new AbortController()
  const cutOff = (reason: string) => {
    if (cut.signal.aborted) return
    overspent(reason)
    cut.abort(new CutOffError(reason, refusalOf(head, new Map(head.refs.map((ref) => [ref, reason])))))
  }
  const cpu = watchCpu(child, cpuSeconds, (allowed) =>
    cutOff(`git needs more than ${allowed} s of CPU time for this push; push it in several parts, older commits first`),
  )
  input.on('data', (chunk: Buffer) => {
    cpu.received(chunk.length)
    const reason = room?.received(chunk.length)
    if (reason !== undefined) cutOff(reason)
  })
  writeInput(input, child)
  const options = { bands: head.bands, isPush: true, cut: cut.signal }
  const answer = relayOutput(repo, child, conversation, output, options).finally(cpu.end)
  const judgeInTime: Judge = async (push) => {
    cpu.end()
    // Git is still to be killed, and its client already knows that nothing moves.
    if (cut.signal.aborted) return { refused: new Map(push.commands.map(({ ref }) => [ref, 'cut off'])), lines: [] }
    await countReceived(repo, gate.mark)
    return judge(push)
  }
  const served = Promise.all([
    answer,
    procReceive(protocol, messages, judgeInTime).catch((error: unknown) => {
      killGroup(child)
      throw error
    }),
  ])
  try {
    await served
  } finally {
    removeFolder(gate.mark)
  }
}
