/** Search by meaning: the model, its vectors, and the organisations that it serves. */
import type { Database } from '../../../index/sqlite/database.ts'
import type { VectorsSchema } from '../../../index/vectors/schema.ts'
import type { EmbeddingModel } from './model.ts'

/** An organisation with the choice of its owners. Null: they have not chosen. */
export interface ChoosingOrg {
  readonly id: string
  readonly embeddings: boolean | null
}

/** The parts of a service that has a model. */
export interface Embeddings {
  readonly model: EmbeddingModel
  readonly vectors: Database<VectorsSchema>
  /** True if questions of strangers to a published organisation may go to the model. */
  readonly servesStrangers: boolean
  /** True if texts and questions of the organisation may be given to the model. */
  allows(org: ChoosingOrg): boolean
  /** True if texts of the organisation may be embedded. Follows its settings at once, because erasing relies on it. */
  isAllowed(orgId: string): Promise<boolean>
}
