/** Vectors of questions, for which users wait: cached, shared, and never late. */

import { createCache } from '../../../gitstore/caching/caches.ts'
import * as limits from '../../base/limits.ts'
import type { Services } from '../services.ts'
import { FaultLog } from './fault-log.ts'
import { EmbeddingError } from './model.ts'
import { UnsentError } from './unsent-error.ts'

/** Embeds one question. Undefined: the model refuses it. @throws EmbeddingError */
export type EmbedOne = (question: string, signal: AbortSignal) => Promise<Int8Array | undefined>

export interface QuestionOptions extends Pick<Services, 'now' | 'log' | 'metrics'> {
  /** Milliseconds that a question waits. The default is 1,500. */
  readonly lateMs?: number
}

/** Milliseconds that a question waits. Its vector may come later, for the next equal question. */
const usualLateMs = 1_500
/** Milliseconds after which the model is asked to give up. */
const longestMs = 20_000
/** Failures in a row that open the circuit, and milliseconds for which it is open. */
const [mostFailures, openMs] = [5, 30_000]

type State = 'embedded' | 'late' | 'failed' | 'refused' | 'skipped'

interface Outcome {
  readonly state: State
  readonly vector?: Int8Array
  /** Why it failed, without texts of users. */
  readonly reason?: string
}

interface Running {
  readonly onTime: Promise<Outcome>
  readonly controller: AbortController
}

export class QuestionVectors {
  readonly #embed: EmbedOne
  readonly #options: QuestionOptions
  readonly #known = createCache<Int8Array>('embedded_questions')
  readonly #running = new Map<string, Running>()
  readonly #circuit: Circuit
  #isClosed = false

  constructor(embed: EmbedOne, options: QuestionOptions) {
    this.#embed = embed
    this.#options = options
    this.#circuit = new Circuit(options)
  }

  /** Returns the vector of a question, or undefined if it is unavailable now. Never throws. */
  async ask(text: string, signal?: AbortSignal): Promise<Int8Array | undefined> {
    const question = cut(text, limits.questionUnits)
    const known = this.#known.get(question)
    if (known !== undefined) return this.#count('cached', known)
    const before = this.#running.get(question)
    if (before !== undefined) {
      const { state, vector } = await unlessAborted(before.onTime, signal)
      return this.#count(state === 'embedded' ? 'cached' : state, vector)
    }
    if (signal?.aborted || this.#isClosed || this.#running.size >= limits.questions || !this.#circuit.enter())
      return this.#count('skipped', undefined)
    const { state, vector } = await unlessAborted(this.#start(question), signal)
    return this.#count(state, vector)
  }

  close(): void {
    this.#isClosed = true
    this.#known.clear()
    for (const { controller } of this.#running.values()) controller.abort()
  }

  #count(state: State | 'cached', vector: Int8Array | undefined): Int8Array | undefined {
    this.#options.metrics.embeddingsQuestions.inc({ state })
    return vector
  }

  #start(question: string): Promise<Outcome> {
    const controller = new AbortController()
    const giveUp = setTimeout(() => controller.abort(), longestMs).unref()
    let late: NodeJS.Timeout | undefined
    const isLate = new Promise<Outcome>((resolve) => {
      late = setTimeout(
        () => resolve({ state: 'late', reason: 'The model did not answer in time.' }),
        this.#options.lateMs ?? usualLateMs,
      )
    })
    const answer = this.#run(question, controller.signal)
    const onTime = Promise.race([answer, isLate]).then((outcome) => {
      clearTimeout(late)
      this.#circuit.leave(outcome)
      return outcome
    })
    const running = { onTime, controller }
    this.#running.set(question, running)
    // A model that ignores its signal must not fill the places.
    const end = () => {
      clearTimeout(giveUp)
      if (this.#running.get(question) === running) this.#running.delete(question)
    }
    controller.signal.addEventListener('abort', end, { once: true })
    void answer.then(end)
    return onTime
  }

  /** Never throws. */
  async #run(question: string, signal: AbortSignal): Promise<Outcome> {
    try {
      const vector = await this.#embed(question, signal)
      if (vector === undefined) return { state: 'refused' }
      if (!this.#isClosed) this.#known.set(question, vector)
      return { state: 'embedded', vector }
    } catch (error) {
      if (error instanceof UnsentError) return { state: 'skipped' }
      if (!(error instanceof EmbeddingError)) this.#options.log.error({ err: error }, 'a question was not embedded')
      return { state: 'failed', reason: error instanceof EmbeddingError ? error.message : 'The model failed.' }
    }
  }
}

/** Stops questions while they fail. */
class Circuit {
  readonly #options: QuestionOptions
  readonly #faults: FaultLog
  #failures = 0
  /** When the next question is tried. Undefined: the circuit is closed. */
  #nextMs: number | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: QuestionOptions) {
    this.#options = options
    this.#faults = new FaultLog(
      options,
      'questions failed in a row; the model is not asked, and searches use words only',
    )
  }

  /** Returns false if the question must not be sent. While the circuit is open, one question tries every 30 s. */
  enter(): boolean {
    if (this.#nextMs === undefined) return true
    const nowMs = this.#options.now().getTime()
    const left = this.#nextMs - nowMs
    // A clock that was set back must not keep it open.
    if (left > 0 && left <= openMs) return false
    this.#open(nowMs)
    return true
  }

  leave({ state, reason = 'The model failed.' }: Outcome): void {
    if (state === 'skipped') return
    if (state === 'embedded' || state === 'refused') {
      this.#failures = 0
      this.#nextMs = undefined
      this.#faults.succeed()
      this.#show(0)
      return
    }
    this.#failures += 1
    if (this.#failures < mostFailures) return
    // While it stays open, the trials add no lines.
    if (this.#failures === mostFailures) this.#faults.report('warn', { key: state, reason, waitMs: openMs })
    this.#open(this.#options.now().getTime())
  }

  #open(nowMs: number): void {
    this.#nextMs = nowMs + openMs
    this.#show(1)
    this.#timer = setTimeout(() => this.#show(0), openMs).unref()
  }

  #show(value: 0 | 1): void {
    clearTimeout(this.#timer)
    this.#options.metrics.embeddingsCircuitOpen.set(value)
  }
}

/** The first characters of a text, without half of a character at the end. */
function cut(text: string, units: number): string {
  if (text.length <= units) return text
  const last = text.charCodeAt(units - 1)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, isHalf ? units - 1 : units)
}

/** Settles as the promise does, or as skipped if the caller gives up first. */
function unlessAborted(promise: Promise<Outcome>, signal: AbortSignal | undefined): Promise<Outcome> {
  if (signal === undefined) return promise
  return new Promise((resolve) => {
    const stop = () => resolve({ state: 'skipped' })
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    void promise.then((outcome) => {
      signal.removeEventListener('abort', stop)
      resolve(outcome)
    })
  })
}
