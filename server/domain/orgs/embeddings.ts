/** The owners' choice for search by meaning. */

import { findOrgRow } from '../../../index/derived/org-queries.ts'
import type { Deps } from '../../base/deps.ts'
import { embeddingsChoice, type OrgRecord } from '../format/org-format.ts'
import type { OrgAt } from '../targets.ts'

/** Returns the organisation with the choice. Null removes it; undefined changes nothing. */
export function withEmbeddings(org: OrgRecord['org'], choice: boolean | null | undefined): OrgRecord['org'] {
  if (choice === undefined) return org
  if (choice !== null) return { ...org, embeddings: choice }
  const { embeddings: _, ...rest } = org
  return rest
}

/** Erases the vectors of an organisation that does not allow them. @throws errors of `erase` */
export async function eraseRefused({ index, embeddings }: Deps, { orgId }: OrgAt): Promise<void> {
  const row = embeddings && (await findOrgRow(index.read, orgId))
  if (row && !embeddings.allows({ id: orgId, embeddings: embeddingsChoice(row) })) await embeddings.erase(orgId)
}
