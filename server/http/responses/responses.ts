/** Handler results that are more than a plain JSON body. */

import { promisify } from 'node:util'
import { gunzip, gunzipSync } from 'node:zlib'
import type { ArchiveContent } from '../../domain/archive.ts'
import { ImmutableAnswer } from '../../domain/branches/immutable-answers.ts'
import type { RawFile } from '../../domain/branches/raw-files.ts'
import type { EventStream, StreamOptions } from '../../domain/events/stream.ts'
import type { NodeTable } from '../../domain/search/node-tables.ts'

export type Headers = Readonly<Record<string, string>>

/** Headers of responses that contain tokens. */
const noStore: Headers = { 'Cache-Control': 'no-store' }

/** A JSON body with additional headers. */
export class WithHeaders<Body> {
  readonly body: Body
  readonly headers: Headers

  constructor(body: Body, headers: Headers) {
    this.body = body
    this.headers = headers
  }
}

/** A body that is not JSON. */
export class Bytes {
  readonly content: Buffer
  readonly headers: Headers

  constructor(content: Buffer, headers: Headers) {
    this.content = content
    this.headers = headers
  }
}

/** A file that is streamed, whole or a range of it. */
export class Download {
  readonly file: RawFile

  constructor(file: RawFile) {
    this.file = file
  }
}

/** Files that are streamed as a tar or a ZIP. */
export class Archive {
  readonly content: ArchiveContent
  readonly format: 'tar' | 'zip'

  constructor(content: ArchiveContent, format: 'tar' | 'zip') {
    this.content = content
    this.format = format
  }
}

/** Nodes that are streamed as CSV. */
export class CsvTable {
  readonly table: NodeTable

  constructor(table: NodeTable) {
    this.table = table
  }
}

/** Events that are sent as they happen. */
export class Followed {
  readonly open: (options: StreamOptions) => Promise<EventStream>

  constructor(open: (options: StreamOptions) => Promise<EventStream>) {
    this.open = open
  }
}

export interface GzippedBody {
  /** The version of the JSON in `gzip`. */
  readonly version: string
  readonly gzip: Uint8Array
  /** Bytes of the JSON. */
  readonly length: number
}

/** A JSON body that is stored gzipped. It is read only if the caller does not have this version. */
export class Gzipped<Body> {
  /** Never set: the type of the JSON, for the compiler to compare with the spec. */
  declare readonly body?: Body
  readonly version: string
  readonly read: () => Promise<GzippedBody>
  /** True if anyone may read it. Then shared caches may store it. */
  readonly isPublic: boolean

  constructor(version: string, read: () => Promise<GzippedBody>, { isPublic }: { readonly isPublic: boolean }) {
    this.version = version
    this.read = read
    this.isPublic = isPublic
  }
}

/** A response to a creation. @param location relative to the service's URL */
function created<Body>(location: string, body: Body): WithHeaders<Body> {
  return withHeaders(body, { Location: location })
}

export function withHeaders<Body>(body: Body, headers: Headers): WithHeaders<Body> {
  return new WithHeaders(body, headers)
}

export function bytes(content: Buffer, contentType: string, headers: Headers = {}): Bytes {
  return new Bytes(content, { ...headers, 'Content-Type': contentType })
}

/** A patch. It contains the bytes of files unchanged, also those that are not UTF-8. */
export function patch(content: Buffer): Bytes {
  return bytes(content, 'text/x-diff; charset=utf-8')
}

/** Bytes up to which this thread decompresses. The way to another thread takes longer. */
const inThreadUpTo = 131_072

/** The result of a handler without its HTTP parts: an object or bytes. */
export async function plainAnswer(answer: unknown): Promise<unknown> {
  if (answer instanceof WithHeaders) return answer.body
  if (answer instanceof ImmutableAnswer) return answer.body
  if (answer instanceof Bytes) return answer.content
  if (answer instanceof Gzipped) {
    const { gzip, length } = await answer.read()
    const json = length < inThreadUpTo ? gunzipSync(gzip) : await promisify(gunzip)(gzip)
    return JSON.parse(json.toString('utf8'))
  }
  if ([Download, Archive, CsvTable, Followed].some((streamed) => answer instanceof streamed))
    throw new Error('A streamed response has no plain result')
  return answer
}

/** A use case that answers a request. */
type UseCase<C, I, A> = (ctx: C, input: I) => Promise<A>

/**
 * Answers a creation with its URL.
 *
 * @param location a path of the spec. Its names are those of the operation's path, or of the answer, such as `{pr.number}`
 */
export function createdAt<C, I, A extends object>(
  location: string,
  use: UseCase<C, I, A>,
): UseCase<C, I, WithHeaders<A>> {
  return async (ctx, input) => {
    const body = await use(ctx, input)
    const values = { ...body, ...(input as { readonly path?: object }).path } // each input is an operation's
    return created(filled(location, values), body)
  }
}

function filled(location: string, values: object): string {
  return location.replace(/\{([\w.]+)\}/g, (_, name: string) => {
    const value = name.split('.').reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], values)
    if (value === undefined) throw new Error(`The answer has no ${name} for its URL`)
    return encodeURIComponent(String(value))
  })
}

/** Answers with a secret, which is never cached. */
export function withSecret<C, I, A>(use: UseCase<C, I, A | WithHeaders<A>>): UseCase<C, I, WithHeaders<A>> {
  return async (ctx, input) => {
    const answer = await use(ctx, input)
    return answer instanceof WithHeaders
      ? withHeaders(answer.body, { ...noStore, ...answer.headers })
      : withHeaders(answer, noStore)
  }
}
