/** Sends the output of one upload-pack or receive-pack to the client, and ends git when the client or the service ends. */

import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { GitError } from '../errors.ts'
import { type GitProcess, killGroup, longestGitMs, startFault } from '../native.ts'
import type { Repo } from '../repo.ts'
import { repoExists } from '../repos.ts'
import { flush, frameTail, pktLine } from './pkt-line.ts'
import { endPush } from './quarantine.ts'
import type { GitService } from './service-process.ts'

export interface Exchange {
  readonly service: GitService
  /** The refs that the client sees: these, and all below them. */
  readonly shown: readonly string[]
  readonly version: 0 | 1 | 2
  /** Of the request, as it is sent; undefined where the client has not said it: git does not of more than 1 MiB. */
  readonly bodyBytes: number | undefined
  /** Ends git at once: the client has disconnected, or is too slow. */
  readonly signal: AbortSignal
  /** Ends git with a message to the client: the service stops. */
  readonly stopping: AbortSignal
}

interface RelayOptions {
  /** Sent before git's output. */
  readonly opening?: Buffer
  /** Whether the client understands a message in the middle of the answer. */
  readonly bands?: boolean
  /** Whether git holds a part of a pack. */
  readonly isPush?: boolean
}

/** Sends git's output to the client until git has ended. */
export async function relayOutput(
  repo: Repo,
  child: GitProcess,
  { signal, stopping }: Exchange,
  output: Writable,
  { opening, bands = false, isPush = false }: RelayOptions = {},
): Promise<void> {
  let stderr = ''
  let answered = false
  let ended = false
  let left = false
  const tail = frameTail()
  const overdue = setTimeout(leave, longestGitMs)
  function end() {
    child.stdout.unpipe(output).resume()
    if (isPush) endPush(repo, child)
    else killGroup(child)
  }
  /** Applies also to a client that does not read the output of a git that has ended. */
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
    output.end(lastWords(missing, stopSentence))
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
    const missing = bands && code !== 0 ? tail.missing() : undefined
    // A git client waits for ever where an answer ends well before its last frame: it asks no more, and hears no end.
    if (missing !== undefined) output.end(lastWords(missing, isPush ? brokenPush : brokenFetch))
    else if (code !== 0 && isPush) output.write('', () => output.destroy())
    else output.end()
    await finished(output).catch(() => undefined)
  } finally {
    clearTimeout(overdue)
    signal.removeEventListener('abort', leave)
    stopping.removeEventListener('abort', stop)
  }
}

/** The rest of the frame that is under way, then a sentence that ends the exchange, on the band for errors (gitprotocol-pack(5)). */
function lastWords(missing: number, sentence: string): Buffer {
  return Buffer.concat([Buffer.alloc(missing), pktLine(`\x03${sentence}\n`), flush])
}

const stopSentence = 'The service is stopping; try again in a moment, and fetch before you push again'
const brokenPush = 'The push broke off and may have been carried out; fetch before you push again'
const brokenFetch = 'The answer broke off; fetch again'
