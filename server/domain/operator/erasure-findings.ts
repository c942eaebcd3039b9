/** Finds erasures that are unfinished, and erased words that are back. */
import { join } from 'node:path'
import { GitError } from '../../../gitstore/errors.ts'
import { listErasing } from '../../../gitstore/upkeep/forget.ts'
import type { StoredRepository } from '../indexing/stored-repositories.ts'
import { commandOf, listReturned } from '../review/erased-list.ts'
import { damageFinding, type Finding } from './repository-findings.ts'

/** The most of an organisation that is named. */
const named = 20

/** @throws system errors */
export async function examineErasures(root: string, { path, orgId, nodeId }: StoredRepository): Promise<Finding[]> {
  try {
    const isUnfinished = (await listErasing({ dir: join(root, path) })).length > 0
    const reason = 'an erasure is running or was interrupted; run `grove erase` again, or wait for the maintenance'
    const findings = isUnfinished ? [damageFinding('repository', path, reason)] : []
    if (nodeId !== undefined) return findings
    const returned = await listReturned({ root }, orgId)
    for (const one of returned.slice(0, named)) findings.push(damageFinding('repository', path, describe(one)))
    const others = returned.length - named
    if (others > 0) findings.push(damageFinding('repository', path, `${others} more erased texts are back`))
    return findings
  } catch (error) {
    // It was deleted after the listing, or is damaged, which is another finding.
    if (!(error instanceof GitError)) throw error
    return []
  }
}

function describe(returned: Parameters<typeof commandOf>[0]): string {
  return `erased at ${returned.at}, and is there again; run ${commandOf(returned)}`
}
