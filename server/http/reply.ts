/** What a handler answers when a plain body is not enough. */

export type Headers = Readonly<Record<string, string>>

/** A JSON body and headers of its own. */
export class Reply<Body> {
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

/** `location` is relative to this service. */
export function created<Body>(location: string, body: Body): Reply<Body> {
  return reply(body, { Location: location })
}

export function reply<Body>(body: Body, headers: Headers): Reply<Body> {
  return new Reply(body, headers)
}

export function bytes(content: Buffer, contentType: string, headers: Headers = {}): Bytes {
  return new Bytes(content, { ...headers, 'Content-Type': contentType })
}
