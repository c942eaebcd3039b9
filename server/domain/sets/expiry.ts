/** Closes change sets that nobody works on any more. Their openers and editors can reopen them. */
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { listAbandonedSets } from '../../../index/derived/change-sets.ts'
import { service } from '../actor.ts'
import { authorOf } from '../format/signatures.ts'
import { historyOf } from '../history.ts'
import { branchRef, ledgerRef, nodeRepo } from '../layout.ts'
import { readPull } from '../ledger/ledger.ts'
import { endPull, freezePull } from '../ledger/pull-ledger.ts'
import type { ChangedBy } from '../ledger/reconcile.ts'
import { readSet, type SetItem, setsOf } from '../ledger/set-ledger.ts'
import { pinOf } from '../pulls/pulls.ts'
import type { Services } from '../services.ts'
import { discardLeft } from './discard.ts'
import { hasReturned, type Part, readLocked, writeSet } from './set-changes.ts'

/** Closes the sets without activity for `config.proposalDays`. One that cannot be closed holds up no other. */
export async function closeAbandoned(deps: Services): Promise<void> {
  const { proposalDays } = deps.config
  if (proposalDays === 0) return
  const since = new Date(deps.now().getTime() - proposalDays * 86_400_000)
  for (const { org_id: orgId, number } of await listAbandonedSets(deps.index.read, since.toISOString())) {
    if (deps.draining.aborted) return
    await closeOne(deps, orgId, number, since).catch((error: unknown) => {
      deps.log.error({ err: error, orgId, number }, 'an abandoned change set could not be closed; the sweep retries')
    })
  }
}

async function closeOne(deps: Services, orgId: string, number: number, since: Date): Promise<void> {
  const own = setsOf(deps, orgId)
  const sets = repoExists(own.repo) ? readRef(own.repo, own.ref) : null
  if (sets === null) return
  const { items } = await readSet(own.repo, sets, number)
  const isThere = ({ node_id }: SetItem) => repoExists(nodeRepo(deps.store, orgId, node_id))
  const there = items.filter(isThere)
  for (const item of there) if (await hasNewCommit(nodeRepo(deps.store, orgId, item.node_id), item, since)) return
  const gone = items.flatMap((item) => (there.includes(item) ? [] : item.node_id))
  const event: ChangedBy = { by: authorOf(service), at: deps.now().toISOString() }
  const change = {
    ...{ orgId, drafts: [], parts: there.map((item) => partOf(deps, orgId, item, event)) },
    decide: async (locked: Parameters<typeof readLocked>[0]) => {
      // The next sweep closes it with that page.
      if (hasReturned(deps, orgId, gone)) return undefined
      const { via: _, ...before } = await readLocked(locked, number)
      if (before.status !== 'open') return undefined
      return { event: 'close' as const, record: { ...before, ...event, status: 'closed' as const, ended: event } }
    },
  }
  await writeSet(deps, service, change, async () => ({ role: null }))
  for (const { node_id, act } of there) if (act === 'restore') await discardLeft(deps, orgId, node_id)
  deps.log.info({ orgId, number }, 'a change set without activity was closed')
}

/** True if a commit was pushed to the branch of the item since. Rows do not have its time. */
async function hasNewCommit(repo: Repo, { number }: SetItem, since: Date): Promise<boolean> {
  const ledger = readRef(repo, ledgerRef)
  if (ledger === null) return false
  const { source_branch } = await readPull(repo, ledger, number)
  const head = readRef(repo, branchRef(source_branch))
  return head !== null && (await readCommit(repo, head)).committer.timestamp * 1000 >= since.getTime()
}

/** Closes the pull request of an item. */
function partOf(deps: Services, orgId: string, { node_id: id, number }: SetItem, event: ChangedBy): Part {
  const repo = nodeRepo(deps.store, orgId, id)
  const pin = pinOf({ repo }, number)
  return {
    access: { repo, node: { id } },
    refs: [pin],
    decide: async ({ ledger }) => {
      const { via: _, ...before } = await readPull(repo, ledger, number)
      if (before.status !== 'open') return { moves: [] }
      const record = endPull(await freezePull({ repo, history: historyOf(deps, id, repo) }, before), 'closed', event)
      return { acts: [{ event: 'close', record }], moves: [{ ...pin, to: record.source_commit }] }
    },
  }
}
