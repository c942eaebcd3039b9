/** One request and its answer, whole. By node:http: files of tests that ask much took a fifth more computing with `fetch`. */

import { Agent, type IncomingMessage, request } from 'node:http'
import { setImmediate } from 'node:timers/promises'

export interface Exchanged {
  readonly status: number
  /** By their names in lower case; a header that came more than once is joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

interface Asked {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Longer than the service waits for any lock. */
const answerTimeoutMs = 120_000

/** Connections are used again, and keep no process from ending. */
const agent = new Agent({ keepAlive: true })

/** There was no whole answer: nobody listens, or the connection ended. `cause` says how. */
export class Unanswered extends Error {}

/** Follows no redirection. @throws Unanswered, Error where no answer came in time */
export async function exchange(address: string, asked: Asked): Promise<Exchanged> {
  // Whoever computed for seconds learns first which connections the service has closed as idle meanwhile.
  await setImmediate()
  await setImmediate()
  return answerOf(address, asked)
}

function answerOf(address: string, { method, headers, body }: Asked): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    // Node says the length of no body of a DELETE by itself.
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const sent = request(new URL(address), { method, headers: { 'user-agent': 'node', ...length, ...headers }, agent })
    const clock = setTimeout(() => {
      reject(new Error(`${method} ${address} had no whole answer within ${answerTimeoutMs} ms`))
      sent.destroy()
    }, answerTimeoutMs)
    const unanswered = (cause: Error) => reject(new Unanswered(`${method} ${address}: ${cause.message}`, { cause }))
    sent.once('close', () => clearTimeout(clock))
    sent.on('error', unanswered)
    sent.once('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('error', unanswered)
      response.on('data', (part: string) => {
        text += part
      })
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: joined(response), text }))
    })
    sent.end(body)
  })
}

function joined({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]))
}
