/** Requests to a Grove elsewhere: with a token, bounded in time and size, and sent again where that may help. */

import { setTimeout as pause } from 'node:timers/promises'
import pLimit from 'p-limit'
import { z } from 'zod'
import { allDone } from '../../../gitstore/durable.ts'
import { codeOf } from '../../../gitstore/errors.ts'
import { readRegular } from '../../../gitstore/regular-files.ts'
import { isLoopback } from '../../base/is-loopback.ts'
import { answerBounds, exceededBound } from '../../base/json-bounds.ts'
import { parseJson } from '../../domain/format/json-text.ts'

/** The service refuses, or the address or the token cannot be used: the caller can correct it. */
export class RemoteRefusalError extends Error {
  /** Of the answer, as `token_scope`. */
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.name = 'RemoteRefusalError'
    this.code = code
  }
}

/** The service cannot be reached, or does not answer as a Grove does. */
export class RemoteError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RemoteError'
  }
}

/** An answer has more bytes or values than the caller takes. */
export class AnswerTooLargeError extends RemoteError {}

interface RemoteProblem {
  readonly loc: readonly (string | number)[]
  readonly msg: string
}

/** An answer other than 401, 403 and those after which a request is sent again. */
export interface RemoteAnswer {
  readonly status: number
  readonly body: unknown
  /** Of the body. */
  readonly bytes: number
  /** Of a refusal: a sentence. */
  readonly detail: string
  readonly code: string | undefined
  /** Of a 422. */
  readonly problems: readonly RemoteProblem[]
}

export interface Remote {
  readonly url: string
  /**
   * @param body JSON
   * @param mostBytes of the answer
   * @throws RemoteRefusalError: 401, 403; AnswerTooLargeError; RemoteError; the reason of the signal
   */
  send(method: string, path: string, body?: string, mostBytes?: number): Promise<RemoteAnswer>
  /** The body of a success. @throws RemoteRefusalError also for every other refusal; as send */
  read<T>(schema: z.ZodType<T>, method: string, path: string, body?: string): Promise<T>
  /** A page of a list, with the bytes of its answer. @throws as read */
  readPage<T>(
    schema: z.ZodType<T>,
    path: string,
    mostBytes: number,
  ): Promise<{ readonly page: T; readonly bytes: number }>
}

/** How long one sending may take; and all sendings of a request, with the waits between them, until the last begins. */
const sendingMs = 120_000
const retryingMs = 120_000
const sendings = 9
/** Until the service has answered once: an address may be wrong. */
const sendingsAtFirst = 3
/** Doubled with each sending. */
const firstWaitMs = 500
const longestWaitMs = 30_000
/** Bytes of an answer: a node with a text of 10 MiB, each character escaped. */
const maxAnswerBytes = 64 * 1_048_576

/** Characters of a sentence of a refusal; what is beyond is left out. */
const maxSentence = 2_000

/** The request did not arrive, came too early, or the service or what stands before it is not able to answer just now. */
const passing: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504])

const sentence = z.string().transform((text) => text.slice(0, maxSentence))

const refusalSchema = z.object({
  detail: z.union([sentence, z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: sentence }))]),
  code: z.string().max(200).optional(),
})

/** @param url as addressOf answers it */
export function connectTo(url: string, token: string, signal: AbortSignal): Remote {
  let wasReached = false
  return { url, send, read, readPage }

  async function send(method: string, path: string, body?: string, mostBytes = maxAnswerBytes): Promise<RemoteAnswer> {
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
    if (data === undefined) throw new RemoteError(`${url} does not answer as a Grove does: ${asked}`)
    return data
  }

  /** Without an answer: why, as the end of a sentence. */
  async function sendOnce(
    method: string,
    path: string,
    body: string | undefined,
    mostBytes: number,
  ): Promise<{ answer?: RemoteAnswer; retryAfterMs?: number; reason?: string }> {
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        // The token goes to no other address.
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

/** Undefined where it is no JSON, or nested deeper than a Grove answers. @throws AnswerTooLargeError; network errors */
async function bodyOf(url: string, response: Response, mostBytes: number): Promise<{ body: unknown; bytes: number }> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new AnswerTooLargeError(`${url} answers more than ${mostBytes / 1_048_576} MiB`)
    chunks.push(chunk)
  }
  const json = Buffer.concat(chunks)
  const exceeded = exceededBound(json, answerBounds)
  if (exceeded === 'values')
    throw new AnswerTooLargeError(`${url} answers more than ${answerBounds.values} values at once`)
  // What reads deep JSON later would overflow the stack.
  return { body: exceeded === 'levels' ? undefined : parseJson(json.toString()), bytes }
}

function answerOf(status: number, { body, bytes }: { body: unknown; bytes: number }): RemoteAnswer {
  const { data } = refusalSchema.safeParse(body)
  const problems = typeof data?.detail === 'object' ? data.detail : []
  const words = typeof data?.detail === 'string' ? data.detail : problems.map(({ msg }) => msg).join('; ')
  return { status, body, bytes, detail: words.slice(0, maxSentence) || `status ${status}`, code: data?.code, problems }
}

/** Of an error of fetch, which has the network's as its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (/^(EPROTO|ERR_SSL_)/.test(String(codeOf(cause)))) return 'it does not speak TLS there; is the address http://?'
  return cause instanceof Error
    ? cause.message || ('code' in cause ? String(cause.code) : error.message)
    : error.message
}

/** Requests at a time. */
export const requestsAtOnce = 8

/** Several requests at a time, and none after one of them has failed. @throws the first error, when those that had begun have ended */
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

/** Bytes of the file with the token. */
const maxTokenFileBytes = 65_536

/** The address that --to gives, without a slash at its end. @throws RemoteRefusalError */
export function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new RemoteRefusalError(`--to ${text} is no address such as https://grove.example.org`)
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new RemoteRefusalError(
      '--to takes the address of the service alone; the token is in the file of --token-file',
    )
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new RemoteRefusalError(
      `--to ${text} would send the token readable for anyone on the way: https is needed, except to this machine`,
    )
  return url.href.replace(/\/+$/, '')
}

/** The token in the file of --token-file. @throws RemoteRefusalError */
export async function readToken(path: string): Promise<string> {
  const bytes = await readRegular(path, maxTokenFileBytes).catch((error: unknown) => {
    throw new RemoteRefusalError(
      `--token-file ${path} cannot be read: ${error instanceof Error ? error.message : error}`,
    )
  })
  if (bytes === undefined) throw new RemoteRefusalError(`--token-file ${path} is not there`)
  if (typeof bytes === 'string') throw new RemoteRefusalError(`--token-file ${path} ${bytes}`)
  const token = bytes.toString().trim()
  if (!/^[\x21-\x7e]{1,8192}$/.test(token)) throw new RemoteRefusalError(`--token-file ${path} holds no token`)
  return token
}
