/** The organisations of an account, also those that this service cannot serve. */
import { isDamage } from '../../../gitstore/errors.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { listClosedOrgRows, listOrgsWithOthers } from '../../../index/derived/org-queries.ts'
import { isClosed, type OrgRecord, readRecord } from '../format/org-format.ts'
import { main, orgRepo } from '../layout.ts'
import type { Services } from '../services.ts'

type OrgOf = Awaited<ReturnType<typeof listOrgsWithOthers>>[number]

export interface OrgsOf {
  readonly open: readonly OrgOf[]
  /** They need a newer version. The index has no members of them, so these are read from org.git. */
  readonly closed: readonly OrgOf[]
  /** Organisations of other cells, also closed ones. */
  readonly elsewhere: readonly OrgOf[]
}

/** Lists the organisations of a member, with the numbers of other members and other owners. Bots are not counted. */
export async function listOrgsOf(deps: Services, accountId: string): Promise<OrgsOf> {
  return {
    open: await listOrgsWithOthers(deps.index.read, accountId),
    closed: await listClosedOrgsOf(deps, accountId),
    elsewhere: await deps.placement.listOrgsElsewhere(accountId),
  }
}

async function listClosedOrgsOf({ index, store, log }: Services, accountId: string): Promise<OrgOf[]> {
  const found: OrgOf[] = []
  for (const { id, name, ...row } of await listClosedOrgRows(index.read)) {
    if (!isClosed(row)) continue
    try {
      const repo = orgRepo(store, id)
      const head = readRef(repo, main)
      const own = head === null ? undefined : countsIn(await readRecord(repo, head), accountId)
      if (own !== undefined) found.push({ id, name, ...own })
    } catch (error) {
      if (!isDamage(error)) throw error
      log.warn({ err: error, orgId: id }, 'the members of a closed organisation cannot be read')
    }
  }
  return found
}

function countsIn({ members }: OrgRecord, accountId: string): Omit<OrgOf, 'id' | 'name'> | undefined {
  const own = members.get(accountId)
  if (own === undefined) return undefined
  const others = [...members].filter(([id, { kind }]) => id !== accountId && kind !== 'bot')
  const owners = others.filter(([, { role }]) => role === 'owner')
  return { role: own.role, others: others.length, other_owners: owners.length }
}
