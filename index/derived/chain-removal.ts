/** Removes chains, or parts of chains, that no branch and no other chain needs. */

import type { Selectable } from 'kysely'
import { readRows } from '../sqlite/statements.ts'
import { rowsPerTransaction, type Trx } from './chains.ts'
import type { ChainTable } from './schema.ts'

interface NeededChain extends Pick<Selectable<ChainTable>, 'base_chain' | 'base_pos' | 'tip' | 'whole'> {
  /** The highest positions at which a branch ends, and another chain begins. */
  readonly head: number | null
  readonly fork: number | null
}

const neededChain = `
  select base_chain, base_pos, tip, whole, (select max(pos) from branch where branch.chain = one.id) as head,
    (select max(base_pos) from chain as other where other.base_chain = one.id) as fork
  from chain as one where id = ?`

/** Removes the entries of chain `id` that no branch and no other chain needs. Then trims its base. */
export async function trimLog(trx: Trx, id: number): Promise<void> {
  const [chain] = await readRows<NeededChain>(trx, neededChain, id)
  if (!chain || chain.whole === 0) return
  const needed = Math.max(chain.base_pos, chain.head ?? 0, chain.fork ?? 0)
  if (needed === chain.tip) return
  if (needed > chain.base_pos) {
    await trx.deleteFrom('entry').where('chain', '=', id).where('pos', '>', needed).execute()
    await trx.updateTable('chain').set({ tip: needed }).where('id', '=', id).execute()
    return
  }
  await deleteChain(trx, id)
  if (chain.base_chain !== null) await trimLog(trx, chain.base_chain)
}

async function deleteChain(trx: Trx, id: number): Promise<void> {
  await trx.deleteFrom('entry').where('chain', '=', id).execute()
  await trx.deleteFrom('chain').where('id', '=', id).execute()
}

/** Detaches the logs of a deleted node; `forgetLogs` removes the rows. */
export async function abandonLogs(trx: Trx, nodeId: string): Promise<void> {
  await trx.updateTable('chain').set({ node_id: '', whole: 0 }).where('node_id', '=', nodeId).execute()
}

/** Removes some rows of the detached logs. Returns true when no rows are left. */
export async function forgetLogs(trx: Trx): Promise<boolean> {
  const chain = await trx.selectFrom('chain').selectAll().where('node_id', '=', '').limit(1).executeTakeFirst()
  if (!chain) return true
  const low = chain.tip - rowsPerTransaction
  await trx.deleteFrom('entry').where('chain', '=', chain.id).where('pos', '>', low).execute()
  if (low > chain.base_pos) await trx.updateTable('chain').set({ tip: low }).where('id', '=', chain.id).execute()
  else await deleteChain(trx, chain.id)
  return false
}

export async function deleteAllLogs(trx: Trx): Promise<void> {
  await trx.deleteFrom('entry').execute()
  await trx.deleteFrom('chain').execute()
}
