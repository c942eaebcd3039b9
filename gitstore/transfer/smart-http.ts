/**
 * Smart HTTP's two services, as native git speaks them (gitprotocol-http(5)): upload-pack for clone and fetch, receive-pack for
 * push. What a client asks is read and judged before git starts; of a push, git checks the pack in quarantine and then asks
 * `judge`, which alone moves refs.
 */

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Duplex, PassThrough, type Readable, type Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { syncDirectory } from '../durable.ts'
import { codeOf, GitError } from '../errors.ts'
import { type GitProcess, killGroup, longestGit, startFault } from '../native.ts'
import { isOid, type Oid, type Repo } from '../repo.ts'
import { repoExists } from '../repos.ts'
import { type Reading, readFrames } from './bounded-input.ts'
import { bodyOf, type Fetch, type FetchRequest, fetchReader, type LsRefs } from './fetch-request.ts'
import { flush, frameTail, pktLine, readPkts } from './pkt-line.ts'
import { type PushHead, pushReader } from './push-request.ts'
import { endPush } from './quarantine.ts'
import { type Service, startService } from './service-process.ts'

export interface Conversation {
  readonly service: Service
  /** The refs that the client hears of: these, and all below them. */
  readonly shown: readonly string[]
  readonly version: 0 | 1 | 2
  /** Ends git at once: the client has gone, or is too slow. */
  readonly signal: AbortSignal
  /** Ends git, and says so to the client. */
  readonly stopping: AbortSignal
}

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

/** Git says what it can do in a moment, however many refs there are. */
const capabilitiesTimeoutMs = 60_000

/** What upload-pack says first in protocol v2: what it can do, and nothing of any repository. */
let capabilities: Promise<Buffer> | undefined

/** The refs and capabilities with which a conversation begins. @throws GitError busy, native_failed, repo_missing */
export async function advertise(repo: Repo, conversation: Conversation, output: Writable): Promise<void> {
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
  await converse(repo, child, conversation, output, { opening })
}

/** Others may be waiting for the same answer: it does not end with the client that asked first. */
async function readCapabilities(repo: Repo, conversation: Conversation): Promise<Buffer> {
  const child = startService(repo, { ...conversation, advertises: true })
  child.stdin.end()
  const said = new PassThrough()
  const signal = AbortSignal.timeout(capabilitiesTimeoutMs)
  const [bytes] = await Promise.all([buffer(said), converse(repo, child, { ...conversation, signal }, said)])
  return bytes
}

/** What the body of a request to upload-pack asks. @throws GitError as readFrames; not_offered */
export async function readFetch(input: Readable, version: 0 | 1 | 2, reading: Reading): Promise<FetchRequest> {
  const reader = fetchReader(version === 2 ? 2 : 0)
  const outcome = await readFrames(input, reading, reader.take)
  return reader.request(outcome === 'ended')
}

/** What a push asks, up to its pack, which stays in `input`. @throws GitError as readFrames */
export async function readPush(input: Readable, reading: Reading): Promise<PushHead> {
  const reader = pushReader()
  const outcome = await readFrames(input, reading, reader.take)
  return reader.head(outcome === 'ended')
}

/**
 * The answer to a judged request. Resolves when `output` has ended.
 *
 * @throws GitError busy; native_failed: git ended with an error before it had answered anything; repo_missing
 */
export async function serveFetch(
  repo: Repo,
  conversation: Conversation,
  request: LsRefs | Fetch,
  output: Writable,
): Promise<void> {
  const child = startService(repo, { ...conversation, advertises: false })
  child.stdin.end(bodyOf(request))
  const bands = request.command === 'fetch' && (request.version === 2 || request.options.has('side-band-64k'))
  await converse(repo, child, conversation, output, { bands })
}

/** A sentence that git shows to whoever runs the client. */
export function sayError(output: Writable, sentence: string): void {
  output.end(pktLine(`ERR ${oneLine(sentence)}`))
}

/** A push, whose pack follows in `input`. Resolves when `output` has ended, and the judge too. @throws GitError as serveFetch */
export async function servePush(
  repo: Repo,
  conversation: Conversation,
  head: PushHead,
  input: Readable,
  output: Writable,
  judge: Judge,
): Promise<void> {
  const child = startService(repo, { ...conversation, shown: ['refs/'], advertises: false })
  const [, , , protocol, messages] = child.stdio as unknown as Duplex[] // receive-pack has these two
  feed(head.bytes, input, child)
  const answer = converse(repo, child, conversation, output, { bands: head.bands, isPush: true })
  if (!protocol || !messages) return answer
  await Promise.all([
    answer,
    procReceive(protocol, messages, judge).catch((error: unknown) => {
      killGroup(child)
      throw error
    }),
  ])
}

/** Git hears the end of its input early where the client breaks off, and reports that itself. */
function feed(head: Buffer, input: Readable, { stdin }: GitProcess): void {
  const stop = () => stdin.end()
  stdin.write(head)
  input.once('error', stop)
  input.once('close', () => input.readableEnded || stop())
  // Git has heard enough, the client may not have said all.
  stdin.once('close', () => input.unpipe(stdin))
  input.pipe(stdin)
}

interface Speech {
  /** What comes before git's first word. */
  readonly opening?: Buffer
  /** Whether the client understands a message in the middle of the answer. */
  readonly bands?: boolean
  /** Whether git holds a part of a pack. */
  readonly isPush?: boolean
}

/** Hands on what git says, until it has ended. */
async function converse(
  repo: Repo,
  child: GitProcess,
  { signal, stopping }: Conversation,
  output: Writable,
  { opening, bands = false, isPush = false }: Speech = {},
): Promise<void> {
  let stderr = ''
  let answered = false
  let ended = false
  let left = false
  const tail = frameTail()
  const overdue = setTimeout(leave, longestGit)
  function end() {
    child.stdout.unpipe(output).resume()
    if (isPush) endPush(repo, child)
    else killGroup(child)
  }
  /** Also a client that does not read what git, which has ended, has left for it. */
  function leave() {
    if (!left && !ended) end()
    left = true
    output.destroy()
  }
  function stop() {
    const missing = tail.missing()
    if (ended || left || !bands || missing === undefined) return leave()
    left = true
    end()
    output.end(Buffer.concat([Buffer.alloc(missing), pktLine(`\x03${stopSentence}\n`), flush]))
  }
  signal.addEventListener('abort', leave, { once: true })
  stopping.addEventListener('abort', stop, { once: true })
  if (signal.aborted) leave()
  else if (stopping.aborted) stop()
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-4_096)
  })
  child.stdout.on('data', (chunk: Buffer) => {
    if (opening && !answered) output.write(opening)
    answered = true
    if (bands) tail.add(chunk)
  })
  child.stdout.pipe(output, { end: false })
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', (cause) =>
        reject(repoExists(repo) ? startFault(cause) : new GitError('repo_missing', 'The repository does not exist')),
      )
      child.once('close', resolve)
    })
    ended = true
    if (left) return
    if (code !== 0 && !answered) throw new GitError('native_failed', `git ended with ${code}`, { stderr })
    output.end()
    await finished(output).catch(() => undefined)
  } finally {
    clearTimeout(overdue)
    signal.removeEventListener('abort', leave)
    stopping.removeEventListener('abort', stop)
  }
}

const stopSentence = 'The service is stopping; try again in a moment, and fetch before you push again'

/** The hook's side of gitprotocol's proc-receive (githooks(5)). Nothing happens where git refuses the push before. */
async function procReceive(channel: Duplex, messages: Duplex, judge: Judge): Promise<void> {
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

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 500)
}

/** Git syncs what it writes and never the folders that it writes into. @throws GitError storage_error */
export async function syncReceived({ dir }: Repo): Promise<void> {
  const objects = join(dir, 'objects')
  const names = (await readdir(objects)).filter((name) => /^([0-9a-f]{2}|pack)$/.test(name))
  await Promise.all(
    names.map((name) =>
      syncDirectory(join(objects, name)).catch((error: unknown) => {
        // Empty, and removed by a `git gc` just now.
        if (codeOf(error) !== 'ENOENT') throw error
      }),
    ),
  )
  await syncDirectory(objects)
}
