/** The owners' choice for search by meaning. */

import { findOrgRow } from '../../../index/derived/org-queries.ts'
import { eraseOrgVectors } from '../embeddings/erasure.ts'
import { embeddingsChoice } from '../format/org-format.ts'
import type { Services } from '../services.ts'
import type { OrgAt } from '../targets.ts'

/** Erases the vectors of an organisation that does not allow them. @throws errors of eraseOrgVectors */
export async function eraseRefused(deps: Services, { org_id: orgId }: OrgAt): Promise<void> {
  const row = await findOrgRow(deps.index.read, orgId)
  if (row === undefined) return
  const choice = embeddingsChoice(row)
  const isAllowed = deps.embeddings?.allows({ id: orgId, embeddings: choice }) ?? choice !== false
  if (!isAllowed) await eraseOrgVectors(deps, orgId)
}
