/** Sends only half of a request. It is then in flight for as long as a test needs. */

import { once } from 'node:events'
import { type Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { password } from './people.ts'

/** The request and its URL. */
interface Asked {
  readonly url: string
  readonly method: string
  readonly path: string
  /** The first half of the body. */
  readonly half: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
  readonly agent?: Agent
}

/** The answer to each request, or the error that ended it. Either may come before the rest is sent. */
const answers = new WeakMap<ClientRequest, Promise<IncomingMessage>>()

/** Sends the first half. Resolves when the service asks for the body (100 Continue), or answers. */
export async function started({ url, method, path, half, headers = {}, agent }: Asked): Promise<ClientRequest> {
  const { hostname, port } = new URL(url)
  const all = { 'content-type': 'application/json', expect: '100-continue', ...headers }
  const sent = httpRequest({ hostname, port, path, method, headers: all, ...(agent && { agent }) })
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve).on('error', reject)
  })
  answer.catch(() => {})
  answers.set(sent, answer)
  sent.flushHeaders()
  await Promise.race([once(sent, 'continue'), answer])
  sent.write(half)
  return sent
}

/** Sends the rest and returns the answer. */
export async function finished(
  sent: ClientRequest,
  rest: string | Buffer,
): Promise<{ readonly status: number; readonly text: string }> {
  sent.end(rest)
  const response = await answers.get(sent)
  if (response === undefined) throw new Error('The request was not begun by `started`')
  let text = ''
  for await (const chunk of response.setEncoding('latin1')) text += chunk
  return { status: response.statusCode ?? 0, text }
}

export function startedLogin(url: string, agent: Agent): Promise<ClientRequest> {
  return started({ url, method: 'POST', path: '/auth/login', half: '{"email":"nobody@example.org","passwor', agent })
}

/** Sends the rest of a login and returns the status of the answer. */
export async function finishLogin(sent: ClientRequest): Promise<number> {
  return (await finished(sent, `d":"${password}"}`)).status
}
