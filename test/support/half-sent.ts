/** A login of which only half has been sent: a request that is in flight for as long as a test likes. */

import { once } from 'node:events'
import { type Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { password } from './grove.ts'

/** Resolves once the service reads the body: it has asked for it. */
export async function startedLogin(url: string, agent: Agent): Promise<ClientRequest> {
  const { hostname, port } = new URL(url)
  const headers = { 'content-type': 'application/json', expect: '100-continue' }
  const sent = httpRequest({ hostname, port, path: '/auth/login', method: 'POST', headers, agent })
  sent.flushHeaders()
  await once(sent, 'continue')
  sent.on('error', () => {})
  sent.write('{"email":"nobody@example.org","passwor')
  return sent
}

/** Sends the rest; the status of the answer. */
export async function finishLogin(sent: ClientRequest): Promise<number> {
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', (response) => resolve(response.resume())).once('error', reject)
  })
  sent.end(`d":"${password}"}`)
  return (await answered).statusCode ?? 0
}
