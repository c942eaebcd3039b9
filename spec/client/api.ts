/** The operations of the spec as functions: what each takes and answers. `fetch` answers them elsewhere, handlers in process. */
import type { operations as places, streams } from './operations.ts'
import type { components, operations } from './types.ts'

/** The shapes of the spec by their names, as `Schemas['NodeDetails']`. */
export type Schemas = components['schemas']

export type OperationId = keyof typeof places

/** A function for each operation: `api.getNode({ path: { org_id, node_id } })`. */
export type Api = { readonly [K in OperationId]: (...input: Arguments<K>) => Promise<Output<K>> }

/** Of `Api`: no argument is needed where everything in it may be left out. */
export type Arguments<K extends OperationId> =
  Record<never, never> extends Input<K> ? [input?: Input<K>] : [input: Input<K>]

/** Keys without anything in them are absent. What has a default, and what may be null, may be left out. */
export type Input<K extends OperationId> = PathOf<K> & QueryOf<K> & BodyOf<K> & CallOptions

export interface CallOptions {
  /** Of the request, as `If-None-Match`. A caller in process has none. */
  readonly headers?: Readonly<Record<string, string>>
  /** Ends the call with the signal's reason. */
  readonly signal?: AbortSignal
}

/**
 * JSON where the operation answers it; text, as of `getMetrics`; nothing after a 204. What is bytes, as of `getRaw`, is a
 * Response whose body has not been read: its length may have no bound. A patch for what is JSON too is `getPatch`.
 */
export type Output<K extends OperationId> = K extends (typeof streams)[number]
  ? Response
  : [Content<K>] extends [never]
    ? undefined
    : Content<K> extends { readonly 'application/json': infer J }
      ? J
      : string

/** Lists by pages. */
export type ListId = {
  [K in OperationId]: Output<K> extends { readonly total: number; readonly limit: number; readonly offset: number }
    ? K
    : never
}[OperationId]

/** What a list lists: its answer has one array. */
export type ItemOf<K extends ListId> = {
  [P in keyof Output<K>]: Output<K>[P] extends readonly (infer E)[] ? E : never
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
    : { readonly body?: Record<never, never> }

type Content<K extends OperationId> = operations[K]['responses'] extends { readonly 200: { readonly content: infer C } }
  ? C
  : operations[K]['responses'] extends { readonly 201: { readonly content: infer C } }
    ? C
    : never
