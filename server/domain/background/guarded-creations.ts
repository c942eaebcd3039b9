/** Logs at the start which rules guard new nodes that were created freely until now. */

import { listOrgsWithRules } from '../../../index/derived/org-queries.ts'
import { wholeOrg } from '../../../index/derived/sees.ts'
import { findLog, listEventsUpTo } from '../../../index/log/events.ts'
import { countByRule, guardingSentence, newest } from '../consent/creations.ts'
import type { Services } from '../services.ts'

/**
 * Logs a line for each such rule. There is none 30 days after the upgrade, because rules now refuse such creations.
 * Never throws.
 */
export async function logGuardedCreations(deps: Services): Promise<void> {
  try {
    await logAll(deps)
  } catch (error) {
    if (!deps.draining.aborted) deps.log.warn({ err: error }, 'creations could not be compared with rules')
  }
}

async function logAll(deps: Services): Promise<void> {
  const since = new Date(deps.now().getTime() - newest.days * 86_400_000).toISOString()
  for (const org of await listOrgsWithRules(deps.index.read, newest.orgs)) {
    deps.draining.throwIfAborted()
    const log = await findLog(deps.events.read, org.id)
    const filter = { types: ['node.created'], limit: newest.creations }
    const events = log ? await listEventsUpTo(deps.events.read, wholeOrg(org.id), log.seq, filter) : []
    const ids = events.flatMap(({ node_id, body }) => {
      const { time, data } = JSON.parse(body) as { time: string; data: object } // a body that event-log/ wrote
      return node_id === null || time < since || 'change_set' in data ? [] : node_id
    })
    for (const [at, count] of await countByRule(deps, org, ids))
      deps.log.warn({ orgId: org.id, rule: at }, guardingSentence(at, count))
  }
}
