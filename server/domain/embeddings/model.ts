/** Models of embeddings, as the search and the background work use them. */

/** Turns texts into vectors. */
export interface EmbeddingModel {
  /**
   * Hex of 16 bytes of SHA-256 over name, dimensions asked for and prefixes. Vectors of different ids never meet.
   */
  readonly id: string
  /** The name that answers show. */
  readonly name: string
  /** Languages of questions that it understands, as `languageOf` names them; undefined: all. */
  readonly languages: readonly string[] | undefined
  /** True if texts leave this machine (an endpoint that is not loopback). */
  readonly leavesMachine: boolean
  /**
   * Embeds passages, in their order. An undefined vector: the model refuses this text for good.
   *
   * @throws EmbeddingError
   */
  embedTexts(texts: readonly string[], signal: AbortSignal): Promise<readonly (Int8Array | undefined)[]>
  /**
   * Embeds a question. Undefined: unavailable now (late, circuit open, over budget, refused). Never throws for faults of
   * the model.
   */
  embedQuestion(text: string, signal?: AbortSignal): Promise<Int8Array | undefined>
  /**
   * Takes vectors of no other dimensions than those that were stored, which may change. Absent: the model always answers
   * with the same.
   */
  expectDimensions?(stored: StoredDimensions): void
  close(): Promise<void>
}

/** Reads the dimensions of the stored vectors of a model. Undefined: none was stored yet. */
export type StoredDimensions = () => Promise<number | undefined>

/** The texts cannot be embedded now. `retryAfterMs` says when to try again. */
export class EmbeddingError extends Error {
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs: number) {
    super(message)
    this.name = 'EmbeddingError'
    this.retryAfterMs = retryAfterMs
  }
}
