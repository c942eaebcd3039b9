/** A model behind an endpoint with the API of OpenAI. */

import { createHash } from 'node:crypto'
import pLimit from 'p-limit'
import { type Cache, createCache } from '../../../gitstore/caching/caches.ts'
import { type ClientDeps, type ClientOptions, EndpointClient, EndpointError } from './endpoint-client.ts'
import { type EndpointSettings, isNear } from './endpoint-target.ts'
import type { EmbeddingModel, StoredDimensions } from './model.ts'
import { modelId } from './model-id.ts'
import { QuestionVectors } from './question-vectors.ts'
import { UnsentError } from './unsent-error.ts'

/** The most texts of a request, and their characters with prefixes. */
const most = { texts: 32, characters: 32_000 } as const
/** Requests with texts at once. */
const atOnce = 2
/** After so many failures in a row, one of the texts may be the cause. */
const stubbornFailures = 4
/** A text that every model takes. */
const harmless = 'The quick brown fox jumps over the lazy dog.'

type Vector = Int8Array | undefined

export interface EndpointModelOptions extends ClientOptions {
  /** Milliseconds that a question waits. */
  readonly lateMs?: number
}

export class EndpointModel implements EmbeddingModel {
  readonly id: string
  readonly name: string
  readonly languages: readonly string[] | undefined
  readonly leavesMachine: boolean
  readonly #client: EndpointClient
  readonly #questions: QuestionVectors
  readonly #deps: ClientDeps
  readonly #textPrefix: string
  readonly #limit = pLimit(atOnce)
  /** Vectors of calls that failed in part, so that they are not paid for twice. */
  readonly #kept = createCache<{ readonly vector: Vector }>('embedded_texts')
  /** Hashes of texts that were refused together, so that a retry continues to halve them. */
  readonly #refused = createCache<true>('refused_texts')

  constructor(settings: EndpointSettings, deps: ClientDeps, options: EndpointModelOptions = {}) {
    const { model: name, dimensions, textPrefix, queryPrefix } = settings
    this.id = modelId({ name, textPrefix, queryPrefix, ...(dimensions !== undefined && { dimensions }) })
    this.name = name
    this.languages = settings.languages
    this.leavesMachine = !isNear(settings.url)
    this.#deps = deps
    this.#textPrefix = textPrefix
    this.#client = new EndpointClient(settings, deps, options)
    this.#questions = new QuestionVectors(
      async (question, signal) => {
        this.#client.requireOpen('question')
        const vectors = await this.#client.embed([queryPrefix + question], 'question', signal)
        return vectors === 'refused' ? undefined : vectors[0]
      },
      { ...deps, ...options },
    )
  }

  async embedTexts(texts: readonly string[], signal: AbortSignal): Promise<readonly Vector[]> {
    await this.#forgetOdd()
    const missing = [...new Set(texts)].filter((text) => !this.#kept.has(text))
    const found = new Map<string, Vector>()
    for (const text of texts) {
      const kept = this.#kept.get(text)
      if (kept !== undefined) found.set(text, kept.vector)
    }
    const results = await Promise.allSettled(
      batchesOf(missing, this.#textPrefix.length).map((batch) => this.#limit(() => this.#embedBatch(batch, signal))),
    )
    for (const result of results)
      if (result.status === 'fulfilled') for (const [text, vector] of result.value) found.set(text, vector)
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) {
      for (const [text, vector] of found) this.#kept.set(text, { vector })
      throw failed.reason
    }
    for (const text of texts) this.#kept.delete(text)
    const dimensions = new Set([...found.values()].flatMap((vector) => (vector ? [vector.length] : [])))
    if (dimensions.size > 1) throw this.#client.contradicts([...dimensions])
    return texts.map((text) => found.get(text))
  }

  embedQuestion(text: string, signal?: AbortSignal): Promise<Vector> {
    return this.#questions.ask(text, signal)
  }

  expectDimensions(stored: StoredDimensions): void {
    this.#client.expectDimensions(stored)
  }

  async close(): Promise<void> {
    this.#questions.close()
    this.#client.close()
  }

  /** Vectors of other dimensions may have been stored since. @throws DatabaseError */
  async #forgetOdd(): Promise<void> {
    const required = await this.#client.requiredDimensions()
    if (required === undefined) return
    for (const [text, { vector }] of [...this.#kept.entries()])
      if (vector !== undefined && vector.length !== required) this.#kept.delete(text)
  }

  /** @throws EmbeddingError */
  async #embedBatch(texts: readonly string[], signal: AbortSignal): Promise<Map<string, Vector>> {
    const { embeddingsTexts: counts } = this.#deps.metrics
    const call = new BatchCall(this.#client, { prefix: this.#textPrefix, signal, refused: this.#refused })
    try {
      this.#client.requireOpen('texts')
      const vectors = await call.run(texts)
      const refused = [...vectors.values()].filter((vector) => vector === undefined).length
      this.#refused.clear()
      counts.inc({ result: 'embedded' }, texts.length - refused)
      counts.inc({ result: 'refused' }, refused)
      return vectors
    } catch (error) {
      if (!(error instanceof UnsentError)) counts.inc({ result: 'failed' }, texts.length)
      for (const [text, vector] of call.done) this.#kept.set(text, { vector })
      throw error
    }
  }
}

interface BatchOptions {
  readonly prefix: string
  readonly signal: AbortSignal
  readonly refused: Cache<true>
}

/** Embeds one batch, and finds the texts that the endpoint refuses. */
class BatchCall {
  /** Vectors so far. Refused texts are missing until a harmless text was accepted. */
  readonly done = new Map<string, Vector>()
  readonly #client: EndpointClient
  readonly #options: BatchOptions
  /** True: an answer with a fault counts as a refusal of its texts. */
  #isStubborn = false

  constructor(client: EndpointClient, options: BatchOptions) {
    this.#client = client
    this.#options = options
  }

  async run(texts: readonly string[]): Promise<Map<string, Vector>> {
    await this.#split(texts)
    const refused = texts.filter((text) => !this.done.has(text))
    // If the endpoint refuses every text, the texts are not the cause.
    if (refused.length === texts.length) await this.#requireHarmless()
    for (const text of refused) this.done.set(text, undefined)
    return this.done
  }

  async #split(texts: readonly string[]): Promise<void> {
    const vectors = await this.#embed(texts)
    if (vectors !== 'refused') {
      const bad = texts.filter((text, at) => {
        const vector = vectors[at]
        if (vector !== undefined) this.done.set(text, vector)
        return vector === undefined
      })
      if (texts.length > 1) for (const text of bad) await this.#split([text])
    } else if (texts.length > 1) {
      const half = Math.ceil(texts.length / 2)
      await this.#split(texts.slice(0, half))
      await this.#split(texts.slice(half))
    }
  }

  async #embed(texts: readonly string[]) {
    const { prefix, signal, refused } = this.#options
    const hash = createHash('sha256').update(JSON.stringify(texts)).digest('base64')
    if (refused.has(hash)) return 'refused'
    try {
      const prefixed = texts.map((text) => prefix + text)
      const vectors = await this.#client.embed(prefixed, 'texts', signal)
      if (vectors === 'refused') refused.set(hash, true)
      return vectors
    } catch (error) {
      if (!(error instanceof EndpointError) || !error.isAnswered) throw error
      if (this.#isStubborn) return 'refused'
      if (this.#client.failures < stubbornFailures) throw error
      await this.#requireHarmless()
      this.#isStubborn = true
      return 'refused'
    }
  }

  /** @throws EmbeddingError the endpoint does not embed a harmless text either */
  async #requireHarmless(): Promise<void> {
    const { prefix, signal, refused } = this.#options
    const vectors = await this.#client.embed([prefix + harmless], 'texts', signal)
    if (vectors !== 'refused' && vectors[0] !== undefined) return
    refused.clear()
    throw this.#client.refusesAll()
  }
}

/** Groups texts, in their order. A text that is too long has its own group. */
function batchesOf(texts: readonly string[], prefix: number): string[][] {
  const batches: string[][] = []
  let characters = 0
  for (const text of texts) {
    const batch = batches.at(-1)
    const length = text.length + prefix
    if (batch === undefined || batch.length === most.texts || characters + length > most.characters) {
      batches.push([text])
      characters = length
    } else {
      batch.push(text)
      characters += length
    }
  }
  return batches
}
