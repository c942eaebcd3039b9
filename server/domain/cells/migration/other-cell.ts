/** Calls another cell of this service, for `grove move-org`. */
import { type IncomingMessage, request } from 'node:http'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import type { CellDeps } from '../cell.ts'
import { signForCell } from '../tokens.ts'
import { type Destination, NotMovedError } from './copying.ts'
import { movedLog } from './log-format.ts'

/** Milliseconds without a byte, during which git may compute and check there. */
const silentMs = 3_600_000
/** Milliseconds for connecting. */
const connectMs = 10_000

const digests = z.object({ repositories: z.record(z.string(), z.string()) })
const refsOf = z.object({ refs: z.record(z.string(), z.string()) })
const digestOf = z.object({ digest: z.string() })
const beyondOf = z.object({ beyond: z.string().optional() })
const arrivedOf = z.object({ log: movedLog.nullable(), counts: z.record(z.string(), z.number()) })
const refusal = z.object({ detail: z.string() })

interface Sent {
  readonly path?: string
  /** JSON, or a pack. */
  readonly body?: string | Readable
}

/** @param signal ends requests, except `arrive`, which must not be interrupted */
export function connectToCell(
  deps: Pick<CellDeps, 'keys' | 'now' | 'placement'>,
  { name, url }: { readonly name: string; readonly url: string },
  signal: AbortSignal,
): Destination {
  async function ask<T>(
    schema: z.ZodType<T>,
    method: string,
    orgId: string,
    end: string,
    { path, body }: Sent = {},
    until?: AbortSignal,
  ): Promise<T> {
    const token = await signForCell(deps, name, 'move+jwt', { cell: deps.placement.name, org: orgId })
    const query = path === undefined ? '' : `?path=${encodeURIComponent(path)}`
    const address = `${url}/internal/arrivals/${orgId}/${end}${query}`
    const { status, answer } = await exchange(method, address, token, body, until).catch((cause: unknown) => {
      throw new NotMovedError(`The cell ${name} does not answer at ${url}: ${reasonOf(cause)}`, { cause })
    })
    if (status === 200) return schema.parse(JSON.parse(answer))
    throw new NotMovedError(`The cell ${name} refused the request (${status}): ${detailOf(answer)}`)
  }

  return {
    name,
    arrived: async (orgId) => {
      const { repositories } = await ask(digests, 'GET', orgId, 'repositories', {}, signal)
      return new Map(Object.entries(repositories))
    },
    refs: async (orgId, path) => {
      const { refs } = await ask(refsOf, 'GET', orgId, 'refs', { path }, signal)
      return new Map(Object.entries(refs))
    },
    sendPack: async (orgId, path, pack) => {
      await ask(z.object({}), 'POST', orgId, 'objects', { path, body: pack }, signal)
    },
    setRefs: async (orgId, path, refs) => {
      const body = JSON.stringify({ refs: Object.fromEntries(refs) })
      return (await ask(digestOf, 'PUT', orgId, 'refs', { path, body }, signal)).digest
    },
    drop: async (orgId, path) => {
      await ask(z.object({}), 'DELETE', orgId, 'repositories', { path }, signal)
    },
    putLog: async (orgId, log) => {
      await ask(z.object({}), 'PUT', orgId, 'log', { body: JSON.stringify(log) }, signal)
    },
    digestOfRange: async (orgId, range) => {
      const body = JSON.stringify(range)
      return (await ask(digestOf, 'POST', orgId, 'digest', { body }, signal)).digest
    },
    putRange: async (orgId, range, rows) => {
      const body = JSON.stringify({ ...range, rows })
      return (await ask(digestOf, 'PUT', orgId, 'rows', { body }, signal)).digest
    },
    arrivedLog: (orgId) => ask(arrivedOf, 'GET', orgId, 'log', {}, signal),
    prepare: async (orgId, beyond) => (await ask(beyondOf, 'POST', orgId, 'index', { path: beyond }, signal)).beyond,
    arrive: async (orgId) => {
      await ask(z.object({}), 'POST', orgId, 'arrival')
    },
  }
}

async function exchange(
  method: string,
  address: string,
  token: string,
  body: string | Readable | undefined,
  signal: AbortSignal | undefined,
): Promise<{ readonly status: number; readonly answer: string }> {
  const asked = request(address, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(signal && { signal }),
  })
  asked.setTimeout(silentMs, () => asked.destroy(new Error('it sent nothing for an hour')))
  const clock = setTimeout(() => asked.destroy(new Error('it accepts no connection')), connectMs)
  asked.once('socket', (socket) => {
    if (socket.connecting) socket.once('connect', () => clearTimeout(clock))
    else clearTimeout(clock)
  })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    asked.once('response', resolve).once('error', reject)
  })
  // A refusal may come before everything is sent. It says more than a broken pipe.
  const sent =
    body === undefined || typeof body === 'string'
      ? Promise.resolve(void asked.end(body))
      : pipeline(body, asked).catch((error: unknown) => error)
  try {
    const [answer] = await Promise.all([answered, Promise.race([sent, answered])])
    return { status: answer.statusCode ?? 0, answer: await text(answer) }
  } finally {
    clearTimeout(clock)
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

function detailOf(answer: string): string {
  try {
    return refusal.parse(JSON.parse(answer)).detail
  } catch {
    return answer.slice(0, 200)
  }
}
