/** The model that runs in a thread of this process, without a network. It understands English only. */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { Deps } from '../../base/deps.ts'
import { untilAborted } from '../net/deadlines.ts'
import { WorkerClient, workerBundle } from '../worker-client.ts'
import { findLocalPackages, type LocalPackages, localModelName } from './local-packages.ts'
import { EmbeddingError, type EmbeddingModel } from './model.ts'

export interface LocalModelOptions extends Pick<Deps, 'log'> {
  /** The folder whose packages are used. Default: this program's. */
  readonly folder?: string
  /** Milliseconds for one text or question, after which the thread restarts. Default: 30,000. */
  readonly timeoutMs?: number
}

/** The calls that the thread serves. It handles one at a time. */
export interface EmbedCalls {
  /** Returns undefined if the text has no vector. */
  embed(text: string): Int8Array | undefined
}

const dimensions = 512

export const localModelId = createHash('sha256')
  .update([localModelName, dimensions, '', ''].join('\0'))
  .digest('hex')
  .slice(0, 32)

const defaultTimeoutMs = 30_000
/** Loading takes 0.4 s, and the loaded model 290 MB. */
const idleMs = 300_000
/** A question takes 15 ms on a free core, and waits for one text of 80 ms at most. */
const questionMs = 1_500
/** At 15 ms each, a longer queue would end late. */
const mostQuestions = 50
const mostUnits = 2_400
/** The longest pause after a text. A text takes longer only on a machine that sleeps or is overloaded. */
const mostRestMs = 5_000
const retryAfterMs = 60_000

/** The thread ended with the text, twice. */
class ThreadLostError extends Error {}

/**
 * Opens the model, whose thread starts with the first text.
 *
 * @throws ModelNotInstalledError
 */
export function openLocalModel({ log, folder, timeoutMs = defaultTimeoutMs }: LocalModelOptions): EmbeddingModel {
  const packages = findLocalPackages(folder)
  const client = new WorkerClient<EmbedCalls>({
    name: 'The thread of the local model',
    bundle: workerBundle('domain/embeddings/embed-worker.cjs'),
    data: packages satisfies LocalPackages,
    failure: 'The local model could not be loaded',
    timeoutMs,
    idleMs,
    restartPausesMs: { shortest: 100, longest: 10_000 },
    lost: (reason) => new ThreadLostError(reason),
    ended: (cause) => cause && log.warn({ err: cause }, 'The thread of the local model ended'),
  })
  return new LocalModel(client)
}

class LocalModel implements EmbeddingModel {
  readonly id = localModelId
  readonly name = localModelName
  readonly languages = ['en']
  readonly leavesMachine = false
  readonly #client: WorkerClient<EmbedCalls>
  /** One text at a time is in the thread, so that a question waits for one text at most. */
  readonly #inTurn = pLimit(1)
  #questions = 0

  constructor(client: WorkerClient<EmbedCalls>) {
    this.#client = client
  }

  async embedTexts(texts: readonly string[], signal: AbortSignal): Promise<readonly (Int8Array | undefined)[]> {
    const vectors: (Int8Array | undefined)[] = []
    for (const text of texts) vectors.push(await this.#inTurn(() => this.#embedSlowly(text, signal)))
    return vectors
  }

  async embedQuestion(text: string, signal?: AbortSignal): Promise<Int8Array | undefined> {
    signal?.throwIfAborted()
    if (this.#questions >= mostQuestions) return undefined
    this.#questions++
    // Without the signal: the thread answers also questions that were given up, so they count until then.
    const answer = this.#client.ask('embed', text.slice(0, mostUnits)).finally(() => this.#questions--)
    const late = AbortSignal.timeout(questionMs)
    try {
      return await untilAborted(answer, signal ? AbortSignal.any([signal, late]) : late)
    } catch {
      signal?.throwIfAborted()
      return undefined
    }
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  /** Embeds a text, then rests for as long as that took: half a core is left to others. */
  async #embedSlowly(text: string, signal: AbortSignal): Promise<Int8Array | undefined> {
    signal.throwIfAborted()
    const began = performance.now()
    const vector = await this.#embed(text, signal)
    const restMs = Math.min(performance.now() - began, mostRestMs)
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
      throw new EmbeddingError(error instanceof Error ? error.message : String(error), retryAfterMs)
    }
  }

  /** A question in the thread may also have ended it, so the text is tried again after the thread is well. */
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
