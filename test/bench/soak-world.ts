/** The clients of a soak: their identity, their choices, and how they check answers. */

import { Agent } from 'node:http'
import type { components } from '../../spec/types.ts'
import { send } from '../support/exchange.ts'
import { client, password, signUp } from '../support/people.ts'
import { randomFrom } from '../support/random.ts'
import type { SpawnedGrove } from '../support/spawned-grove.ts'
import { type Actor, type Ask, type Asked, type Operation, reads, writes } from './soak-operations.ts'

export interface Outcome {
  readonly operation: string
  readonly ms: number
  /** The fault of the answer, if there is one. */
  readonly wrong?: string
  /** 503 `busy`: a lock was held for over a second. It is a valid answer, but must stay rare. */
  readonly busy: boolean
}

export interface World {
  /** Runs one operation of client `at`, from the first byte to the last. */
  step(at: number): Promise<Outcome>
  /** Ends every socket. */
  disconnect(): void
  /** Gets a new token. A token is valid for 15 minutes. */
  logIn(): Promise<void>
}

type Session = components['schemas']['Session']

export async function createWorld(grove: SpawnedGrove, clients: number): Promise<World> {
  const ann = await signUp(grove, 'Ann')
  let token = ann.session.accessToken
  await ann.patch(`/orgs/${ann.org}`, { published: true })
  const common = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Common', text_content: 'Whales\n' })).body.id
  let agent = newAgent(clients)
  const ask: Ask = async (method, path, body, headers = {}) => {
    const reply = await send(
      grove.url + path,
      {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      },
      agent,
    )
    const isJson = reply.headers['content-type']?.startsWith('application/json') && !reply.headers['content-encoding']
    return {
      status: reply.status,
      body: isJson && reply.body.length > 0 ? JSON.parse(reply.body.toString()) : undefined,
      etag: reply.headers.etag ?? '',
    }
  }
  const actors = Array.from({ length: clients }, (_, at): Actor => {
    return { at, nodes: [], random: randomFrom(at + 1), made: 0, etag: '' }
  })
  const org = `/orgs/${ann.org}`
  const operations = [...writes(ask, org, common), ...reads(ask, ann.org, common, actors)]
  return {
    step: async (at) => {
      const actor = actors[at]
      if (!actor) throw new Error(`There is no client ${at}`)
      for (;;) {
        const { name, act } = choose(operations, actor.random)
        const started = performance.now()
        try {
          const asked = await act(actor)
          if (!asked) continue
          return { operation: name, ms: performance.now() - started, ...judge(asked) }
        } catch (error) {
          return { operation: name, ms: performance.now() - started, wrong: `no answer: ${error}`, busy: false }
        }
      }
    },
    disconnect: () => {
      agent.destroy()
      agent = newAgent(clients)
    },
    logIn: async () => {
      const { status, body } = await client(grove).post('/auth/login', { email: ann.user.email, password })
      if (status !== 200) throw new Error(`Login answered ${status} ${JSON.stringify(body)}`)
      const session: Session = body
      token = session.accessToken
    },
  }
}

function newAgent(clients: number): Agent {
  return new Agent({ keepAlive: true, maxSockets: clients })
}

function judge({ reply, expected }: Asked): { wrong?: string; busy: boolean } {
  const { status, body } = reply
  if (expected.includes(status)) return { busy: false }
  if (status === 503 && body?.code === 'busy') return { busy: true }
  return { busy: false, wrong: `${status} ${JSON.stringify(body)?.slice(0, 300)} instead of ${expected.join(' or ')}` }
}

function choose(operations: readonly Operation[], random: () => number): Operation {
  const total = operations.reduce((sum, { weight }) => sum + weight, 0)
  let left = random() * total
  for (const operation of operations) {
    left -= operation.weight
    if (left < 0) return operation
  }
  throw new Error('There is nothing to do')
}
