/** Derives events from Git instead of the log. The ids are those that the log gives them. */
import { isDamage } from '../../../gitstore/errors.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { listRepos, repoExists } from '../../../gitstore/repo-folders.ts'
import { isId, ledgerRef, main, nodeRepo, orgFolder, orgRepo, setsRef } from '../layout.ts'
import { isHidden, readNodeRecord } from '../ledger/ledger.ts'
import type { Services } from '../services.ts'
import { creationOf, describeLedger } from './describe-node.ts'
import { commitEvents } from './describe-org.ts'
import type { EventFacts } from './event-facts.ts'
import { encodeEvent } from './event-json.ts'
import { listNewCommits } from './ledger-walk.ts'

interface Derived {
  /** Events as JSON, by time. Moves of branches and tags are missing, because Git keeps no log of them. */
  readonly lines: readonly string[]
  /** Ids of nodes that are damaged. Their events are missing. */
  readonly damaged: readonly string[]
}

interface DatedLine {
  readonly at: string
  readonly line: string
}

/** Derives the events of an organisation, oldest first. @throws GitError if org.git is damaged */
export async function deriveEvents(
  { store }: Pick<Services, 'store'>,
  orgId: string,
  signal: AbortSignal,
): Promise<Derived> {
  const found: DatedLine[] = []
  const damaged: string[] = []
  const add = (nodeId: string | null, events: readonly EventFacts[]) => {
    for (const facts of events) found.push({ at: facts.at, line: encodeEvent(orgId, nodeId, facts).render() })
  }
  const repo = orgRepo(store, orgId)
  const head = repoExists(repo) ? readRef(repo, main) : null
  if (head !== null)
    for (const oid of (await listNewCommits(repo, null, head)).commits)
      add(null, await commitEvents(repo, oid, undefined))
  const sets = readRef(repo, setsRef)
  if (sets) add(null, await describeLedger(repo, (await listNewCommits(repo, null, sets)).commits, () => undefined))
  for (const nodeId of (await listRepos(orgFolder(store, orgId))).filter(isId)) {
    signal.throwIfAborted()
    try {
      add(nodeId, await nodeEvents(store, { orgId, nodeId }))
    } catch (error) {
      if (!isDamage(error)) throw error
      damaged.push(nodeId)
    }
  }
  // The sort is stable: events of the same time stay in the order of their repository.
  const lines = found.sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at))).map(({ line }) => line)
  return { lines, damaged }
}

async function nodeEvents(
  store: Services['store'],
  { orgId, nodeId }: { readonly orgId: string; readonly nodeId: string },
): Promise<EventFacts[]> {
  const repo = nodeRepo(store, orgId, nodeId)
  const ledger = readRef(repo, ledgerRef)
  if (ledger === null || (await isHidden(repo, ledger))) return []
  const [root, ...later] = (await listNewCommits(repo, null, ledger)).commits
  if (root === undefined) return []
  const { title, created_at } = await readNodeRecord(repo, await creationOf(repo, root, ledger))
  const created: EventFacts = { type: 'node.created', key: root, at: created_at, data: { title } }
  return [created, ...(await describeLedger(repo, later, () => undefined))]
}
