/** The examples of errors in the API description show what the service sends: status, code, message and fields. */

import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import { pino } from 'pino'
import { counters } from '../../server/base/counters.ts'
import { AppError, statusOf } from '../../server/base/errors.ts'
import type { Services } from '../../server/domain/services.ts'
import { createHttpServer } from '../../server/http/connection/connections.ts'
import { readBytes } from '../../server/http/contract/json.ts'
import { createApp } from '../../server/process/app.ts'
import document from '../../spec/openapi.json' with { type: 'json' }
import { newNode, type TestNode } from '../support/node.ts'
import { type Answer, client } from '../support/people.ts'
import { sendRaw } from '../support/raw.ts'
import { useWorld } from '../support/world.ts'

type Sent = Pick<Answer, 'status' | 'body'>

/** An example of a body, and where the description has it. */
interface Example {
  readonly at: string
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: an example has the shape of ErrorBody or ValidationErrorBody
  readonly body: any
}

describe('examples of errors in the API description', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'reader' })
  let node: TestNode
  const servers: Server[] = []

  before(async () => {
    node = await newNode(grove, ann)
    await node.proposal('feature/dolphins')
    await node.open('feature/dolphins')
  })
  after(() => {
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
  })

  /** The same data, served with other dependencies or limits. */
  const served = async (deps: Partial<Services>, quota?: number) => {
    const app = createApp(
      { ...grove.deps, log: pino({ level: 'silent' }), ...deps },
      {
        validateResponses: false,
        newCounter: quota === undefined ? undefined : (id, limit) => counters(false)(id, { ...limit, quota }),
      },
    )
    const server = createHttpServer(app, pino({ level: 'silent' })).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } // it listens on a port
  }

  const failing = async (error: Error) => {
    const index = new Proxy(grove.deps.index, {
      get: () => {
        throw error
      },
    })
    return client(await served({ index })).get(`/public/orgs/${ann.org}/graph`)
  }

  const raw = async (lines: readonly string[]): Promise<Sent> => {
    const [answer] = await sendRaw(grove, `${lines.join('\r\n')}\r\n\r\n`, { ends: true })
    const { request_id: _, link: __, ...body } = JSON.parse(answer?.text ?? '{}')
    return { status: answer?.status ?? 0, body }
  }

  const tooSlow = async (): Promise<Sent> => {
    const req = Object.assign(new PassThrough(), { headers: {} }) as unknown as IncomingMessage // that has not arrived
    const error = await readBytes(req, { bytes: 1, ms: 1, hold: () => {} }).catch((caught: unknown) => caught)
    if (!(error instanceof AppError)) throw error
    return { status: statusOf[error.code], body: { detail: error.message, code: error.code } }
  }

  const commit = (expected_head: string) =>
    ann.post(`${node.at}/tree/main/commits`, {
      message: 'x',
      expected_head,
      changes: [{ action: 'put', path: 'x', content: 'x' }],
    })

  /** How to get each of them, by its code; `422` of a request with the wrong shape. */
  const provoked: Readonly<Record<string, () => Promise<Sent>>> = {
    bad_request: () => raw(['GET /orgs HTTP/1.1']),
    unauthenticated: () => client(grove).get('/auth/me'),
    forbidden: () => bob.post(`/orgs/${ann.org}/nodes`, { title: 'x' }),
    node_not_found: () => ann.get(`/orgs/${ann.org}/nodes/nothing`),
    head_moved: () => commit('0'.repeat(40)),
    pull_request_exists: () => ann.post(`${node.at}/pull-requests`, { source_branch: 'feature/dolphins', title: 'x' }),
    method_not_allowed: () => ann.put('/orgs', {}),
    request_timeout: tooSlow,
    headers_too_large: () => raw(['GET /orgs HTTP/1.1', 'Host: x', `X: ${'x'.repeat(16_384)}`]),
    too_large: () => ann.post('/orgs', JSON.stringify({ name: 'x'.repeat(16 * 2 ** 20) })),
    unsupported_media_type: () => ann.post('/orgs', 'x', { 'content-type': 'text/plain' }),
    '422': () => ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'x', top_k: 51 }),
    rate_limited: async () => client(await served({}, 0)).get('/auth/me'),
    storage_full: () => failing(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' })),
    expectation_failed: () => raw(['GET /orgs HTTP/1.1', 'Host: x', 'Expect: x']),
    internal_error: () => failing(new Error('This is thrown by a test')),
    node_exists: () => ann.post(`/orgs/${ann.org}/nodes`, { id: node.id, title: 'x' }),
    cursor_gone: () => ann.get(`/orgs/${ann.org}/events?after=0-${'0'.repeat(16)}`),
    range_not_satisfiable: () => ann.get(`${node.at}/tree/main/raw/node.json`, { range: 'bytes=100000-' }),
  }

  const keyOf = ({ body, status }: Example) => (status === 422 ? '422' : body.code)

  it('are provoked here, each of them', () => {
    expect(Object.keys(provoked).sort()).to.deep.equal([...new Set(examples.map(keyOf))].sort())
  })

  it('link to the page of their codes', () => {
    for (const { at, status, body } of examples.filter(({ status }) => status !== 422))
      expect(body.link, `${at} ${status}`).to.equal(`/docs/errors#${body.code}`)
  })

  it.deep('say what the service says, apart from ids and numbers', async () => {
    const stale: { readonly at: string; readonly example: Sent; readonly sent: Sent }[] = []
    for (const example of examples) {
      const sent = normalized(await provoked[keyOf(example)]?.())
      const { request_id: _, link: __, ...body } = example.body
      const shown = normalized({ status: example.status, body })
      if (JSON.stringify(sent) !== JSON.stringify(shown)) stale.push({ at: example.at, example: shown, sent })
    }
    expect(stale).to.deep.equal([])
  })
})

/** Keys in one order; ids and numbers in sentences and facts as `0`. */
function normalized(answer: Sent | undefined): Sent {
  const { status = 0, body } = answer ?? {}
  const text = JSON.stringify(body, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
  const ids = /\b\d+-[\da-f]{16}\b|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\b[\da-f]{40}\b|\b\d+(?:\.\d+)?\b/g
  return { status, body: JSON.parse(text.replaceAll(ids, '0')) }
}

interface Response {
  readonly $ref?: string
  readonly content?: Readonly<Record<string, Content>>
}

interface Content {
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

function examplesOf({ content }: Response, status: number, at: string): Example[] {
  const { example, examples = {} } = content?.['application/json'] ?? {}
  const bodies = [...(example === undefined ? [] : [example]), ...Object.values(examples).map(({ value }) => value)]
  return bodies.map((body) => ({ at, status, body }))
}

/** Those of the components, with the status under which operations have them, and those of operations. */
const examples: readonly Example[] = (() => {
  const statuses = new Map<string, number>()
  const own: Example[] = []
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item)) {
      if (method === 'parameters' || !('responses' in operation)) continue
      for (const [status, response] of Object.entries(operation.responses as Record<string, Response>)) {
        if (!/^[45]/.test(status)) continue
        const name = response.$ref?.split('/').at(-1)
        if (name !== undefined) statuses.set(name, Number(status))
        own.push(...examplesOf(response, Number(status), `${method} ${path} ${status}`))
      }
    }
  const shared = Object.entries(document.components.responses as Record<string, Response>)
  return [...shared.flatMap(([name, response]) => examplesOf(response, statuses.get(name) ?? 0, name)), ...own]
})()
