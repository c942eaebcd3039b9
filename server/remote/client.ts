/** Requests to a Grove elsewhere: with a token, bounded in time and size, and sent again where that may help. */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { codeOf } from '../../gitstore/errors.ts'
import { depthLimit, isTooDeep } from '../domain/format/limits.ts'

/** The service refuses, or the address or the token cannot be used: the caller can correct it. */
export class RemoteRefusal extends Error {
  /** Of the answer, as `token_scope`. */
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.name = 'RemoteRefusal'
    this.code = code
  }
}

/** The service cannot be reached, or does not answer as a Grove does. */
export class RemoteFault extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RemoteFault'
  }
}

interface RemoteProblem {
  readonly loc: readonly (string | number)[]
  readonly msg: string
}

/** An answer other than 401, 403 and those after which a request is sent again. */
export interface RemoteAnswer {
  readonly status: number
  readonly body: unknown
  /** Of a refusal: a sentence. */
  readonly detail: string
  readonly code: string | undefined
  /** Of a 422. */
  readonly problems: readonly RemoteProblem[]
}

export interface Remote {
  readonly url: string
  /** @param body JSON @throws RemoteRefusal: 401, 403; RemoteFault; the reason of the signal */
  send(method: string, path: string, body?: string): Promise<RemoteAnswer>
  /** The body of a success. @throws RemoteRefusal also for every other refusal; as send */
  read<T>(schema: z.ZodType<T>, method: string, path: string, body?: string): Promise<T>
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

/** Of an answer, around the JSON that a node holds. */
const levelsAround = 10

/** The request did not arrive, came too early, or the service or what stands before it is not able to answer just now. */
const passing: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504])

const refusalSchema = z.object({
  detail: z.union([
    z.string(),
    z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() })),
  ]),
  code: z.string().optional(),
})

/** @param url as addressOf answers it */
export function connectTo(url: string, token: string, signal: AbortSignal): Remote {
  let wasReached = false
  return { url, send, read }

  async function send(method: string, path: string, body?: string): Promise<RemoteAnswer> {
    const began = performance.now()
    for (let sending = 1; ; sending++) {
      signal.throwIfAborted()
      const { answer, retryAfterMs, reason } = await sendOnce(method, path, body)
      if (answer) return answer
      const waitMs = retryAfterMs ?? Math.min(firstWaitMs * 2 ** (sending - 1), longestWaitMs)
      const isLast = sending >= (wasReached ? sendings : sendingsAtFirst)
      if (isLast || performance.now() + waitMs - began > retryingMs) throw new RemoteFault(`${url} ${reason}`)
      await pause(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }

  async function read<T>(schema: z.ZodType<T>, method: string, path: string, body?: string): Promise<T> {
    const answer = await send(method, path, body)
    if (answer.status >= 400) throw new RemoteRefusal(`${url}: ${answer.detail}`, answer.code)
    const { data } = schema.safeParse(answer.body)
    if (data === undefined) throw new RemoteFault(`${url} does not answer as a Grove does: ${method} ${path}`)
    return data
  }

  /** Without an answer: why, as the end of a sentence. */
  async function sendOnce(
    method: string,
    path: string,
    body: string | undefined,
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
      const answer = answerOf(response.status, await bodyOf(response))
      wasReached = true
      const { status, detail, code } = answer
      if (status === 401 || status === 403) throw new RemoteRefusal(`${url} refuses the token: ${detail}`, code)
      if (!passing.has(status)) return { answer }
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      return { reason: `answers ${status}: ${detail}`, ...(seconds > 0 ? { retryAfterMs: seconds * 1_000 } : {}) }
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof RemoteRefusal || error instanceof RemoteFault) throw error
      return { reason: `cannot be reached: ${reasonOf(error)}` }
    }
  }

  /** Undefined where it is no JSON, or nested too deep. @throws RemoteFault: too large; network errors */
  async function bodyOf(response: Response): Promise<unknown> {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > maxAnswerBytes) throw new RemoteFault(`${url} answers more than ${maxAnswerBytes / 1_048_576} MiB`)
    }
    try {
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
      // No Grove answers so, and what reads it later would overflow the stack.
      return isTooDeep(body, depthLimit + levelsAround) ? undefined : body
    } catch {
      return undefined
    }
  }
}

function answerOf(status: number, body: unknown): RemoteAnswer {
  const { data } = refusalSchema.safeParse(body)
  const problems = typeof data?.detail === 'object' ? data.detail : []
  const words = typeof data?.detail === 'string' ? data.detail : problems.map(({ msg }) => msg).join('; ')
  return { status, body, detail: words || `status ${status}`, code: data?.code, problems }
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
