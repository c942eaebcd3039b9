/** Notes which rules would have refused creations of the last days. */
import { join } from 'node:path'
import { findOrgRow } from '../../../index/derived/org-queries.ts'
import { listCreations } from '../../../index/log/creations.ts'
import { countByRule, guardingSentence, newest } from '../consent/creations.ts'
import { eventsFile, orgRepository } from '../layout.ts'
import type { Services } from '../services.ts'
import type { Finding } from './repository-findings.ts'

/**
 * Counts direct creations by the rules that guard their places now.
 *
 * @param deps its index has all organisations
 * @throws Error if the events cannot be read
 */
export async function examineCreations(root: string, deps: Services): Promise<Finding[]> {
  const since = deps.now().getTime() - newest.days * 86_400_000
  const findings: Finding[] = []
  for (const [orgId, ids] of listCreations(join(root, eventsFile), since, newest.creations * 5)) {
    const org = await findOrgRow(deps.index.read, orgId)
    const path = join(orgId, orgRepository)
    for (const [at, count] of org ? await countByRule(deps, org, ids) : [])
      findings.push({ kind: 'note', subject: 'events', path, reason: guardingSentence(at, count) })
  }
  return findings
}
