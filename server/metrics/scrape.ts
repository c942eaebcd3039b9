/** The metrics of this process as text for Prometheus. */

import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from '../../gitstore/fs-exists.ts'
import { runningGits } from '../../gitstore/native.ts'
import { countReadOnly } from '../../gitstore/refs/read-only.ts'
import { countPendingMails } from '../../index/credentials/mail.ts'
import { countUnrevokedSessions } from '../../index/credentials/sessions.ts'
import { countAllPending } from '../../index/log/deliveries.ts'
import { passwordsWaiting } from '../domain/accounts/passwords.ts'
import type { Embedder } from '../domain/embeddings/embedder.ts'
import { backedUpFile, credentialsFile, indexFile } from '../domain/layout.ts'
import type { Services } from '../domain/services.ts'
import { waitingForGit } from '../http/git/git-limits.ts'
import { processMetrics } from './metrics.ts'

/** The content type of the text format. */
export const textFormat = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * Returns the metrics of this process.
 *
 * @param sweeps true if this process runs the background jobs; only it reports the metrics of the data folder
 * @param embedder embeds texts. Undefined: this process embeds none.
 */
export async function scrapeProcess(
  deps: Services,
  worker: number,
  sweeps: boolean,
  embedder: Embedder | undefined,
): Promise<string> {
  setOwnGauges(deps)
  if (sweeps) await setFolderGauges(deps, embedder)
  const { registry } = deps.metrics
  return `${await registry.metrics()}${await processMetrics(worker).metrics()}`
}

function setOwnGauges({ metrics, placement, search }: Services): void {
  placement.reportLease((cell, leftMs) => metrics.cellLease.set({ cell }, leftMs / 1000))
  metrics.gitProcesses.set(runningGits())
  metrics.gitWaiting.set(waitingForGit())
  metrics.passwordQueue.set(passwordsWaiting())
  metrics.readOnly.set(countReadOnly())
  const { documents, bytes, vectorBytes, opened, rows } = search.gauges()
  metrics.searchDocuments.set(documents)
  metrics.searchBytes.set(bytes)
  metrics.searchVectors.set(vectorBytes)
  metrics.searchBuilds.reset()
  metrics.searchBuilds.inc(opened)
  metrics.searchRows.reset()
  metrics.searchRows.inc({ occasion: 'query' }, rows.query)
  metrics.searchRows.inc({ occasion: 'ahead' }, rows.ahead)
}

/**
 * Reads the metrics of the data folder. Values that cannot be read stay as they were, so that a scrape also answers
 * while the storage fails.
 */
async function setFolderGauges(
  { metrics, credentials, events, log, store }: Services,
  embedder: Embedder | undefined,
): Promise<void> {
  try {
    const { bavail, bfree, blocks, bsize } = await statfs(store.root)
    metrics.storageFree.set(bavail * bsize)
    metrics.storageUsed.set((blocks - bfree) * bsize)
    for (const [database, name] of Object.entries({ credentials: credentialsFile, index: indexFile })) {
      metrics.databaseBytes.set({ database, file: 'main' }, await sizeOf(join(store.root, name)))
      metrics.databaseBytes.set({ database, file: 'wal' }, await sizeOf(join(store.root, `${name}-wal`)))
    }
    const backedUp = await ignoreMissing(stat(join(store.root, backedUpFile)))
    metrics.backedUp.set((backedUp?.mtimeMs ?? 0) / 1_000)
    metrics.webhooksPending.set(await countAllPending(events.read))
    metrics.mailPending.set(await countPendingMails(credentials.read))
    metrics.sessionsActive.set(await countUnrevokedSessions(credentials.read))
    if (embedder === undefined) return
    metrics.embeddingsPending.set(embedder.pendingTexts())
    metrics.embeddingsStoreBytes.set(await embedder.storeBytes())
  } catch (error) {
    log.warn({ err: error }, 'some metrics could not be read')
  }
}

async function sizeOf(file: string): Promise<number> {
  return (await ignoreMissing(stat(file)))?.size ?? 0
}
