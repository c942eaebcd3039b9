/** Reads the answer of a host, and no more of it than its limits allow. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { FetchError } from './fetch-error.ts'

export interface Limits {
  /** Bytes of the body to return. */
  readonly keptBytes: number
  /** Bytes of the body to read, at least `keptBytes`. Then the connection is closed. */
  readonly readBytes: number
  /** A body longer than `keptBytes` is cut, or refused as `too_large`. */
  readonly excess: 'cut' | 'refuse'
}

export interface Exchanged {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The first `keptBytes`, as they were sent. */
  readonly body: Buffer
  /** True if the body has more bytes than are returned. */
  readonly isTruncated: boolean
}

interface Outcome {
  done(answer: Exchanged): void
  failed(error: FetchError): void
}

/** Bytes on the connection for each byte of the body. The smallest chunks of HTTP take six. */
const framing = 8

/** Bytes on the connection for heads and trailers. It bounds hosts that send interim answers without end. */
const headBytes = 65_536

/** Calls one function of `outcome` at the end. It may call one again, which has to be ignored. */
export class AnswerReader {
  private response: IncomingMessage | undefined
  private readonly parts: Buffer[] = []
  private readBytes = 0
  private wireBytes = 0
  private readonly host: string
  private readonly limits: Limits
  private readonly outcome: Outcome

  constructor(host: string, limits: Limits, outcome: Outcome) {
    this.host = host
    this.limits = limits
    this.outcome = outcome
  }

  /** The status, once the head of the answer is complete. */
  get status(): number | undefined {
    return this.response?.statusCode
  }

  /** Counts bytes of the connection. */
  received(bytes: number): void {
    this.wireBytes += bytes
    if (this.wireBytes <= framing * this.limits.readBytes + headBytes) return
    if (this.response === undefined) this.fail('too_large', 'sent too many bytes before its answer.')
    else this.exceed(true)
  }

  read(response: IncomingMessage): void {
    this.response = response
    response.on('data', (part: Buffer) => this.take(part))
    response.on('end', () => this.finish(this.readBytes > this.limits.keptBytes))
    response.on('error', () => this.breakOff())
    response.on('close', () => this.breakOff())
  }

  private take(part: Buffer): void {
    const { keptBytes, readBytes, excess } = this.limits
    if (this.readBytes < keptBytes) this.parts.push(part.subarray(0, keptBytes - this.readBytes))
    this.readBytes += part.length
    const isLonger = this.readBytes > keptBytes
    if (this.readBytes > readBytes || (isLonger && excess === 'refuse')) this.exceed(isLonger)
  }

  private exceed(isTruncated: boolean): void {
    if (this.limits.excess === 'cut') this.finish(isTruncated)
    else this.fail('too_large', `sent more than the ${this.limits.keptBytes.toLocaleString('en')} bytes allowed.`)
  }

  private finish(isTruncated: boolean): void {
    const { statusCode: status, headers } = this.response ?? {}
    if (status === undefined || headers === undefined) return
    this.outcome.done({ status, headers, body: Buffer.concat(this.parts), isTruncated })
  }

  private breakOff(): void {
    if (this.response?.complete !== true) this.fail('connection', 'closed the connection within its answer.')
  }

  private fail(code: 'too_large' | 'connection', what: string): void {
    this.outcome.failed(new FetchError(code, `${this.host} ${what}`))
  }
}
