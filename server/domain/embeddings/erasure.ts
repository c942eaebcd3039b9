/**
 * Erases vectors: of an organisation, of nodes, and those that nothing names. Texts can be guessed from a vector, so it
 * must not outlive its text.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { exists } from '../../../gitstore/fs-exists.ts'
import { type Database, DatabaseError, openDatabase } from '../../../index/sqlite/database.ts'
import {
  beginErasure,
  deleteUnnamed,
  eraseNodeRows,
  eraseSlice,
  forgetUnscrubbed,
  listKeys,
  listModelsOf,
  listNamedKeys,
  listUnscrubbed,
} from '../../../index/vectors/erasure.ts'
import { vectorsMigrations } from '../../../index/vectors/migrations.ts'
import type { VectorsAt } from '../../../index/vectors/progress.ts'
import type { VectorsSchema } from '../../../index/vectors/schema.ts'
import { vectorsFile } from '../layout.ts'
import type { Services } from '../services.ts'
import { scrubInThread } from './scrub-thread.ts'

type Vectors = Database<VectorsSchema>

export type ErasureDeps = Pick<Services, 'embeddings' | 'store'>

/**
 * Erases the vectors of an organisation that is purged, or that has switched embeddings off. Call it after that is
 * committed: the embedder stops because of it.
 *
 * @throws DatabaseError; Error: the bytes could not be removed in time. Call it again.
 */
export async function eraseOrgVectors(deps: ErasureDeps, orgId: string): Promise<void> {
  await withVectors(deps, async (vectors) => {
    await vectors.write((trx) => beginErasure(trx, orgId))
    while (await vectors.write((trx) => eraseSlice(trx, orgId, null))) await nextTurn()
    await scrub(deps, vectors)
  })
}

/**
 * Erases the vectors of purged nodes. Erases also all vectors of the organisation that no node names, because they may be
 * of earlier texts.
 *
 * @throws DatabaseError; Error: the bytes could not be removed in time. Call it again.
 */
export async function eraseNodeVectors(deps: ErasureDeps, orgId: string, nodeIds: readonly string[]): Promise<void> {
  await withVectors(deps, async (vectors) => {
    const models = await listModelsOf(vectors.read, orgId)
    if (models.length > 0)
      for (let at = 0; at < nodeIds.length; at += nodesAtOnce)
        await vectors.write((trx) => eraseNodeRows(trx, orgId, nodeIds.slice(at, at + nodesAtOnce)))
    for (const model of models) await removeUnnamed(vectors, { orgId, model })
    await scrub(deps, vectors)
  })
}

/** Nodes, rows and keys per statement. */
const nodesAtOnce = 500
const rowsAtOnce = 500
const keysAtOnce = 500

/** Keys in memory at a time, 5 MB. All rows of nodes are read for each lot. */
const keysInMemory = 50_000

/** Attempts to delete a lot of passages while nodes change. The next sweep deletes the rest. */
const maxAttempts = 5

/** Deletes passages that no row of a node names. */
export async function removeUnnamed(vectors: Vectors, at: VectorsAt): Promise<void> {
  let after = ''
  for (;;) {
    const lot = new Set<string>()
    while (lot.size < keysInMemory) {
      const keys = await listKeys(vectors.read, at, after, keysAtOnce)
      after = keys.at(-1) ?? after
      for (const key of keys) lot.add(key)
      if (keys.length < keysAtOnce) break
      await nextTurn()
    }
    if (lot.size === 0) return
    for (let attempt = 0; attempt < maxAttempts; attempt++) if (await removeUnnamedOf(vectors, at, lot)) break
  }
}

/** Returns false if too many nodes have changed at the same time. */
async function removeUnnamedOf(vectors: Vectors, at: VectorsAt, lot: Set<string>): Promise<boolean> {
  let seq = 0
  for (;;) {
    const rows = await listNamedKeys(vectors.read, at, seq, rowsAtOnce)
    seq = rows.at(-1)?.seq ?? seq
    for (const { keys } of rows) for (const key of keys) lot.delete(key)
    if (rows.length < rowsAtOnce) break
    await nextTurn()
  }
  const unnamed = [...lot]
  for (let from = 0; from < unnamed.length; from += keysAtOnce) {
    const some = unnamed.slice(from, from + keysAtOnce)
    if (!(await vectors.write((trx) => deleteUnnamed(trx, at, some, seq)))) return false
    for (const key of some) lot.delete(key)
    await nextTurn()
  }
  return true
}

/**
 * Removes the bytes of erased rows from the file, if there are any. Also those of earlier erasures that were interrupted.
 *
 * @throws DatabaseError; Error
 */
export async function scrub({ store }: Pick<Services, 'store'>, vectors: Vectors): Promise<void> {
  const marks = await listUnscrubbed(vectors.read)
  if (marks.length === 0) return
  const file = join(store.root, vectorsFile)
  await scrubInThread(file)
  // A damaged file that was set aside has vectors too.
  for (const end of ['', '-wal', '-shm']) await rm(`${file}.damaged${end}`, { force: true })
  await vectors.write((trx) => forgetUnscrubbed(trx, marks))
}

/** Runs `work` on the vectors. A process without a model opens the file if there is one. */
async function withVectors(deps: ErasureDeps, work: (vectors: Vectors) => Promise<void>): Promise<void> {
  if (deps.embeddings) return work(deps.embeddings.vectors)
  const file = join(deps.store.root, vectorsFile)
  if (!exists(file)) return
  let vectors: Vectors
  try {
    vectors = await openDatabase(file, vectorsMigrations, { synchronous: 'NORMAL' })
  } catch (error) {
    if (!(error instanceof DatabaseError && error.code === 'damaged')) throw error
    // It cannot be read, and nothing else is lost with it.
    for (const end of ['', '-wal', '-shm']) await rm(`${file}${end}`, { force: true })
    return
  }
  try {
    await work(vectors)
  } finally {
    await vectors.close()
  }
}
