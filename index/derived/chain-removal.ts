/** Removes chains, or parts of chains, that no branch and no other chain needs. */

import { rowsPerTransaction, type Trx } from './chains.ts'

/** Removes the entries of chain `id` that no branch and no other chain needs. Then trims its base. */
export async function trimLog(trx: Trx, id: number): Promise<void> {
  const chain = await trx.selectFrom('chain').selectAll().where('id', '=', id).executeTakeFirst()
  if (!chain || chain.whole === 0) return
  const head = await trx
    .selectFrom('branch')
    .select((eb) => eb.fn.max('pos').as('pos'))
    .where('chain', '=', id)
    .executeTakeFirst()
  const fork = await trx
    .selectFrom('chain')
    .select((eb) => eb.fn.max('base_pos').as('pos'))
    .where('base_chain', '=', id)
    .executeTakeFirst()
  const needed = Math.max(chain.base_pos, head?.pos ?? 0, fork?.pos ?? 0)
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
