/**
 * Calls into a worker thread: `WorkerClient` for the caller, `serveCalls` and `notify` for the worker.
 *
 * Requests and answers are messages with ids, so answers may come in any order. Errors lose their class between
 * threads. A DatabaseError is created again on the other side. Any other error becomes an Error with its stack as text.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, type TransferListItem, Worker } from 'node:worker_threads'
import { DatabaseError } from '../../index/sqlite/database-fault.ts'

/** The functions of a worker, by name. Inputs and answers are cloned. */
type Calls<C> = { readonly [Name in keyof C]: (input: never) => unknown }
type InputOf<C extends Calls<C>, Name extends keyof C> = Parameters<C[Name]>[0]
type AnswerOf<C extends Calls<C>, Name extends keyof C> = ReturnType<C[Name]>

interface Request<C extends Calls<C>> {
  readonly id: number
  readonly call: keyof C
  readonly input: InputOf<C, keyof C>
}

type ErrorMessage =
  | { readonly kind: 'fault'; readonly code: DatabaseError['code']; readonly message: string }
  /** With the stack. */
  | { readonly kind: 'error'; readonly message: string }

type FromWorker<Notice> =
  | {
      readonly kind: 'response'
      readonly id: number
      readonly outcome: { kind: 'answer'; answer: unknown } | ErrorMessage
    }
  | { readonly kind: 'notice'; readonly notice: Notice }

export interface WorkerOptions<Notice> {
  /** Names the thread in error messages, as in "The search thread ended". */
  readonly name: string
  readonly bundle: URL
  /** The worker's `workerData`. */
  readonly data?: unknown
  /** Begins the message of an error that is not a DatabaseError. */
  readonly failure: string
  /** Milliseconds for one request. Then the thread is ended with all its requests. Default: no limit. */
  readonly timeoutMs?: number
  /** Milliseconds without a request after which the thread ends. Default: never. */
  readonly idleMs?: number
  /**
   * If the thread dies, its requests are sent to a new thread, once. The new thread starts after a pause that doubles
   * with each death in a row. Default: the requests fail, and the next one starts a thread.
   */
  readonly restartPausesMs?: { readonly shortest: number; readonly longest: number }
  /** The error of a request that lost its thread. Default: an Error with the reason. */
  readonly lost?: (reason: string) => Error
  readonly noticed?: (notice: Notice) => void
  /** Called when the thread has ended. @param cause undefined if the client ended it, idle or closed */
  readonly ended?: (cause: Error | undefined) => void
}

interface Waiting<C extends Calls<C>> {
  readonly request: Request<C>
  /** How many threads died with this request. */
  deaths: number
  overdue?: NodeJS.Timeout
  resolve(answer: unknown): void
  reject(error: unknown): void
}

/** A client of one thread. The first request starts it. It keeps the process alive only while a request waits. */
export class WorkerClient<C extends Calls<C>, Notice = never> {
  readonly #options: WorkerOptions<Notice>
  readonly #waiting = new Map<number, Waiting<C>>()
  #worker: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #lastId = 0
  #deathsInARow = 0
  #isPausing = false
  #isClosed = false

  constructor(options: WorkerOptions<Notice>) {
    this.#options = options
  }

  /**
   * Returns the worker's answer. An abort gives up the answer, not the work.
   *
   * @throws DatabaseError of the worker
   * @throws Error if the call threw another error
   * @throws the error of `lost` if the thread ended, the request took too long, or the client is closed
   * @throws the signal's reason
   */
  async ask<Name extends keyof C>(
    call: Name,
    input: InputOf<C, Name>,
    signal?: AbortSignal,
  ): Promise<AnswerOf<C, Name>> {
    signal?.throwIfAborted()
    if (this.#isClosed) throw this.#lost('is closed')
    clearTimeout(this.#idle)
    const id = ++this.#lastId
    const giveUp = () => this.#settle(id, ({ reject }) => reject(signal?.reason))
    signal?.addEventListener('abort', giveUp)
    try {
      const answer = await new Promise<unknown>((resolve, reject) => {
        const waiting = { request: { id, call, input }, deaths: 0, resolve, reject }
        this.#waiting.set(id, waiting)
        if (this.#worker === undefined && this.#pauseMs() > 0) this.#sendAllSoon()
        else this.#send(waiting)
      })
      return answer as AnswerOf<C, Name> // the worker's function with this name returned it
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  /** True if the thread was started, and has not ended. */
  get isRunning(): boolean {
    return this.#worker !== undefined
  }

  /** Refuses waiting and later requests, and ends the thread. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const id of [...this.#waiting.keys()]) this.#settle(id, ({ reject }) => reject(this.#lost('is closed')))
    await this.#end()
  }

  #send(waiting: Waiting<C>): void {
    const { timeoutMs } = this.#options
    try {
      this.#worker ??= this.#start()
      const worker = this.#worker
      worker.ref()
      clearTimeout(waiting.overdue)
      if (timeoutMs !== undefined) waiting.overdue = setTimeout(() => void worker.terminate(), timeoutMs)
      worker.postMessage(waiting.request)
    } catch (error) {
      this.#settle(waiting.request.id, ({ reject }) => reject(error))
    }
  }

  #start(): Worker {
    const { name, bundle, data, ended } = this.#options
    // Not this process's options, because the bundle needs no loader.
    const worker = new Worker(bundle, { execArgv: [], workerData: data })
    let cause = new Error(`${name} ended`)
    worker.on('message', (message: FromWorker<Notice>) => this.#receive(message))
    worker.on('error', (error: Error) => {
      cause = error
    })
    worker.on('exit', (code) => {
      const hasDied = this.#worker === worker
      if (hasDied) this.#worker = undefined
      ended?.(hasDied ? cause : undefined)
      if (hasDied) this.#recover(code)
    })
    return worker
  }

  #receive(message: FromWorker<Notice>): void {
    if (message.kind === 'notice') {
      this.#options.noticed?.(message.notice)
      return
    }
    this.#deathsInARow = 0
    const { id, outcome } = message
    this.#settle(id, ({ resolve, reject }) => {
      if (outcome.kind === 'answer') resolve(outcome.answer)
      else if (outcome.kind === 'fault') reject(new DatabaseError(outcome.code, outcome.message))
      else reject(new Error(`${this.#options.failure}: ${outcome.message}`))
    })
  }

  #recover(code: number): void {
    clearTimeout(this.#idle)
    this.#deathsInARow++
    const maxDeaths = this.#options.restartPausesMs === undefined ? 0 : 1
    for (const [id, waiting] of [...this.#waiting]) {
      clearTimeout(waiting.overdue)
      if (++waiting.deaths > maxDeaths) this.#settle(id, ({ reject }) => reject(this.#lost(`ended with code ${code}`)))
    }
    if (this.#waiting.size > 0) this.#sendAllSoon()
  }

  #pauseMs(): number {
    const pauses = this.#options.restartPausesMs
    if (pauses === undefined || this.#deathsInARow === 0) return 0
    return Math.min(pauses.shortest * 2 ** (this.#deathsInARow - 1), pauses.longest)
  }

  #sendAllSoon(): void {
    if (this.#isPausing) return
    this.#isPausing = true
    void sleep(this.#pauseMs()).then(() => {
      this.#isPausing = false
      for (const waiting of [...this.#waiting.values()]) this.#send(waiting)
    })
  }

  #settle(id: number, how: (waiting: Waiting<C>) => void): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    clearTimeout(waiting.overdue)
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#rest()
    how(waiting)
  }

  #rest(): void {
    const { idleMs } = this.#options
    this.#worker?.unref()
    clearTimeout(this.#idle)
    if (this.#worker && idleMs !== undefined) this.#idle = setTimeout(() => void this.#end(), idleMs).unref()
  }

  /** Ends the thread. A request that comes before it has ended starts another one. */
  async #end(): Promise<void> {
    clearTimeout(this.#idle)
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #lost(reason: string): Error {
    const { name, lost = (message) => new Error(message) } = this.#options
    return lost(`${name} ${reason}`)
  }
}

/** Returns the URL of a worker's bundle in dist/. A run from source uses the same file. @param path within dist/ */
export function workerBundle(path: string): URL {
  return new URL(import.meta.url.endsWith('.ts') ? `../../dist/${path}` : `./${path}`, import.meta.url)
}

export type Handlers<C extends Calls<C>> = {
  readonly [Name in keyof C]: (input: InputOf<C, Name>) => Promise<AnswerOf<C, Name>>
}

/** Answers the client's requests, in the worker. @param transferOf lists the parts of an answer to move, not copy */
export function serveCalls<C extends Calls<C>>(
  handlers: Handlers<C>,
  transferOf: (answer: AnswerOf<C, keyof C>) => readonly TransferListItem[] = () => [],
): void {
  const respond = async ({ id, call, input }: Request<C>) => {
    const outcome = await handlers[call](input).then((answer) => ({ kind: 'answer', answer }) as const, toMessage)
    const transfer = outcome.kind === 'answer' ? transferOf(outcome.answer) : []
    post({ kind: 'response', id, outcome }, transfer)
  }
  parentPort?.on('message', (request: Request<C>) => void respond(request))
}

/** Sends the client a notice, in the worker. */
export function notify<Notice>(notice: Notice): void {
  post({ kind: 'notice', notice })
}

function post<Notice>(message: FromWorker<Notice>, transfer: readonly TransferListItem[] = []): void {
  parentPort?.postMessage(message, transfer)
}

function toMessage(error: unknown): ErrorMessage {
  if (error instanceof DatabaseError) return { kind: 'fault', code: error.code, message: error.message }
  return { kind: 'error', message: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}
