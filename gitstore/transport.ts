/**
 * Smart HTTP's two services, as native git speaks them (gitprotocol-http(5)): upload-pack for clone and fetch, receive-pack for
 * push. Bytes flow through; of a push, git checks the pack in quarantine and then asks `judge`, which alone moves refs.
 */

import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { type Duplex, PassThrough, type Readable, type Transform, type Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { boundedBytes, boundedCommands } from './bounded-input.ts'
import { syncDirectory } from './durable.ts'
import { codeOf, GitError } from './errors.ts'
import { killGroup, longestGit, spawnGit } from './native.ts'
import { flush, pktLine, readPkts } from './pkt-line.ts'
import { isOid, type Oid, type Repo } from './repo.ts'

type Service = 'git-upload-pack' | 'git-receive-pack'

export interface Conversation {
  readonly service: Service
  /** The refs that the client hears of: these, and all below them. */
  readonly shown: readonly string[]
  /** The header Git-Protocol as it was sent; what is not `version=0`, `1` or `2` counts as none. */
  readonly protocol: string | undefined
  /** Ends git at once. */
  readonly signal: AbortSignal
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

/** Bytes of a pack as it is sent. */
const largestPack = 2 * 1024 ** 3
/** Bytes of one object, inflated: a file; a tree, a commit or a tag. */
const largestBlob = 100 * 1024 ** 2
const largestOther = 8 * 1024 ** 2

/** Bytes of a fetch request, and of the list of refs in front of a pack, as git wrote them. */
const largestRequest = 32 * 1024 ** 2
const largestCommands = 4 * 1024 ** 2

/** Milliseconds without a byte in either direction after which the client counts as gone; git itself says something every 5 s. */
const silence = 60_000
/** Beside the service, as ordinary background work. */
const niceness = 10

/** Bundled into dist/, or run from here. */
const hooks = ['./hooks', '../gitstore/hooks']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(join(path, 'proc-receive')))

/** What upload-pack says first in protocol v2: what it can do, and nothing of any repository. */
let capabilities: Promise<Buffer> | undefined

/** The refs and capabilities with which a conversation begins. @throws GitError native_failed */
export async function advertise(repo: Repo, conversation: Conversation, output: Writable): Promise<void> {
  if (conversation.protocol === 'version=2' && conversation.service === 'git-upload-pack') {
    capabilities ??= readCapabilities(repo, conversation).catch((error: unknown) => {
      capabilities = undefined
      throw error
    })
    output.end(await capabilities)
    return
  }
  output.write(pktLine(`# service=${conversation.service}\n`))
  output.write(flush)
  const child = start(repo, conversation, ['--http-backend-info-refs'])
  child.stdin.end()
  await converse(child, conversation.signal, output)
}

async function readCapabilities(repo: Repo, conversation: Conversation): Promise<Buffer> {
  const child = start(repo, conversation, ['--http-backend-info-refs'])
  child.stdin.end()
  const said = new PassThrough()
  const [bytes] = await Promise.all([buffer(said), converse(child, neverAborted, said)])
  return bytes
}

/** Others may be waiting for the same answer. */
const neverAborted = new AbortController().signal

/**
 * One request of the conversation and its answer; `input` is the body, inflated. Resolves when `output` has ended. A client
 * that is silent for a minute, or takes over an hour, is left.
 *
 * @throws GitError native_failed: git ended with an error before it had answered anything
 */
export async function serve(
  repo: Repo,
  conversation: Conversation,
  input: Readable,
  output: Writable,
  judge?: Judge,
): Promise<void> {
  const child = start(repo, conversation, [])
  const broken = feed(
    input,
    conversation.service === 'git-upload-pack' ? boundedBytes(largestRequest) : boundedCommands(largestCommands),
    child,
  )
  const [, , , protocol, messages] = child.stdio as unknown as Duplex[] // `start` opens these two
  const answer = converse(child, conversation.signal, output, input).catch((error: unknown) => {
    throw broken() ?? error
  })
  if (!judge || !protocol || !messages) return answer
  await Promise.all([
    answer,
    procReceive(protocol, messages, judge).catch((error: unknown) => {
      killGroup(child)
      throw error
    }),
  ])
}

/**
 * Git hears the end of its input early where the client breaks off or says too much, and complains of that itself. The answer
 * tells, once git has ended, what was wrong with the input.
 */
function feed(input: Readable, bounded: Transform, { stdin }: Child): () => unknown {
  let broken: unknown
  const stop = (error?: unknown) => {
    broken ??= error
    stdin.end()
  }
  const drain = () => input.unpipe(bounded).resume()
  input.once('error', stop)
  input.once('close', () => input.readableEnded || stop())
  bounded.once('error', (error) => {
    stop(error)
    drain()
  })
  // Git has heard enough, the client may not have said all: it reads the answer only after that.
  stdin.once('close', drain)
  input.pipe(bounded).pipe(stdin)
  return () => broken
}

type Child = ReturnType<typeof spawnGit>

function start(repo: Repo, { service, shown, protocol }: Conversation, flags: readonly string[]): Child {
  const settings = [
    'safe.directory=*',
    'transfer.hideRefs=refs/',
    ...shown.map((ref) => `transfer.hideRefs=!${ref}`),
    ...(service === 'git-upload-pack' ? uploadSettings : receiveSettings()),
  ]
  const child = spawnGit(
    repo,
    [...settings.flatMap((setting) => ['-c', setting]), service.slice('git-'.length), '--stateless-rpc', ...flags, '.'],
    {
      GIT_DIR: '.',
      ...(/^version=[012]$/.test(protocol ?? '') ? { GIT_PROTOCOL: protocol ?? '' } : {}),
      GROVE_LARGEST_BLOB: String(largestBlob),
      GROVE_LARGEST_OTHER: String(largestOther),
    },
    // Relative, so that nothing git says to a client holds the path of the data folder.
    { cwd: repo.dir, pipes: service === 'git-receive-pack' ? 2 : 0 },
  )
  try {
    if (child.pid !== undefined) setPriority(child.pid, niceness)
  } catch {
    // it has ended by itself
  }
  return child
}

const uploadSettings = [
  'uploadpack.allowFilter=true',
  'uploadpackfilter.allow=false',
  'uploadpackfilter.blob:none.allow=true',
  'uploadpackfilter.blob:limit.allow=true',
  'uploadpackfilter.tree.allow=true',
  'uploadpackfilter.tree.maxDepth=1',
  // One thread and a bounded window for a clone: several run beside one another.
  'pack.threads=1',
  'pack.windowMemory=64m',
  'pack.deltaCacheSize=32m',
  'core.deltaBaseCacheLimit=32m',
]

function receiveSettings(): string[] {
  if (hooks === undefined) throw new GitError('native_failed', 'gitstore/hooks is missing')
  return [
    `core.hooksPath=${hooks}`,
    'receive.procReceiveRefs=refs',
    'receive.fsckObjects=true',
    `receive.maxInputSize=${largestPack}`,
    'receive.unpackLimit=100',
    'receive.advertisePushOptions=false',
    'receive.advertiseAtomic=true',
    'receive.updateServerInfo=false',
    'receive.shallowUpdate=false',
    // A file above this streams to the disk instead of through git's memory.
    'core.bigFileThreshold=4m',
    'pack.threads=1',
    'core.deltaBaseCacheLimit=32m',
  ]
}

/** Hands on what git says, until it has ended. */
async function converse(child: Child, signal: AbortSignal, output: Writable, input?: Readable): Promise<void> {
  let stderr = ''
  let answered = false
  let ended = false
  let left = false
  let silent = setTimeout(leave, silence)
  const overdue = setTimeout(leave, longestGit)
  /** Also a client that does not read what git, which has ended, has left for it. */
  function leave() {
    left = true
    if (!ended) killGroup(child)
    output.destroy()
  }
  function heard() {
    clearTimeout(silent)
    silent = setTimeout(leave, silence)
  }
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()
  input?.on('data', heard)
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-4_096)
  })
  child.stdout.on('data', () => {
    answered = true
    heard()
  })
  child.stdout.pipe(output, { end: false })
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', (cause) => reject(new GitError('native_failed', 'git could not be started', {}, { cause })))
      child.once('close', resolve)
    })
    ended = true
    if (left) return
    if (code !== 0 && !answered) throw new GitError('native_failed', `git ended with ${code}`, { stderr })
    output.end()
    await finished(output).catch(() => undefined)
  } finally {
    clearTimeout(silent)
    clearTimeout(overdue)
    signal.removeEventListener('abort', leave)
  }
}

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

/** Git syncs what it writes and never the folders that it writes into (reliability.md §1). @throws GitError storage_error */
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
