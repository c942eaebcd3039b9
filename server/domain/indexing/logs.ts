/** Collects the logs of a node's commits for the index. */
import type { LogPart } from '../../../gitstore/history/known-logs.ts'
import { AncestryReader, walkLog } from '../../../gitstore/history/log-walk.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { storeLogs, storeLongLog } from '../../../index/derived/chain-layout.ts'
import { chainsOf, findKnownLogs } from '../../../index/derived/chains.ts'
import type { Services } from '../services.ts'

/** Longer logs are written separately, before the rows that need them. The unit is entries. */
const long = 1_000
/** The most short logs that are written together with other rows. */
const many = 100

/**
 * Collects the logs of `heads` that are not in the index. Each is on top of an indexed or an earlier one. Writes long
 * logs immediately. Returns undefined if another process has written logs in the meantime; the caller then starts over.
 */
export async function collectLogs(
  deps: Pick<Services, 'index'>,
  nodeId: string,
  repo: Repo,
  heads: readonly Oid[],
): Promise<LogPart[] | undefined> {
  const stored = findKnownLogs(deps.index.read, nodeId)
  const plans: LogPart[] = []
  const planned = new Map<Oid, LogPart>()
  const known = {
    tips: stored.tips,
    isCut: async (oid: Oid) => planned.has(oid) || stored.isCut(oid),
    holdsAny: async (cut: Oid, oids: readonly Oid[]): Promise<boolean | undefined> => {
      const plan = planned.get(cut)
      if (!plan) return stored.holdsAny(cut, oids)
      const asked = new Set(oids)
      const from = plan.entries.findIndex(({ oid }) => oid === cut)
      if (plan.entries.some(({ oid }, at) => at >= from && asked.has(oid))) return true
      return plan.base === undefined ? false : known.holdsAny(plan.base, oids)
    },
  }
  let chains = await chainsOf(deps.index.read, nodeId)
  const reader = new AncestryReader(repo, stored)
  await reader.prepare(heads)
  for (const head of heads) {
    const plan = await walkLog(repo, head, known, reader)
    if (plan.entries.length === 0) continue
    plans.push(plan)
    if (heads.length > 1) reader.addKnown(plan.entries)
    if (plan.entries.length <= long && plans.length < many) {
      for (const { oid, cut } of plan.entries) if (cut) planned.set(oid, plan)
      continue
    }
    const laid = await layAll(deps, nodeId, chains, plans.splice(0))
    if (laid === undefined) return undefined
    chains = laid
    planned.clear()
  }
  return plans
}

async function layAll(
  { index }: Pick<Services, 'index'>,
  nodeId: string,
  chains: string,
  plans: readonly LogPart[],
): Promise<string | undefined> {
  const last = plans.at(-1)
  const isLong = last && last.entries.length > long
  const short = isLong ? plans.slice(0, -1) : plans
  const laid = short.length > 0 ? await storeLogs(index.write, nodeId, chains, short) : chains
  return isLong && laid !== undefined ? storeLongLog(index.write, nodeId, laid, last) : laid
}
