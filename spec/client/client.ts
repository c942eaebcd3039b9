/** Grove over HTTP: a function for each operation of the spec, in Node and in browsers, with nothing but fetch. */
import type { Api, Arguments, CallOptions, ItemOf, ListId, OperationId } from './api.ts'
import { Busy, errorOf, GroveError } from './errors.ts'
import { operations, streams } from './operations.ts'

export type { Api, CallOptions, Input, ItemOf, ListId, OperationId, Output, Schemas } from './api.ts'
export { Busy, Conflict, type ErrorCode, Forbidden, GroveError, Invalid, NotFound, NotSignedIn } from './errors.ts'

/** The pair of a login, as its answer has it. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
}

export interface Options {
  /** Of the service; default: where the page is from. */
  readonly url?: string
  /** A personal access token. */
  readonly token?: string
  /** In place of `token`: renewed when the access token ends, and by refreshSession and changePassword. */
  readonly tokens?: Tokens
  /** Gets each new pair: the old one is used up. */
  readonly onTokens?: (tokens: Tokens) => void
  /** Default: the platform's. */
  readonly fetch?: typeof fetch
  /** Ends all calls. */
  readonly signal?: AbortSignal
  /** Of one try, until its answer has come; of bytes until they begin. Default: 120,000. */
  readonly timeoutMs?: number
}

/** Every call throws GroveError, or the reason of the signal that ended it. */
export type Grove = Api & {
  /**
   * Every item of a list, which is read by pages as its items are used. What others insert or remove meanwhile may be missed
   * or come twice.
   */
  each<K extends ListId>(operation: K, ...input: Arguments<K>): AsyncGenerator<ItemOf<K>, void, undefined>
}

/** Of bodies, what decides how a call goes on. */
interface Item {
  readonly id?: string
  readonly nodes?: readonly Item[]
}

interface Sent extends CallOptions {
  readonly path?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

const tries = 3
/** Doubled with each try; jitter takes up to half of it. */
const firstWaitSeconds = 0.2
/** A longer Retry-After is the caller's to wait. */
const longestWaitMs = 30_000
/** The timeout and the longest wait of refreshSession: two of each are less than the 30 seconds after which it would end the session. */
const refreshMs = 6_000
const defaultTimeoutMs = 120_000
/** The most that the service answers. */
const pageItems = 200

/** POSTs that read, or find the second time that it is done. */
const repeatable: ReadonlySet<OperationId> = new Set<OperationId>([
  'searchNodes',
  'mergePull',
  'updatePullBranch',
  'refreshSession',
  'logOut',
])

export function grove(options: Options = {}): Grove {
  const calls = new Calls(options)
  const ids = Object.keys(operations) as OperationId[] // of an object that has no others
  const api = Object.fromEntries(ids.map((id) => [id, (input?: Sent) => calls.call(id, input)]))
  const each = (id: OperationId, input?: Sent) => calls.each(id, input)
  return { ...api, each } as unknown as Grove // Object.fromEntries forgets which function has which name
}

/** Calls of one client, which share its tokens. */
class Calls {
  private readonly options: Options
  private readonly url: string
  private tokens: Tokens | undefined
  private renewing: Promise<unknown> | undefined

  constructor(options: Options) {
    this.options = options
    this.url = (options.url ?? '').replace(/\/+$/, '')
    this.tokens = options.tokens
  }

  async call(id: OperationId, input: Sent = {}): Promise<unknown> {
    const { token, signal: all } = this.options
    const signal = AbortSignal.any([all, input.signal].filter((one) => one !== undefined))
    let isRenewed = false
    for (let attempt = 1; ; ) {
      const bearer = token ?? this.tokens?.accessToken
      try {
        const answer = await this.sendOnce(id, input, bearer, signal)
        this.takeTokens(id, answer)
        return answer
      } catch (error) {
        if (!(error instanceof GroveError)) throw error
        if (error.code === 'invalid_token' && bearer !== token && id !== 'refreshSession' && !isRenewed) {
          isRenewed = true
          if (bearer === this.tokens?.accessToken)
            await Promise.race([new Promise((_, fail) => onAbort(signal, fail)), this.renew()])
        } else if (error.code === 'node_exists' && id === 'createNode' && attempt > 1) {
          const path = { ...input.path, node_id: (input.body as { id: string }).id } // as isRepeatable found
          return this.call('getNode', { ...input, path, body: undefined })
        } else {
          await pause(waitBeforeNext(id, input, error, attempt), signal)
          attempt++
        }
      }
    }
  }

  /** Every item of a list. */
  async *each(id: OperationId, input: Sent = {}): AsyncGenerator<unknown, void, undefined> {
    for (let offset = Number(input.query?.offset ?? 0); ; ) {
      const page = await this.call(id, { ...input, query: { limit: pageItems, ...input.query, offset } })
      const items: readonly unknown[] = Object.values(Object(page)).find(Array.isArray) ?? []
      yield* items
      offset += items.length
      if (items.length === 0 || offset >= (page as { readonly total: number }).total) return // a ListId
    }
  }

  private takeTokens(id: OperationId, answer: unknown): void {
    if (this.tokens === undefined || (id !== 'refreshSession' && id !== 'changePassword')) return
    const { onTokens } = this.options
    this.tokens = answer as Tokens // the spec says so of both
    onTokens?.(this.tokens)
  }

  /** Once for all calls that find the token ended at the same time. */
  private renew(): Promise<unknown> {
    this.renewing ??= this.call('refreshSession', { body: { refreshToken: this.tokens?.refreshToken } }).finally(() => {
      this.renewing = undefined
    })
    return this.renewing
  }

  /** @throws GroveError; the reason of the signal */
  private async sendOnce(id: OperationId, input: Sent, bearer: string | undefined, signal: AbortSignal) {
    const { body } = input
    const { fetch: send = fetch, timeoutMs = defaultTimeoutMs } = this.options
    const [method = '', template = ''] = operations[id].split(' ')
    const address = `${this.url}${pathOf(template, input.path)}${searchOf(input.query)}`
    const headers = new Headers(input.headers)
    if (bearer !== undefined && !headers.has('authorization')) headers.set('authorization', `Bearer ${bearer}`)
    if (body !== undefined) headers.set('content-type', 'application/json')
    const sending = new AbortController()
    const mostMs = id === 'refreshSession' ? refreshMs : (input.timeoutMs ?? timeoutMs)
    const timer = setTimeout(() => sending.abort(), mostMs)
    try {
      const response = await send(address, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
        // A token goes to no other address.
        redirect: 'manual',
        signal: AbortSignal.any([signal, sending.signal]),
      })
      if (!response.ok) throw await errorOf(response)
      if (streams.some((one) => one === id)) return response
      if (response.status === 204) return undefined
      return await (response.headers.get('content-type')?.includes('json') ? response.json() : response.text())
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof GroveError) throw error
      throw Object.assign(new Busy(0, 'no_answer', `No answer: ${error}`), { cause: error })
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Milliseconds. @throws GroveError, the given one: the call is not tried again */
function waitBeforeNext(id: OperationId, input: Sent, error: GroveError, attempt: number): number {
  const jitter = 1 - Math.random() / 2
  const waitMs = 1_000 * (error.retryAfter ?? firstWaitSeconds * 2 ** (attempt - 1) * jitter)
  const isSoon = waitMs <= (id === 'refreshSession' ? refreshMs : longestWaitMs)
  if (!(error instanceof Busy && isSoon && attempt < tries && isRepeatable(id, input))) throw error
  return waitMs
}

function isRepeatable(id: OperationId, { body }: Sent): boolean {
  const { id: own, nodes = [] } = Object(body) as Item // each may be absent
  if (id === 'createNode') return own !== undefined
  // A node without an id of the caller's would be made twice.
  if (id === 'putNodes') return nodes.every((node) => node.id !== undefined)
  return repeatable.has(id) || !operations[id].startsWith('POST')
}

/** @throws TypeError: a parameter is absent, or would lead to another operation */
function pathOf(template: string, path: Sent['path'] = {}): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const text = String(path[name] ?? '')
    if (/^\.{0,2}$/.test(text)) throw new TypeError(`${name} cannot be '${text}'`)
    return encodeURIComponent(text)
  })
}

function searchOf(query: Sent['query'] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  const search = new URLSearchParams(given as [string, string][]) // which writes numbers and booleans as text
  return search.size > 0 ? `?${search}` : ''
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const timer = setTimeout(done, ms)
    onAbort(signal, (reason) => {
      clearTimeout(timer)
      fail(reason)
    })
  })
}

function onAbort(signal: AbortSignal, end: (reason: unknown) => void): void {
  signal.addEventListener('abort', () => end(signal.reason))
}
