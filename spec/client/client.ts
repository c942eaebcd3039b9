/** The client: a function for each operation of the spec. Runs in Node and in browsers, and needs only fetch. */
import type { Api, Arguments, CallOptions, ItemOf, ListId, OperationId } from './api.ts'
import { Busy, errorOf, GroveError } from './errors.ts'
import { operations, streams, uploads } from './operations.ts'

export type { Api, CallOptions, Input, ItemOf, ListId, OperationId, Output, Schemas } from './api.ts'
export { Busy, Conflict, type ErrorCode, Forbidden, GroveError, Invalid, NotFound, NotSignedIn } from './errors.ts'
export { revision } from './operations.ts'

/** The pair of tokens from a sign-in. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
}

export interface Options {
  /** The URL of the service; default: the origin of the page. */
  readonly url?: string
  /** A personal access token. */
  readonly token?: string
  /** Used instead of `token`. Renewed when the access token expires, and by refreshSession and changePassword. */
  readonly tokens?: Tokens
  /** Called with each new pair of tokens. The old refresh token is used up then. */
  readonly onTokens?: (tokens: Tokens) => void
  /** The fetch function; default: the platform's. */
  readonly fetch?: typeof fetch
  /** Aborts all calls. */
  readonly signal?: AbortSignal
  /** Milliseconds for one attempt, until the whole response or the first bytes of a stream. Default: 120,000. */
  readonly timeoutMs?: number
}

/** The client. Every call throws GroveError, or the reason of the signal that aborted it. */
export type Grove = Api & {
  /**
   * Yields every item of a list. Reads pages as the items are used. Items that are inserted or removed during the
   * iteration may be missed or repeated.
   */
  each<K extends ListId>(operation: K, ...input: Arguments<K>): AsyncGenerator<ItemOf<K>, void, undefined>
}

/** The fields of a request body that decide whether a call is repeated. */
interface Item {
  readonly id?: string
  readonly nodes?: readonly Item[]
}

/** A page of a list. With `next`, the next page is read by it, which is faster in a long list. */
interface ListPage {
  readonly total: number
  readonly next?: unknown
}

interface Sent extends CallOptions {
  readonly path?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

const tries = 3
/** The wait after the first attempt. Doubles with each attempt, and jitter shortens it by up to half. */
const firstWaitSeconds = 0.2
/** The client does not wait for a longer Retry-After, but throws the error. */
const longestWaitMs = 30_000
/**
 * The timeout and the longest wait of refreshSession. Two of each are less than 30 seconds. After that, a repeated
 * refresh would end the session.
 */
const refreshMs = 6_000
const defaultTimeoutMs = 120_000
/** The service's maximum page size. */
const pageItems = 200

/** POST operations that only read, or that have no further effect when repeated. */
const repeatable: ReadonlySet<OperationId> = new Set<OperationId>([
  'searchNodes',
  'queryNodes',
  'mergePull',
  'updatePullBranch',
  'refreshSession',
  'logOut',
])

export function grove(options: Options = {}): Grove {
  const calls = new Calls(options)
  const ids = Object.keys(operations) as OperationId[] // its only keys
  const api = Object.fromEntries(ids.map((id) => [id, (input?: Sent) => calls.call(id, input)]))
  const each = (id: OperationId, input?: Sent) => calls.each(id, input)
  return { ...api, each } as unknown as Grove // Object.fromEntries forgets which function has which name
}

/** The calls of one client, which share its tokens. */
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
          const path = { ...input.path, node_id: (input.body as { id: string }).id } // isRepeatable has checked it
          return this.call('getNode', { ...input, path, body: undefined })
        } else {
          await pause(waitBeforeNext(id, input, error, attempt), signal)
          attempt++
        }
      }
    }
  }

  /** Yields every item of a list. */
  async *each(id: OperationId, input: Sent = {}): AsyncGenerator<unknown, void, undefined> {
    const { offset: first = 0, ...query } = input.query ?? {}
    for (let offset = Number(first), after: unknown = query.after; ; ) {
      const place = after === undefined ? { offset } : { after }
      const page = (await this.call(id, { ...input, query: { limit: pageItems, ...query, ...place } })) as ListPage // a ListId
      const items: readonly unknown[] = Object.values(page).find(Array.isArray) ?? []
      yield* items
      offset += items.length
      if (items.length === 0 || (page.next === undefined && (after !== undefined || offset >= page.total))) return
      after = page.next
    }
  }

  private takeTokens(id: OperationId, answer: unknown): void {
    if (this.tokens === undefined || (id !== 'refreshSession' && id !== 'changePassword')) return
    const { onTokens } = this.options
    this.tokens = answer as Tokens // both return tokens
    onTokens?.(this.tokens)
  }

  /** Renews the tokens, once for all calls that find them expired at the same time. */
  private renew(): Promise<unknown> {
    this.renewing ??= this.call('refreshSession', { body: { refreshToken: this.tokens?.refreshToken } }).finally(() => {
      this.renewing = undefined
    })
    return this.renewing
  }

  /** Sends one request. @throws GroveError; the reason of the signal */
  private async sendOnce(id: OperationId, input: Sent, bearer: string | undefined, signal: AbortSignal) {
    const { body } = input
    const { fetch: send = fetch, timeoutMs = defaultTimeoutMs } = this.options
    const [method = '', template = ''] = operations[id].split(' ')
    const address = `${this.url}${pathOf(template, input.path)}${searchOf(input.query)}`
    const headers = new Headers(input.headers)
    if (bearer !== undefined && !headers.has('authorization')) headers.set('authorization', `Bearer ${bearer}`)
    const upload = Object.entries(uploads).find(([one]) => one === id)?.[1]
    if (body !== undefined) headers.set('content-type', upload ?? 'application/json')
    const sending = new AbortController()
    const mostMs = id === 'refreshSession' ? refreshMs : (input.timeoutMs ?? timeoutMs)
    const timer = setTimeout(() => sending.abort(), mostMs)
    try {
      const response = await send(address, {
        method,
        headers,
        body: body === undefined ? null : upload === undefined ? JSON.stringify(body) : (body as BodyInit), // an Upload
        // Required for a body that is a stream.
        ...(upload === undefined ? {} : { duplex: 'half' }),
        // A redirect must not send the token to another URL.
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
      throw Object.assign(new Busy(0, 'no_answer', `No response from the service: ${error}`), { cause: error })
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Returns the milliseconds before the next attempt. @throws GroveError the given error, if there is no next attempt */
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
  // Without an id from the caller, a node would be created twice.
  if (id === 'putNodes') return nodes.every((node) => node.id !== undefined)
  return repeatable.has(id) || !operations[id].startsWith('POST')
}

/** Fills in the path. @throws TypeError: a parameter is missing, or would lead to another operation */
function pathOf(template: string, path: Sent['path'] = {}): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const text = String(path[name] ?? '')
    if (/^\.{0,2}$/.test(text)) throw new TypeError(`${name} cannot be '${text}'`)
    return encodeURIComponent(text)
  })
}

function searchOf(query: Sent['query'] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  const search = new URLSearchParams(given as [string, string][]) // converts numbers and booleans to strings
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
