/** Stores logs as chains, so that the path down from any head crosses few chains. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Selectable } from 'kysely'
import { changeRows, readRows } from '../sqlite/statements.ts'
import { chainsOf, findLogEnd, type LogEnd, rowsPerTransaction, type Trx, toBytes } from './chains.ts'
import type { ChainTable } from './schema.ts'

/** The newest entries of a log, on top of the log of `base`. */
export interface NewLogPart {
  /** Newest first. `cut`: this entry and all entries below it are exactly the entry's own log. */
  readonly entries: readonly { readonly oid: string; readonly cut: boolean }[]
  /** Undefined if the entries are the whole log. */
  readonly base: string | undefined
}

/** The maximum number of rows to move from one chain to another. */
const maxMovedRows = 10_000
const insertEntry = 'insert into entry (chain, pos, oid, bend) values (?, ?, ?, ?)'
const insertChain = `
  insert into chain (node_id, base_chain, base_pos, tip, whole) values (?, ?, ?, ?, ?) returning id, base_chain, base_pos, tip`
const lengthenChain = 'update chain set tip = ? where id = ? and tip = ? returning id, base_chain, base_pos, tip'
const chainById = 'select id, base_chain, base_pos, tip from chain where id = ?'

type Chain = Pick<Selectable<ChainTable>, 'id' | 'base_chain' | 'base_pos' | 'tip'>

/**
 * Stores a short log on top of its base, in a transaction with other rows. Returns false and writes nothing if another
 * writer has stored part of the log or removed the base. `storeLongLog` is for long logs.
 */
export async function storeLog(trx: Trx, nodeId: string, { entries, base }: NewLogPart): Promise<boolean> {
  for (const { oid, cut } of entries) if (cut && (await findLogEnd(trx, nodeId, oid))) return false
  const below = base === undefined ? undefined : await findLogEnd(trx, nodeId, base)
  if (base !== undefined && !below) return false
  const tip = (below?.pos ?? 0) + entries.length
  const chain = (below && (await lengthen(trx, below, tip))) ?? (await newChain(trx, nodeId, below, tip, 1))
  await insertEntries(trx, chain.id, below?.pos ?? 0, below?.bend ?? 0, [...entries].reverse())
  await swapWithBase(trx, nodeId, chain)
  return true
}

/**
 * Stores several logs as `storeLog` does, in their own transaction. `chains` and the result are as in `storeLongLog`.
 */
export function storeLogs(
  write: <R>(work: (trx: Trx) => Promise<R>) => Promise<R>,
  nodeId: string,
  chains: string,
  logs: readonly NewLogPart[],
): Promise<string | undefined> {
  return write(async (trx) => {
    if ((await chainsOf(trx, nodeId)) !== chains) return undefined
    for (const log of logs) await storeLog(trx, nodeId, log)
    return chainsOf(trx, nodeId)
  })
}

/**
 * Stores a log in several short transactions. No reader sees an incomplete log.
 *
 * @param chains the result of `chainsOf` before the log was computed
 * @returns the new result of `chainsOf`; undefined if another writer has changed the chains
 */
export async function storeLongLog(
  write: <R>(work: (trx: Trx) => Promise<R>) => Promise<R>,
  nodeId: string,
  chains: string,
  { entries, base }: NewLogPart,
): Promise<string | undefined> {
  const begun = await write(async (trx) => {
    if ((await chainsOf(trx, nodeId)) !== chains) return undefined
    const below = base === undefined ? undefined : await findLogEnd(trx, nodeId, base)
    if (base !== undefined && !below) return undefined
    const { id } = await newChain(trx, nodeId, below, (below?.pos ?? 0) + entries.length, 0)
    return { below, chain: id }
  })
  if (!begun) return undefined
  const { below, chain } = begun
  const upwards = [...entries].reverse()
  let bend = below?.bend ?? 0
  for (let from = 0; from < upwards.length; from += rowsPerTransaction) {
    const some = upwards.slice(from, from + rowsPerTransaction)
    bend = await write((trx) => insertEntries(trx, chain, (below?.pos ?? 0) + from, bend, some))
    await nextTurn()
  }
  return write(async (trx) => {
    const same = (await chainsOf(trx, nodeId)) === chains
    const change = same ? { whole: 1 } : { node_id: '' }
    await trx.updateTable('chain').set(change).where('id', '=', chain).execute()
    return same ? chainsOf(trx, nodeId) : undefined
  })
}

/** Returns the chain that ends at `below`, with its new tip. Undefined if it continues above. */
async function lengthen(trx: Trx, below: LogEnd, tip: number): Promise<Chain | undefined> {
  const [chain] = await readRows<Chain>(trx, lengthenChain, tip, below.chain, below.pos)
  return chain
}

async function newChain(
  trx: Trx,
  nodeId: string,
  below: LogEnd | undefined,
  tip: number,
  whole: 0 | 1,
): Promise<Chain> {
  const [chain] = await readRows<Chain>(trx, insertChain, nodeId, below?.chain ?? null, below?.pos ?? 0, tip, whole)
  if (!chain) throw new Error('SQLite returned no row of a new chain')
  return chain
}

/** Inserts entries and returns the bend of the last one. */
export async function insertEntries(
  trx: Trx,
  chain: number,
  below: number,
  bendBelow: number,
  upwards: NewLogPart['entries'],
): Promise<number> {
  let bend = bendBelow
  for (const [at, { oid, cut }] of upwards.entries()) {
    const pos = below + at + 1
    if (!cut) bend = pos
    await changeRows(trx, insertEntry, chain, pos, toBytes(oid), bend)
  }
  return bend
}

/**
 * Swaps a chain with its base if the chain is much longer above the fork. More than twice as many entries are enough.
 * The path down from any head then crosses few chains.
 */
async function swapWithBase(trx: Trx, nodeId: string, chain: Chain): Promise<void> {
  if (chain.base_chain === null) return
  const [base] = await readRows<Chain>(trx, chainById, chain.base_chain)
  if (!base) throw new Error('A chain has no base') // nothing removes a base before its chains
  const [own, others] = [chain.tip - chain.base_pos, base.tip - chain.base_pos]
  if (own <= 2 * others || own + others > maxMovedRows) return
  if (others > 0) {
    const place = { chain: base.id, pos: chain.base_pos, bend: 0 }
    const other = await newChain(trx, nodeId, place, base.tip, 1)
    await moveEntries(trx, base.id, other.id, chain.base_pos)
  }
  await moveEntries(trx, chain.id, base.id, chain.base_pos)
  await trx.updateTable('chain').set({ tip: chain.tip }).where('id', '=', base.id).execute()
  await trx.deleteFrom('chain').where('id', '=', chain.id).execute()
  await swapWithBase(trx, nodeId, { ...base, tip: chain.tip })
}

/** Moves every entry above `pos`, with the branches and chains that refer to it. */
async function moveEntries(trx: Trx, from: number, to: number, pos: number): Promise<void> {
  await trx.updateTable('entry').set({ chain: to }).where('chain', '=', from).where('pos', '>', pos).execute()
  await trx.updateTable('branch').set({ chain: to }).where('chain', '=', from).where('pos', '>', pos).execute()
  await trx
    .updateTable('chain')
    .set({ base_chain: to })
    .where('base_chain', '=', from)
    .where('base_pos', '>', pos)
    .execute()
}
