/**
 * An MCP transport over lines of standard input and output.
 *
 * It checks each message before the library gets it, and waits for all answers after the end of input.
 */

import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from './sdk.ts'

/** Largest message in bytes, as over HTTP. */
const lineBytes = 1024 * 1024
/** Milliseconds for outstanding answers after the end of input. */
const answersMs = 30_000

/** Error codes of JSON-RPC. */
const parseError = -32_700
const invalidRequest = -32_600
const internalError = -32_603

const utf8 = new TextDecoder('utf-8', { fatal: true })
const newline = '\n'.charCodeAt(0)

export class Lines implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void

  /** Resolves when input has ended and all requests are answered. Also when standard output is closed. */
  readonly ended: Promise<void>

  #end: () => void = () => {}
  /** Parts of the current line; undefined while the rest of a long line is skipped. */
  #parts: Buffer[] | undefined = []
  #bytes = 0
  #line = 0
  /** Ids of requests without an answer. */
  readonly #asked: unknown[] = []
  #isOver = false

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  async start(): Promise<void> {
    process.stdin.on('data', this.#take).once('end', this.#finish).once('error', this.#finish)
    // The client has gone.
    process.stdout.on('error', this.#end)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#write(message)
    if (!('method' in message) && message.id !== undefined) this.#settle(message.id)
  }

  async close(): Promise<void> {
    process.stdin.off('data', this.#take).pause()
    this.#end()
    this.onclose?.()
  }

  readonly #take = (chunk: Buffer): void => {
    for (let from = 0; from < chunk.length; ) {
      const at = chunk.indexOf(newline, from)
      const to = at < 0 ? chunk.length : at
      this.#append(chunk.subarray(from, to))
      if (at >= 0) this.#endLine()
      from = to + 1
    }
  }

  #append(part: Buffer): void {
    this.#bytes += part.length
    if (this.#bytes <= lineBytes) this.#parts?.push(part)
    else if (this.#parts !== undefined) {
      this.#parts = undefined
      this.#refuse(invalidRequest, 'The message is longer than 1 MiB')
    }
  }

  #endLine(): void {
    const line = this.#parts && Buffer.concat(this.#parts)
    this.#parts = []
    this.#bytes = 0
    if (line !== undefined) this.#judge(line)
    this.#line++
  }

  #judge(line: Buffer): void {
    let value: unknown
    try {
      const text = utf8.decode(line)
      if (text.trim() === '') return
      value = JSON.parse(text)
    } catch {
      this.#refuse(parseError, 'The message is not JSON in UTF-8')
      return
    }
    let message: JSONRPCMessage
    try {
      message = parseJSONRPCMessage(value)
    } catch {
      const reason = Array.isArray(value) ? 'Send one message per line' : 'The message is not valid JSON-RPC 2.0'
      this.#refuse(invalidRequest, reason, idOf(value))
      return
    }
    // A subscription is acknowledged at once, and answered by its end.
    if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') this.#asked.push(message.id)
    this.onmessage?.(message)
    // A cancelled request gets no answer.
    if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled')
      this.#settle(message.params?.requestId)
  }

  #refuse(code: number, reason: string, id: RequestId | null = null): void {
    this.onerror?.(new Error(`line ${this.#line + 1}: ${reason}`))
    void this.#write({ jsonrpc: '2.0', id, error: { code, message: reason } })
  }

  #settle(id: unknown): void {
    const at = this.#asked.indexOf(id)
    if (at >= 0) this.#asked.splice(at, 1)
    if (this.#isOver && this.#asked.length === 0) this.#end()
  }

  readonly #finish = (): void => {
    if (this.#isOver) return
    this.#endLine()
    this.#isOver = true
    if (this.#asked.length === 0) {
      this.#end()
      return
    }
    const late = setTimeout(() => void this.#giveUp(), answersMs)
    void this.ended.then(() => clearTimeout(late))
  }

  async #giveUp(): Promise<void> {
    const message = `No answer came within ${answersMs / 1_000} seconds of the end of input`
    for (const id of this.#asked.splice(0))
      await this.#write({ jsonrpc: '2.0', id, error: { code: internalError, message } })
    this.#end()
  }

  /** Resolves when the message is written, or standard output is closed. */
  #write(message: object): Promise<void> {
    return new Promise((resolve) => process.stdout.write(`${JSON.stringify(message)}\n`, () => resolve()))
  }
}

/** Returns the id of an invalid message, or null if it has no usable one. */
function idOf(value: unknown): RequestId | null {
  const { id } = Object(value) as { readonly id?: unknown } // Object() accepts any value
  return typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id)) ? id : null
}
