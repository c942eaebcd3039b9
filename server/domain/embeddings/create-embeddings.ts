/** Connects a model and its vectors with the choices of the operator and of owners. */
import { findOrgRow } from '../../../index/derived/org-queries.ts'
import type { Database } from '../../../index/sqlite/database.ts'
import { findDimensions } from '../../../index/vectors/progress.ts'
import type { VectorsSchema } from '../../../index/vectors/schema.ts'
import { embeddingsChoice, isClosed } from '../format/org-format.ts'
import type { Services } from '../services.ts'
import type { ChoosingOrg, Embeddings } from './embeddings.ts'
import type { EmbeddingModel } from './model.ts'

interface Parts extends Pick<Services, 'config' | 'index'> {
  readonly model: EmbeddingModel
  readonly vectors: Database<VectorsSchema>
}

export function createEmbeddings({ config, index, model, vectors }: Parts): Embeddings {
  const { orgs = 'asked', isPublic = false } = config.embeddings ?? {}
  const allows = ({ id, embeddings }: ChoosingOrg) => {
    if (orgs === 'asked') return embeddings === true
    return embeddings !== false && (orgs === 'all' || orgs.includes(id))
  }
  model.expectDimensions?.(() => findDimensions(vectors.read, model.id))
  return {
    model,
    vectors,
    servesStrangers: isPublic || !model.leavesMachine,
    allows,
    isAllowed: async (orgId) => {
      const row = await findOrgRow(index.read, orgId)
      return row !== undefined && !isClosed(row) && allows({ id: orgId, embeddings: embeddingsChoice(row) })
    },
  }
}
