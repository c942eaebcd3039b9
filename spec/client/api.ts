/** Types for the operations of the spec as functions. The client calls them with `fetch`, the service in process. */
import type { operations as places, streams } from './operations.ts'
import type { components, operations } from './types.ts'

/** The schemas of the spec by name, for example `Schemas['NodeDetails']`. */
export type Schemas = components['schemas']

export type OperationId = keyof typeof places

/** A function for each operation, for example `api.getNode({ path: { org_id, node_id } })`. */
export type Api = { readonly [K in OperationId]: (...input: Arguments<K>) => Promise<Output<K>> }

/** The arguments of a function of `Api`. The input may be omitted if all its fields are optional. */
export type Arguments<K extends OperationId> =
  Record<never, never> extends Input<K> ? [input?: Input<K>] : [input: Input<K>]

/** The input of an operation. Omits empty groups of parameters. Fields with a default or null are optional. */
export type Input<K extends OperationId> = PathOf<K> & QueryOf<K> & BodyOf<K> & CallOptions

export interface CallOptions {
  /** Headers of the request, such as `If-None-Match`. In-process callers have none. */
  readonly headers?: Readonly<Record<string, string>>
  /** Aborts the call with the signal's reason. */
  readonly signal?: AbortSignal
  /** The timeout of one attempt; default: the client's. In-process callers have none. */
  readonly timeoutMs?: number
}

/**
 * The result of an operation: parsed JSON, a string, or undefined after a 204. `getMetrics` returns a string. For
 * bytes, as for `getRaw`, it is a Response whose body has not been read, because its length may be unlimited. Use
 * `getPatch` for the patch of a diff that is also available as JSON.
 */
export type Output<K extends OperationId> = K extends (typeof streams)[number]
  ? Response
  : [Content<K>] extends [never]
    ? undefined
    : Content<K> extends { readonly 'application/json': infer J }
      ? J
      : string

/** The operations that return a page of a list. */
export type ListId = {
  [K in OperationId]: Output<K> extends { readonly total: number; readonly limit: number; readonly offset: number }
    ? K
    : never
}[OperationId]

/** The type of a list's items. The response has exactly one array. */
export type ItemOf<K extends ListId> = {
  [P in keyof Output<K>]-?: Output<K>[P] extends readonly (infer E)[] ? E : never
}[keyof Output<K>]

type PathOf<K extends OperationId> = operations[K]['parameters'] extends { readonly path: infer P }
  ? { readonly path: P }
  : { readonly path?: Record<never, never> }

type QueryOf<K extends OperationId> = operations[K]['parameters'] extends { readonly query: infer Q }
  ? { readonly query: Q }
  : operations[K]['parameters'] extends { readonly query?: infer Q }
    ? { readonly query?: [NonNullable<Q>] extends [never] ? Record<never, never> : NonNullable<Q> }
    : { readonly query?: Record<never, never> }

type BodyOf<K extends OperationId> = operations[K] extends {
  readonly requestBody: { readonly content: { readonly 'application/json': infer J } }
}
  ? { readonly body: J }
  : operations[K] extends { readonly requestBody?: { readonly content: { readonly 'application/json': infer J } } }
    ? { readonly body?: J }
    : operations[K] extends { readonly requestBody: { readonly content: { readonly 'application/zip': string } } }
      ? { readonly body: Upload }
      : { readonly body?: Record<never, never> }

/** The bytes of a body that is not JSON, at once or as a stream. */
type Upload = Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

type Content<K extends OperationId> = operations[K]['responses'] extends { readonly 200: { readonly content: infer C } }
  ? C
  : operations[K]['responses'] extends { readonly 201: { readonly content: infer C } }
    ? C
    : operations[K]['responses'] extends { readonly 202: { readonly content: infer C } }
      ? C
      : never
