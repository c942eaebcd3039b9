/** The verdicts on pages that a review of a change set has given. */
import { readCommit } from '../../../gitstore/objects/commits.ts'
import { listLastVerdicts, listVerdictsOfReview } from '../../../index/derived/entries.ts'
import { findPull } from '../../../index/derived/pulls.ts'
import type { NodeAccess, OrgAccess } from '../access.ts'
import type { VerdictState } from '../consent/judge.ts'
import { readVerdicts } from '../consent/verdicts.ts'
import { readEntry, type VerdictRecord } from '../ledger/entries.ts'
import { readPull } from '../ledger/ledger.ts'
import type { ChangedBy } from '../ledger/reconcile.ts'
import { readPresentChange } from '../pulls/present-change.ts'
import type { Services } from '../services.ts'
import type { Part } from './set-changes.ts'
import { findPage } from './state.ts'

interface Given {
  readonly access: NodeAccess
  readonly number: number
  readonly entry: number
}

async function listGiven(deps: Services, org: OrgAccess, { id, items = [] }: VerdictRecord): Promise<Given[]> {
  const given: Given[] = []
  for (const { node_id, number, entry } of await listVerdictsOfReview(deps.index.read, items, id)) {
    const access = await findPage(deps, org, node_id)
    if (access) given.push({ access, number, entry })
  }
  return given
}

/** Returns the state of a review of a set. It is stale as soon as it is on one of its pages. */
export async function stateOfSetReview(
  deps: Services,
  org: OrgAccess,
  review: VerdictRecord,
): Promise<VerdictState | 'superseded'> {
  const { read } = deps.index
  const states: (VerdictState | 'superseded')[] = []
  for (const { access, number, entry } of await listGiven(deps, org, review)) {
    const pull = await findPull(read, access.node.id, number)
    if (!pull) continue
    const last = await listLastVerdicts(read, org.org.id, access.node.id, [number])
    const own = last.filter((one) => one.entry === entry)
    const [verdict] = await readVerdicts(deps, access, pull, own, () => readPresentChange(access, pull))
    states.push(verdict?.state ?? 'superseded')
  }
  return (['stale', 'current'] as const).find((state) => states.includes(state)) ?? states[0] ?? 'current'
}

/** Returns the parts that withdraw or dismiss the verdicts of a review. Only open pages have one. */
export async function partsOff(
  deps: Services,
  org: OrgAccess,
  review: VerdictRecord,
  { off, event }: { readonly off: Pick<VerdictRecord, 'withdrawn' | 'dismissed'>; readonly event: ChangedBy },
): Promise<Part[]> {
  const given = await listGiven(deps, org, review)
  return given.map(({ access, number, entry }): Part => {
    const { repo } = access
    const decide: Part['decide'] = async ({ ledger }) => {
      const { status } = await readPull(repo, ledger, number)
      const before = await readEntry(repo, (await readCommit(repo, ledger)).tree, number, entry)
      if (status !== 'open' || before?.kind !== 'verdict' || before.withdrawn || before.dismissed) return { moves: [] }
      const message = `${off.withdrawn ? 'withdraw' : 'dismiss'} ${number} ${entry}`
      return { moves: [], entries: { number, message, entries: [{ entry, record: { ...before, ...off } }], ...event } }
    }
    return { access, refs: [], decide }
  })
}
