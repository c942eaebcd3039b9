/**
 * Sends one request and reads its whole answer. Uses node:http: test files with many requests took a fifth more CPU
 * time with `fetch`.
 */

import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { setImmediate } from 'node:timers/promises'

export type Headers = Readonly<Record<string, string>>

export interface Message {
  /** Default: GET */
  readonly method?: string
  readonly headers?: Headers
  readonly body?: string | Buffer
  /** Ends the request. */
  readonly signal?: AbortSignal
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The bytes as received, neither decompressed nor decoded. */
  readonly body: Buffer
}

/** Sends a request. Follows no redirection. @throws Error of the connection, AbortError */
export function send(url: string, message: Message, agent: Agent): Promise<Reply> {
  const { method = 'GET', headers = {}, body, signal } = message
  // Node sends a DELETE with a body, but without its length.
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const options = { agent, method, headers: { ...length, ...headers }, ...(signal && { signal }) }
    const asked = request(new URL(url), options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

export interface Exchanged {
  readonly status: number
  /** Headers by lower-case name. The values of a repeated header are joined by `, `. */
  readonly headers: Headers
  readonly text: string
}

/** Longer than the service waits for any lock. */
const answerTimeoutMs = 120_000

/** Idle connections of this agent do not keep the process alive. */
const keptAlive = new Agent({ keepAlive: true })

/** No complete answer arrived: the connection was refused, reset or closed. `cause` is Node's error. */
export class Unanswered extends Error {}

/** Sends a request over a kept-alive connection. @throws Unanswered, Error after `answerTimeoutMs` */
export async function exchange(address: string, message: Message): Promise<Exchanged> {
  const { status, headers, body } = await answered(address, message)
  const joined = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')])
  return { status, headers: Object.fromEntries(joined), text: body.toString() }
}

/** `fetch` for the typed client. A request takes half of the CPU time that it takes with Node's `fetch`. */
export const exchangeFetch: typeof fetch = async (address, { method, headers, body, signal } = {}) => {
  const { status, ...reply } = await answered(String(address), {
    ...(method !== undefined && { method }),
    headers: Object.fromEntries(new Headers(headers)),
    ...(body && { body: typeof body === 'string' ? body : Buffer.from(await new Response(body).arrayBuffer()) }),
    ...(signal && { signal }),
  })
  const received = new Headers()
  for (const [name, value = []] of Object.entries(reply.headers))
    for (const one of [value].flat()) received.append(name, one)
  return new Response(reply.body.length > 0 ? new Uint8Array(reply.body) : null, { status, headers: received })
}

async function answered(address: string, { headers, signal: ended, ...message }: Message): Promise<Reply> {
  // After a long computation the event loop needs two turns to see which idle connections the service has closed.
  await setImmediate()
  await setImmediate()
  const timeout = AbortSignal.timeout(answerTimeoutMs)
  const signal = ended ? AbortSignal.any([timeout, ended]) : timeout
  const asked = { ...message, headers: { 'user-agent': 'node', ...headers }, signal }
  return send(address, asked, keptAlive).catch((cause: Error) => {
    const what = `${message.method ?? 'GET'} ${address}`
    if (timeout.aborted) throw new Error(`${what} had no complete answer within ${answerTimeoutMs} ms`, { cause })
    throw new Unanswered(`${what}: ${cause.message}`, { cause })
  })
}
