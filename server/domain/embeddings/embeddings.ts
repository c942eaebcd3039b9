/** Search by meaning: the model, its vectors, and the organisations that it serves. */
import { findOrgRow } from '../../../index/derived/org-queries.ts'
import type { Database } from '../../../index/sqlite/database.ts'
import type { VectorsSchema } from '../../../index/vectors/schema.ts'
import type { Deps } from '../../base/deps.ts'
import { embeddingsChoice } from '../format/org-format.ts'
import type { EmbeddingModel } from './model.ts'

/** An organisation with the choice of its owners. Null: they have not chosen. */
interface ChoosingOrg {
  readonly id: string
  readonly embeddings: boolean | null
}

/** What a service with a model has. */
export interface Embeddings {
  readonly model: EmbeddingModel
  readonly vectors: Database<VectorsSchema>
  /** True if questions of strangers to a published organisation may go to the model. */
  readonly servesStrangers: boolean
  /** True if texts and questions of the organisation may be given to the model. */
  allows(org: ChoosingOrg): boolean
  /**
   * True if texts of the organisation may be embedded. It follows the organisation's settings at once: erasing relies
   * on it. @throws DatabaseError
   */
  isAllowed(orgId: string): Promise<boolean>
}

interface Parts extends Pick<Deps, 'config' | 'index'> {
  readonly model: EmbeddingModel
  readonly vectors: Database<VectorsSchema>
}

export function createEmbeddings({ config, index, model, vectors }: Parts): Embeddings {
  const { orgs = 'asked', isPublic = false } = config.embeddings ?? {}
  const allows = ({ id, embeddings }: ChoosingOrg) => {
    if (orgs === 'asked') return embeddings === true
    return embeddings !== false && (orgs === 'all' || orgs.includes(id))
  }
  return {
    model,
    vectors,
    servesStrangers: isPublic || !model.leavesMachine,
    allows,
    isAllowed: async (orgId) => {
      const row = await findOrgRow(index.read, orgId)
      return row !== undefined && allows({ id: orgId, embeddings: embeddingsChoice(row) })
    },
  }
}
