/** The model that runs in a thread of this process, without a network. It understands English only. */
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { WorkerClient, workerBundle } from '../worker-client.ts'
import { findLocalPackages, type LocalPackages, localModelName } from './local-packages.ts'
import { EmbeddingError, type EmbeddingModel } from './model.ts'
import { modelId } from './model-id.ts'
import { type QuestionOptions, QuestionVectors } from './question-vectors.ts'

export interface LocalModelOptions extends QuestionOptions {
  /** The folder whose packages are used. Default: this program's. */
  readonly folder?: string
  /** Milliseconds for one text or question, after which the thread restarts. Default: 30,000. */
  readonly timeoutMs?: number
  /** Milliseconds of the longest pause after a text. Default: 5,000. */
  readonly mostRestMs?: number
}

/** The calls that the thread serves. It handles one at a time. */
export interface EmbedCalls {
  /** Returns undefined if the text has no vector. */
  embed(text: string): Int8Array | undefined
}

const localModelId = modelId({ name: localModelName, textPrefix: '', queryPrefix: '' })

const defaultTimeoutMs = 30_000
/** Loading takes 0.4 s, and the loaded model 290 MB. */
const idleMs = 300_000
/** A text takes longer only on a machine that sleeps or is overloaded. */
const usualMostRestMs = 5_000
const retryAfterMs = 60_000

/** The thread ended with the text, twice. */
class ThreadLostError extends Error {}

/**
 * Opens the model, whose thread starts with the first text.
 *
 * @throws ModelNotInstalledError
 */
export async function openLocalModel(options: LocalModelOptions): Promise<EmbeddingModel> {
  const packages = findLocalPackages(options.folder)
  const client = new WorkerClient<EmbedCalls>({
    name: 'The thread of the local model',
    bundle: workerBundle('domain/embeddings/embed-worker.cjs'),
    data: packages satisfies LocalPackages,
    failure: 'The local model could not be loaded',
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    idleMs,
    restartPausesMs: { shortest: 100, longest: 10_000 },
    lost: (reason) => new ThreadLostError(reason),
    ended: (cause) => cause && options.log.warn({ err: cause }, 'The thread of the local model ended'),
  })
  return new LocalModel(client, options)
}

class LocalModel implements EmbeddingModel {
  readonly id = localModelId
  readonly name = localModelName
  readonly languages = ['en']
  readonly leavesMachine = false
  readonly #client: WorkerClient<EmbedCalls>
  /** Gives the thread one text at a time. A question then waits for one text at most. */
  readonly #inTurn = pLimit(1)
  readonly #questions: QuestionVectors
  readonly #mostRestMs: number

  constructor(client: WorkerClient<EmbedCalls>, { mostRestMs = usualMostRestMs, ...options }: LocalModelOptions) {
    this.#client = client
    this.#mostRestMs = mostRestMs
    this.#questions = new QuestionVectors((question, signal) => this.#embedQuestion(question, signal), options)
  }

  async embedTexts(texts: readonly string[], signal: AbortSignal): Promise<readonly (Int8Array | undefined)[]> {
    const vectors: (Int8Array | undefined)[] = []
    for (const text of texts) vectors.push(await this.#inTurn(() => this.#embedSlowly(text, signal)))
    return vectors
  }

  embedQuestion(text: string, signal?: AbortSignal): Promise<Int8Array | undefined> {
    return this.#questions.ask(text, signal)
  }

  close(): Promise<void> {
    this.#questions.close()
    return this.#client.close()
  }

  /** A question goes before the texts that wait. @throws EmbeddingError */
  async #embedQuestion(question: string, signal: AbortSignal): Promise<Int8Array | undefined> {
    try {
      return await this.#client.ask('embed', question, signal)
    } catch (error) {
      throw toEmbeddingError(error)
    }
  }

  /** Embeds a text, then rests for as long. So others have half a core. */
  async #embedSlowly(text: string, signal: AbortSignal): Promise<Int8Array | undefined> {
    signal.throwIfAborted()
    const began = performance.now()
    const vector = await this.#embed(text, signal)
    const restMs = Math.min(performance.now() - began, this.#mostRestMs)
    await sleep(restMs, undefined, { signal }).catch(() => undefined) // the vector is there
    return vector
  }

  /** @throws EmbeddingError; the signal's reason */
  async #embed(text: string, signal: AbortSignal): Promise<Int8Array | undefined> {
    try {
      return await this.#askAgainIfLost(text, signal)
    } catch (error) {
      signal.throwIfAborted()
      // A thread that embeds another text is well, so this text ends it: it is refused.
      if (error instanceof ThreadLostError && (await this.#isWell(signal))) return undefined
      throw toEmbeddingError(error)
    }
  }

  /** Tries again if the thread was lost, because a question may have ended it. */
  async #askAgainIfLost(text: string, signal: AbortSignal): Promise<Int8Array | undefined> {
    try {
      return await this.#client.ask('embed', text, signal)
    } catch (error) {
      if (!(error instanceof ThreadLostError && (await this.#isWell(signal)))) throw error
      return await this.#client.ask('embed', text, signal)
    }
  }

  async #isWell(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#client.ask('embed', 'A plain sentence', signal)
      return true
    } catch {
      signal.throwIfAborted()
      return false
    }
  }
}

function toEmbeddingError(error: unknown): EmbeddingError {
  return new EmbeddingError(error instanceof Error ? error.message : String(error), retryAfterMs)
}
