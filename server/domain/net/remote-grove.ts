/** Sends requests to a remote Grove, with a token, limits and retries. */

import { setTimeout as pause } from 'node:timers/promises'
import pLimit from 'p-limit'
import { z } from 'zod'
import { allDone } from '../../../gitstore/durable.ts'
import { codeOf } from '../../../gitstore/errors.ts'
import { readRegular } from '../../../gitstore/regular-files.ts'
import { isLoopback } from '../../base/is-loopback.ts'
import { answerBounds, exceededBound } from '../../base/json-bounds.ts'
import * as limits from '../../base/limits.ts'
import { parseJson } from '../format/json-text.ts'

/** The error if the service refuses, or the URL or token is unusable. The caller can correct it. */
export class RemoteRefusalError extends Error {
  /** The code of the answer, such as `token_scope`. */
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.name = 'RemoteRefusalError'
    this.code = code
  }
}

/** The error if the service cannot be reached, or does not respond like a Grove. */
export class RemoteError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RemoteError'
  }
}

/** The error for an answer with more bytes or values than the caller accepts. */
export class AnswerTooLargeError extends RemoteError {}

interface RemoteProblem {
  readonly loc: readonly (string | number)[]
  readonly msg: string
}

/** An answer, except 401, 403 and those that lead to a retry. */
export interface RemoteAnswer {
  readonly status: number
  readonly body: unknown
  /** The size of the body. */
  readonly bytes: number
  /** The sentence of a refusal. */
  readonly detail: string
  readonly code: string | undefined
  /** The problems of a 422. */
  readonly problems: readonly RemoteProblem[]
}

export interface Remote {
  readonly url: string
  /**
   * Sends a request, with retries.
   *
   * @param body JSON
   * @param mostBytes limit for the answer
   * @throws RemoteRefusalError for 401 and 403; AnswerTooLargeError, RemoteError, the reason of the signal
   */
  send(method: string, path: string, body?: string, mostBytes?: number): Promise<RemoteAnswer>
  /** Returns the body of a success. @throws RemoteRefusalError also for every other refusal; the errors of send */
  read<T>(schema: z.ZodType<T>, method: string, path: string, body?: string): Promise<T>
  /** Returns a page of a list, with the size of its answer. @throws the errors of read */
  readPage<T>(
    schema: z.ZodType<T>,
    path: string,
    mostBytes: number,
  ): Promise<{ readonly page: T; readonly bytes: number }>
}

/** Milliseconds for one attempt, and from the first attempt until the last one begins. */
const sendingMs = 120_000
const retryingMs = 120_000
const sendings = 9
/** Attempts until the service has answered once, because the URL may be wrong. */
const sendingsAtFirst = 3
/** The first wait; it is doubled with each attempt. */
const firstWaitMs = 500
const longestWaitMs = 30_000

/** Longest sentence of a refusal that is kept, in UTF-16 units. */
const maxSentence = 2_000

/** Statuses that lead to a retry. The request did not arrive, was too early, or the service is unavailable. */
const passing: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504])

const sentence = z.string().transform((text) => text.slice(0, maxSentence))

const refusalSchema = z.object({
  detail: z.union([sentence, z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: sentence }))]),
  code: z.string().max(200).optional(),
})

/** Connects to a remote Grove. @param url the result of addressOf */
export function connectTo(url: string, token: string, signal: AbortSignal): Remote {
  let wasReached = false
  return { url, send, read, readPage }

  async function send(
    method: string,
    path: string,
    body?: string,
    mostBytes = limits.importAnswerBytes,
  ): Promise<RemoteAnswer> {
    const began = performance.now()
    for (let sending = 1; ; sending++) {
      signal.throwIfAborted()
      const { answer, retryAfterMs, reason } = await sendOnce(method, path, body, mostBytes)
      if (answer) return answer
      const waitMs = retryAfterMs ?? Math.min(firstWaitMs * 2 ** (sending - 1), longestWaitMs)
      const isLast = sending >= (wasReached ? sendings : sendingsAtFirst)
      if (isLast || performance.now() + waitMs - began > retryingMs) throw new RemoteError(`${url} ${reason}`)
      await pause(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }

  async function read<T>(schema: z.ZodType<T>, method: string, path: string, body?: string): Promise<T> {
    return dataOf(schema, await send(method, path, body), `${method} ${path}`)
  }

  async function readPage<T>(schema: z.ZodType<T>, path: string, mostBytes: number) {
    const answer = await send('GET', path, undefined, mostBytes)
    return { page: dataOf(schema, answer, `GET ${path}`), bytes: answer.bytes }
  }

  function dataOf<T>(schema: z.ZodType<T>, { status, detail, code, body }: RemoteAnswer, asked: string): T {
    if (status >= 400) throw new RemoteRefusalError(`${url}: ${detail}`, code)
    const { data } = schema.safeParse(body)
    if (data === undefined) throw new RemoteError(`${url} does not respond like a Grove service: ${asked}`)
    return data
  }

  /** Makes one attempt. `reason` is the end of a sentence, if there is no answer. */
  async function sendOnce(
    method: string,
    path: string,
    body: string | undefined,
    mostBytes: number,
  ): Promise<{ answer?: RemoteAnswer; retryAfterMs?: number; reason?: string }> {
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        // Never send the token to another URL.
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(sendingMs)]),
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body }),
      })
      const answer = answerOf(response.status, await bodyOf(url, response, mostBytes))
      wasReached = true
      const { status, detail, code } = answer
      if (status === 401 || status === 403) throw new RemoteRefusalError(`${url} refuses the token: ${detail}`, code)
      if (!passing.has(status)) return { answer }
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      return { reason: `answers ${status}: ${detail}`, ...(seconds > 0 ? { retryAfterMs: seconds * 1_000 } : {}) }
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof RemoteRefusalError || error instanceof RemoteError) throw error
      return { reason: `cannot be reached: ${reasonOf(error)}` }
    }
  }
}

/** Reads JSON; undefined if it is invalid or too deep. @throws AnswerTooLargeError; network errors */
async function bodyOf(url: string, response: Response, mostBytes: number): Promise<{ body: unknown; bytes: number }> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > mostBytes)
      throw new AnswerTooLargeError(`The answer of ${url} is larger than ${mostBytes / 1_048_576} MiB`)
    chunks.push(chunk)
  }
  const json = Buffer.concat(chunks)
  const exceeded = exceededBound(json, answerBounds)
  if (exceeded === 'values')
    throw new AnswerTooLargeError(`The answer of ${url} has more than ${answerBounds.values} values`)
  // Deep JSON would overflow the stack of later readers.
  return { body: exceeded === 'levels' ? undefined : parseJson(json.toString()), bytes }
}

function answerOf(status: number, { body, bytes }: { body: unknown; bytes: number }): RemoteAnswer {
  const { data } = refusalSchema.safeParse(body)
  const problems = typeof data?.detail === 'object' ? data.detail : []
  const words = typeof data?.detail === 'string' ? data.detail : problems.map(({ msg }) => msg).join('; ')
  return { status, body, bytes, detail: words.slice(0, maxSentence) || `status ${status}`, code: data?.code, problems }
}

/** Returns the reason of a fetch error, whose cause is the network error. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (/^(EPROTO|ERR_SSL_)/.test(String(codeOf(cause)))) return 'it does not use TLS; should the URL begin with http://?'
  return cause instanceof Error
    ? cause.message || ('code' in cause ? String(cause.code) : error.message)
    : error.message
}

/** Largest number of requests at a time. */
export const requestsAtOnce = 8

/**
 * Runs several requests at a time, and starts none after one has failed.
 *
 * @throws the first error, when all started requests have ended
 */
export async function inTurn<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const turn = pLimit(requestsAtOnce)
  let isOver = false
  const one = async (item: T) => {
    if (isOver) return
    try {
      await work(item)
    } catch (error) {
      isOver = true
      throw error
    }
  }
  await allDone(items.map((item) => turn(one, item)))
}

/** Returns the URL of --to, without a trailing slash. @throws RemoteRefusalError */
export function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new RemoteRefusalError(`--to ${text} is not a URL such as https://grove.example.org`)
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new RemoteRefusalError('--to takes only the URL of the service; put the token in the file of --token-file')
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new RemoteRefusalError(
      `--to ${text} would send the token unencrypted: https is needed, except to this machine`,
    )
  return url.href.replace(/\/+$/, '')
}

/** Reads the token from the file of --token-file. @throws RemoteRefusalError */
export async function readToken(path: string): Promise<string> {
  const bytes = await readRegular(path, limits.tokenFileBytes).catch((error: unknown) => {
    throw new RemoteRefusalError(
      `--token-file ${path} cannot be read: ${error instanceof Error ? error.message : error}`,
    )
  })
  if (bytes === undefined) throw new RemoteRefusalError(`--token-file ${path} does not exist`)
  if (typeof bytes === 'string') throw new RemoteRefusalError(`--token-file ${path} ${bytes}`)
  const token = bytes.toString().trim()
  if (!/^[\x21-\x7e]{1,8192}$/.test(token))
    throw new RemoteRefusalError(`--token-file ${path} does not contain a token`)
  return token
}
