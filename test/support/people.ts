/** Users of a service over HTTP. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { components } from '../../spec/types.ts'
import { type Exchanged, exchange, type Headers } from './exchange.ts'

/** An answer. `headers` is not enumerable, so that `deep.equal({ status, body })` compares only these two. */
export interface Answer {
  readonly status: number
  /** JSON without its `request_id` and `link`, or the text if it is not JSON. Undefined if empty. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
  readonly body: any // any shape: the spec has one for each operation
  readonly headers: Headers
}

export interface Client {
  get(path: string, headers?: Headers): Promise<Answer>
  post(path: string, body?: unknown, headers?: Headers): Promise<Answer>
  patch(path: string, body?: unknown, headers?: Headers): Promise<Answer>
  put(path: string, body?: unknown, headers?: Headers): Promise<Answer>
  delete(path: string, headers?: Headers, body?: unknown): Promise<Answer>
}

/** A client that repeats requests which are answered with 503 `busy`. Such an answer changes nothing. */
export interface PatientClient extends Client {
  /** The same client for tests of `busy`. It repeats nothing. */
  readonly hasty: Client
}

/** Milliseconds after which `busy` is returned. It is less than mocha gives a test. */
const patience = 300_000

/** Repeats a request while others hold a lock, or the index is being rebuilt. */
async function untilFree(request: () => Promise<Answer>): Promise<Answer> {
  const deadline = performance.now() + patience
  for (let pause = 20; ; pause = Math.min(1.5 * pause, 100)) {
    const answer = await request()
    if (answer.status !== 503 || answer.body.code !== 'busy' || performance.now() > deadline) return answer
    await sleep(pause)
  }
}

/**
 * Creates a client. Strings and bytes are sent unchanged, and other bodies as JSON. The type is application/json unless `headers`
 * names another. A client that changes its password continues in the session that this opens, because its own has
 * ended.
 */
export function client({ url }: { readonly url: string }, first?: string): PatientClient {
  let token = first
  const send: Send = async (method, path, body, headers = {}) => {
    const answered = await exchange(url + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
    })
    const answer = { status: answered.status, body: read(answered) }
    if (path === '/auth/password' && answer.status === 200 && token !== undefined) token = sessionIn(answer).accessToken
    const received = { value: answered.headers, enumerable: false }
    return Object.defineProperty(answer, 'headers', received) as Answer // defineProperty does not change the type
  }
  return { ...clientOf((...request) => untilFree(() => send(...request))), hasty: clientOf(send) }
}

type Send = (method: string, path: string, body?: unknown, headers?: Headers) => Promise<Answer>

function clientOf(send: Send): Client {
  return {
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body, headers) => send('POST', path, body, headers),
    patch: (path, body, headers) => send('PATCH', path, body, headers),
    put: (path, body, headers) => send('PUT', path, body, headers),
    delete: (path, headers, body) => send('DELETE', path, body, headers),
  }
}

function sessionIn({ body }: { readonly body: unknown }): Session {
  return body as Session // the spec defines this answer so
}

function read({ headers, text }: Exchanged): unknown {
  if (text === '') return undefined
  if (!headers['content-type']?.startsWith('application/json')) return text
  const body: unknown = JSON.parse(text)
  if (typeof body === 'object' && body !== null && 'request_id' in body) {
    const { request_id: _, link: __, ...rest } = body as Record<string, unknown> // an error
    return rest
  }
  return body
}

type Session = components['schemas']['Session']

export interface PersonClient extends PatientClient {
  readonly user: Session['user']
  /** The id of the personal organisation. */
  readonly org: string
  readonly session: Session
}

export const password = 'correct horse battery'

/** Makes the account `<name>@example.org` with `password`, and returns a client for it. */
export async function signUp(grove: { readonly url: string }, name: string): Promise<PersonClient> {
  const email = `${name.toLowerCase().replaceAll(' ', '.')}@example.org`
  const { status, body } = await client(grove).post('/auth/signup', { email, password, name })
  if (status !== 201) throw new Error(`Sign-up of ${email} answered ${status} ${JSON.stringify(body)}`)
  const session: Session = body
  const org = session.user.org_id
  if (org === undefined) throw new Error('Sign-up made no organisation')
  return { ...client(grove, session.accessToken), user: session.user, org, session }
}
