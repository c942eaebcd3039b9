/** Vectors of texts: the model that makes them, and the database that keeps them. */
import type { Database } from '../../../index/sqlite/database.ts'
import type { VectorsSchema } from '../../../index/vectors/schema.ts'
import type { EmbeddingModel } from './model.ts'

/** What a service with a model has. */
export interface Embeddings {
  readonly model: EmbeddingModel
  readonly vectors: Database<VectorsSchema>
  /**
   * True if texts of the organisation may be embedded. It must follow the organisation's settings at once: erasing
   * relies on it.
   */
  isAllowed(orgId: string): Promise<boolean>
}
