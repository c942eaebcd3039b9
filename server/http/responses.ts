/** What a handler answers when a plain body is not enough. */

export type Headers = Readonly<Record<string, string>>

/** A JSON body and headers of its own. */
export class WithHeaders<Body> {
  readonly body: Body
  readonly headers: Headers

  constructor(body: Body, headers: Headers) {
    this.body = body
    this.headers = headers
  }
}

/** Anything but JSON. */
export class Bytes {
  readonly content: Buffer
  readonly headers: Headers

  constructor(content: Buffer, headers: Headers) {
    this.content = content
    this.headers = headers
  }
}

export interface GzippedBody {
  /** Of the JSON that `gzip` holds. */
  readonly version: string
  readonly gzip: Uint8Array
  /** Bytes of the JSON. */
  readonly length: number
}

/** A JSON body, public and kept compressed, that is read only for a caller who does not have this version of it. */
export class Gzipped<Body> {
  /** Nothing is ever here: it says what the JSON is, for the compiler to compare with the spec. */
  declare readonly body?: Body
  readonly version: string
  readonly read: () => Promise<GzippedBody>

  constructor(version: string, read: () => Promise<GzippedBody>) {
    this.version = version
    this.read = read
  }
}

/** `location` is relative to this service. */
export function created<Body>(location: string, body: Body): WithHeaders<Body> {
  return withHeaders(body, { Location: location })
}

export function withHeaders<Body>(body: Body, headers: Headers): WithHeaders<Body> {
  return new WithHeaders(body, headers)
}

export function bytes(content: Buffer, contentType: string, headers: Headers = {}): Bytes {
  return new Bytes(content, { ...headers, 'Content-Type': contentType })
}
