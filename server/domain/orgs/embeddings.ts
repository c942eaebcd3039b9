/** The owners' choice for search by meaning. */

import { findOrgRow } from '../../../index/derived/org-queries.ts'
import { eraseOrgVectors } from '../embeddings/erasure.ts'
import { embeddingsChoice, type OrgRecord } from '../format/org-format.ts'
import type { Services } from '../services.ts'
import type { OrgAt } from '../targets.ts'

/** Returns the organisation with the choice. Null removes it; undefined changes nothing. */
export function withEmbeddings(org: OrgRecord['org'], choice: boolean | null | undefined): OrgRecord['org'] {
  if (choice === undefined) return org
  if (choice !== null) return { ...org, embeddings: choice }
  const { embeddings: _, ...rest } = org
  return rest
}

/** Erases the vectors of an organisation that does not allow them. @throws errors of eraseOrgVectors */
export async function eraseRefused(deps: Services, { org_id: orgId }: OrgAt): Promise<void> {
  const row = await findOrgRow(deps.index.read, orgId)
  if (row === undefined) return
  const choice = embeddingsChoice(row)
  const isAllowed = deps.embeddings?.allows({ id: orgId, embeddings: choice }) ?? choice !== false
  if (!isAllowed) await eraseOrgVectors(deps, orgId)
}
