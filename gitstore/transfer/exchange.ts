/** Sends the output of one upload-pack or receive-pack to the client. Ends Git when the client or the service ends. */

import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { GitError } from '../errors.ts'
import { type GitProcess, killGroup, longestGitMs, toStartError } from '../native.ts'
import type { Repo } from '../repo.ts'
import { repoExists } from '../repo-folders.ts'
import { flush, frameTail, pktLine } from './pkt-line.ts'
import { endPush, killPush } from './quarantine.ts'
import type { GitService } from './service-process.ts'

export interface Exchange {
  readonly service: GitService
  /** The refs that the client sees: these, and all refs below them. */
  readonly shown: readonly string[]
  readonly version: 0 | 1 | 2
  /**
   * The size of the request as it is sent. Undefined if the client does not say it; Git does not for more than 1 MiB.
   */
  readonly bodyBytes: number | undefined
  /** Ends Git at once, because the client has disconnected or is too slow. */
  readonly signal: AbortSignal
  /** Ends Git with a message to the client, because the service stops. */
  readonly stopping: AbortSignal
}

interface RelayOptions {
  /** Sent before Git's output. */
  readonly opening?: Buffer
  /** True if the client understands a message in the middle of the answer. */
  readonly bands?: boolean
  /** True if Git holds a part of a pack. */
  readonly isPush?: boolean
  /** Ends a push at once. Its reason is a `CutOffError`. */
  readonly cut?: AbortSignal
}

/** The reason why a push is ended before its refs move. */
export class CutOffError extends Error {
  /** The rest of the answer, with the reason. */
  readonly report: Buffer

  constructor(message: string, report: Buffer) {
    super(message)
    this.name = 'CutOffError'
    this.report = report
  }
}

/**
 * Sends Git's output to the client until Git has ended.
 *
 * @throws GitError busy, repo_missing, not_offered (Git refused the request), native_failed (Git ended before it
 *   answered)
 */
export async function relayOutput(
  repo: Repo,
  child: GitProcess,
  { signal, stopping, version }: Exchange,
  output: Writable,
  { opening, bands = false, isPush = false, cut }: RelayOptions = {},
): Promise<void> {
  const stderr = lastOf(child.stderr)
  const answer = answerEnd(version, isPush)
  let answered = false
  let ended = false
  let left = false
  /** Also applies to a client that does not read an ended Git process's output. */
  const breakOff = (kill: () => void, lastBytes: () => Buffer | undefined) => {
    const isOver = ended || left
    const bytes = isOver ? undefined : lastBytes()
    left = true
    if (!isOver) {
      child.stdout.unpipe(output).resume()
      kill()
    }
    if (bytes === undefined) output.destroy()
    else output.end(bytes)
  }
  const end = () => (isPush ? endPush(repo, child) : killGroup(child))
  const leave = () => breakOff(end, () => undefined)
  const stop = () => breakOff(end, () => (bands ? answer.lastWords(stopSentence) : undefined))
  const cutOff = () =>
    breakOff(
      () => void killPush(repo, child),
      () => (cut?.reason instanceof CutOffError ? answer.rest(cut.reason.report) : undefined),
    )
  const overdue = setTimeout(leave, longestGitMs)
  const listeners = [[signal, leave], [stopping, stop], ...(cut ? ([[cut, cutOff]] as const) : [])] as const
  for (const [aborted, listener] of listeners) {
    aborted.addEventListener('abort', listener, { once: true })
    if (aborted.aborted) listener()
  }
  child.stdout.on('data', (chunk: Buffer) => {
    if (opening && !answered) output.write(opening)
    answered = true
    if (bands || cut) answer.add(chunk)
  })
  child.stdout.pipe(output, { end: false })
  try {
    const code = await endOf(repo, child)
    ended = true
    if (left) return
    if (code !== 0 && !answered) throw faultOf(code, stderr())
    const words = bands && code !== 0 ? answer.lastWords(isPush ? brokenPush : brokenFetch(stderr())) : undefined
    // A Git client waits forever for an answer that ends cleanly before its last frame.
    if (words !== undefined) output.end(words)
    else if (code !== 0 && isPush) output.write('', () => output.destroy())
    else output.end()
    await finished(output).catch(() => undefined)
  } finally {
    clearTimeout(overdue)
    for (const [aborted, listener] of listeners) aborted.removeEventListener('abort', listener)
  }
}

/** Returns the exit code. @throws GitError busy, native_failed (it was not started), repo_missing */
function endOf(repo: Repo, child: GitProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(repoExists(repo) ? toStartError(cause) : new GitError('repo_missing', 'The repository does not exist')),
    )
    child.once('close', resolve)
  })
}

/** Returns the last 4,096 characters of a stream so far. */
function lastOf(stream: Readable): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-4_096)
  })
  return () => text
}

/** Errors that a client's request causes in upload-pack, and the messages to show for them. */
const refusals: readonly (readonly [RegExp, string])[] = [
  [
    /^fatal: no commits selected for shallow requests$/m,
    'no commits selected for shallow requests: the date or the ref to exclude leaves none; choose another one',
  ],
  [/^fatal: invalid shallow object /m, 'an object that you name as shallow is not a commit; clone again'],
]

function refusalIn(stderr: string): string | undefined {
  return refusals.find(([pattern]) => pattern.test(stderr))?.[1]
}

function faultOf(code: number | null, stderr: string): GitError {
  const refusal = refusalIn(stderr)
  if (refusal !== undefined) return new GitError('not_offered', refusal)
  return new GitError('native_failed', `git ended with ${code}`, { stderr })
}

/**
 * Follows an answer, so that it can end with a message that the client understands. Before the side bands begin, that
 * is an `ERR` frame. Afterwards, it is a frame on the band for errors (gitprotocol-pack(5), gitprotocol-v2(5)).
 */
function answerEnd(version: Exchange['version'], isPush: boolean) {
  let inBands = isPush
  let isRefused = false
  const tail = frameTail((start) => {
    isRefused ||= start.startsWith('ERR ')
    inBands ||= version === 2 ? start === 'packfile\n' : /^([\x01-\x03]|NAK|ACK )/.test(start)
  })
  /** Completes the current frame, then adds `bytes`. Undefined within a frame's length. */
  const rest = (bytes: Buffer) => {
    const missing = tail.missing()
    return missing === undefined ? undefined : Buffer.concat([Buffer.alloc(missing), bytes])
  }
  return {
    add: tail.add,
    rest,
    lastWords: (sentence: string) =>
      rest(
        inBands
          ? Buffer.concat([pktLine(`\x03${sentence}\n`), flush])
          : isRefused
            ? nothing
            : pktLine(`ERR ${sentence}`),
      ),
  }
}

const nothing = Buffer.alloc(0)
const stopSentence = 'The service is stopping; try again in a moment, and fetch before you push again'
const brokenPush = 'The push broke off and may have been carried out; fetch before you push again'
const brokenFetch = (stderr: string) => refusalIn(stderr) ?? 'The answer broke off; fetch again'
