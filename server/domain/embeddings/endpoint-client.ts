/** Requests to an endpoint with the API of OpenAI. Every failure becomes a wait, and one line of the log. */

import manifest from '../../../package.json' with { type: 'json' }
import { FetchError } from '../net/fetch-error.ts'
import { type FetchAnswer, type FetchRules, type GuardedFetch, guardedFetch } from '../net/guarded-fetch.ts'
import { parseRetryAfter } from '../net/retry-after.ts'
import type { Services } from '../services.ts'
import { Allowance, BudgetError, type Reservation, type Use } from './allowance.ts'
import { AnswerError, answerBytes, parseVectors } from './endpoint-answer.ts'
import { type EndpointSettings, endpointRules } from './endpoint-target.ts'
import { FaultLog } from './fault-log.ts'
import { EmbeddingError, type StoredDimensions } from './model.ts'
import { EndpointPauses, type Failure, longestAskedMs } from './pauses.ts'
import { providerReason } from './provider-text.ts'
import { UnsentError } from './unsent-error.ts'

export type ClientDeps = Pick<Services, 'config' | 'listening' | 'now' | 'log' | 'metrics'>

export interface ClientOptions {
  /** How names are resolved, and which certificates are trusted. For tests. */
  readonly rules?: Pick<FetchRules, 'resolve' | 'ca'>
  readonly fetch?: GuardedFetch
  /** Milliseconds for a request. */
  readonly totalMs?: number
  /** From 0 to 1. */
  readonly random?: () => number
}

/** `refused`: the endpoint does not take these texts, or one of them. */
export type Embedded = readonly (Int8Array | undefined)[] | 'refused'

/** The endpoint failed. */
export class EndpointError extends EmbeddingError {
  /** True if it answered, so that the cause may be one of the texts. */
  readonly isAnswered: boolean

  constructor(message: string, retryAfterMs: number, isAnswered: boolean) {
    super(message, retryAfterMs)
    this.isAnswered = isAnswered
  }
}

interface Attempt {
  readonly format: 'base64' | 'float'
  readonly signal: AbortSignal | undefined
  /** True if it repeats a request in another format. */
  readonly isSecond: boolean
}

interface Expected {
  readonly use: Use
  readonly reservation: Reservation
  readonly dimensions: number | undefined
}

/** Milliseconds for a request, and for its connection. */
const [requestMs, connectMs] = [15_000, 5_000]

/** Characters of a token, on average. */
const tokenCharacters = 4

/** The endpoint takes requests, but not these texts. */
const refusals: readonly number[] = [400, 413, 422]
/** The endpoint may answer later. All other statuses are for the operator. */
const isTemporary = (status: number) => status === 408 || status === 425 || status === 429 || status >= 500

/** Problems before anything was sent. */
const unsent: readonly string[] = ['refused_address', 'dns', 'connect_timeout', 'tls']

export class EndpointClient {
  readonly #settings: EndpointSettings
  readonly #deps: ClientDeps
  readonly #options: ClientOptions
  readonly #allowance: Allowance
  readonly #pauses: EndpointPauses
  readonly #faults: FaultLog
  readonly #running = new Set<AbortController>()
  #isClosed = false
  /** Undefined until the endpoint has taken one. */
  #format: 'base64' | 'float' | undefined
  #stored: StoredDimensions = async () => undefined

  constructor(settings: EndpointSettings, deps: ClientDeps, options: ClientOptions = {}) {
    this.#settings = settings
    this.#deps = deps
    this.#options = options
    this.#allowance = new Allowance(settings)
    this.#pauses = new EndpointPauses(options.random)
    this.#faults = new FaultLog(deps)
  }

  /** Failures of texts since the last success. */
  get failures(): number {
    return this.#pauses.failures
  }

  expectDimensions(stored: StoredDimensions): void {
    this.#stored = stored
  }

  /** The dimensions that answers must have. Undefined: any, because one answer could be odd. @throws DatabaseError */
  async requiredDimensions(): Promise<number | undefined> {
    return this.#settings.dimensions ?? (await this.#stored())
  }

  /** @throws UnsentError requests are not allowed now */
  requireOpen(use: Use): void {
    const left = this.#pauses.remainingMs(use, this.#deps.now().getTime())
    if (left > 0) throw new UnsentError('The embeddings endpoint has failed. It is asked again after a pause.', left)
  }

  /** Embeds texts as they are, in one request or two. @throws EmbeddingError */
  async embed(texts: readonly string[], use: Use, signal?: AbortSignal): Promise<Embedded> {
    const first = await this.#request(texts, use, { format: this.#format ?? 'base64', signal, isSecond: false })
    if (first !== 'refused' || this.#format !== undefined) return first
    // Some endpoints refuse the field `encoding_format`.
    return this.#request(texts, use, { format: 'float', signal, isSecond: true })
  }

  /** Pauses after the endpoint refused a harmless text. */
  refusesAll(): EndpointError {
    const reason =
      'The embeddings endpoint refuses every text. Check EMBEDDINGS_MODEL, EMBEDDINGS_DIMENSIONS and EMBEDDINGS_URL.'
    return this.#fail({ kind: 'refused', retryAfterMs: 0 }, 'texts', { key: 'all', reason, isAnswered: false })
  }

  /** Pauses after answers to one call had different dimensions. */
  contradicts(dimensions: readonly number[]): EndpointError {
    const reason = `The answers of the embeddings endpoint have vectors of ${dimensions.join(' and ')} dimensions.`
    return this.#fail({ kind: 'away', retryAfterMs: 0 }, 'texts', { key: 'answer', reason, isAnswered: true })
  }

  close(): void {
    this.#isClosed = true
    for (const controller of this.#running) controller.abort()
  }

  async #request(texts: readonly string[], use: Use, { format, signal, isSecond }: Attempt): Promise<Embedded> {
    const estimate = Math.ceil(texts.reduce((sum, { length }) => sum + length, 0) / tokenCharacters)
    const dimensions = await this.requiredDimensions()
    const reservation = this.#take(use, estimate, isSecond)
    const answer = await this.#send(texts, format, signal).catch((error: unknown) => {
      if (!(error instanceof FetchError)) throw error
      if (unsent.includes(error.code)) this.#allowance.settle(reservation, 0)
      throw error.code === 'aborted' ? cancelled() : this.#failOf(error, use)
    })
    if (answer.status !== 200) {
      this.#allowance.settle(reservation, 0)
      if (refusals.includes(answer.status)) return 'refused'
      throw this.#failOfStatus(answer, texts, use)
    }
    const vectors = this.#vectorsOf(answer, texts.length, { use, reservation, dimensions })
    this.#format = format
    return vectors
  }

  /** @throws UnsentError */
  #take(use: Use, estimate: number, isSecond: boolean): Reservation {
    if (this.#isClosed) throw cancelled()
    try {
      return this.#allowance.take(use, estimate, { now: this.#deps.now(), isSecond })
    } catch (error) {
      if (error instanceof BudgetError)
        this.#faults.report('warn', { key: 'budget', reason: error.message, waitMs: error.retryAfterMs })
      throw error
    }
  }

  async #send(texts: readonly string[], format: 'base64' | 'float', signal: AbortSignal | undefined) {
    const { url, model, key, dimensions } = this.#settings
    const controller = new AbortController()
    const stop = () => controller.abort()
    signal?.addEventListener('abort', stop, { once: true })
    if (signal?.aborted) stop()
    this.#running.add(controller)
    const { fetch = guardedFetch, totalMs = requestMs, rules = {} } = this.#options
    const most = answerBytes(texts.length)
    const end = this.#deps.metrics.embeddingsSeconds.startTimer()
    try {
      return await fetch(
        {
          url: `${url}/embeddings`,
          method: 'POST',
          headers: {
            accept: 'application/json',
            'content-type': 'application/json',
            'user-agent': `Grove/${manifest.version}`,
            ...(key !== undefined && { authorization: `Bearer ${key}` }),
          },
          body: JSON.stringify({
            model,
            input: texts,
            ...(dimensions !== undefined && { dimensions }),
            ...(format === 'base64' && { encoding_format: 'base64' }),
          }),
          limits: { totalMs, connectMs, keptBytes: most, readBytes: most, excess: 'refuse' },
          signal: controller.signal,
        },
        { ...endpointRules(this.#settings, this.#deps), ...rules },
      )
    } finally {
      end()
      this.#running.delete(controller)
      signal?.removeEventListener('abort', stop)
    }
  }

  /** @throws EndpointError */
  #vectorsOf(
    { body }: FetchAnswer,
    texts: number,
    { use, reservation, dimensions }: Expected,
  ): readonly (Int8Array | undefined)[] {
    try {
      const { vectors, tokens = reservation.tokens } = parseVectors(body, texts, dimensions)
      this.#allowance.settle(reservation, tokens)
      this.#deps.metrics.embeddingsTokens.inc(tokens)
      this.#pauses.succeed(use)
      this.#faults.succeed()
      return vectors
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error
      const reason = `The answer of the embeddings endpoint ${error.message}.`
      throw this.#fail({ kind: 'away', retryAfterMs: 0 }, use, { key: 'answer', reason, isAnswered: true })
    }
  }

  #failOf(error: FetchError, use: Use): EndpointError {
    const kind = error.code === 'refused_address' ? 'refused' : 'away'
    return this.#fail({ kind, retryAfterMs: 0 }, use, { key: error.code, reason: error.message, isAnswered: false })
  }

  #failOfStatus({ status, headers, body }: FetchAnswer, texts: readonly string[], use: Use): EndpointError {
    const kind = isTemporary(status) ? 'away' : 'refused'
    const retryAfterMs = kind === 'away' ? parseRetryAfter(headers['retry-after'], this.#deps.now(), longestAskedMs) : 0
    // The reason of a refused key would show parts of it.
    const provider = status === 401 || status === 403 ? undefined : providerReason(body, texts, this.#settings.key)
    const facts = { key: String(status), reason: `${sentenceOf(status)}`, provider, isAnswered: status >= 500 }
    return this.#fail({ kind, retryAfterMs }, use, facts)
  }

  #fail(
    failure: Failure,
    use: Use,
    facts: {
      readonly key: string
      readonly reason: string
      readonly provider?: string | undefined
      readonly isAnswered: boolean
    },
  ): EndpointError {
    const waitMs = this.#pauses.fail(failure, use, this.#deps.now().getTime())
    this.#faults.report(failure.kind === 'refused' ? 'error' : 'warn', { ...facts, waitMs })
    return new EndpointError(facts.reason, waitMs, facts.isAnswered)
  }
}

function sentenceOf(status: number): string {
  const said = `The embeddings endpoint answered ${status}`
  if (status === 401 || status === 403) return `${said}, so it refuses the key. Check EMBEDDINGS_KEY.`
  if (status === 404) return `${said}, so it has no such path or model. Check EMBEDDINGS_URL and EMBEDDINGS_MODEL.`
  if (status >= 300 && status < 400) return `${said}, a redirect, which is not followed. Correct EMBEDDINGS_URL.`
  return `${said}.`
}

function cancelled(): UnsentError {
  return new UnsentError('The request for vectors was cancelled.', 0)
}
