/** The metrics of this process as text for Prometheus. */

import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreMissing } from '../../gitstore/fs-exists.ts'
import { runningGits } from '../../gitstore/native.ts'
import { countReadOnly } from '../../gitstore/refs/read-only.ts'
import { countPendingMails } from '../../index/credentials/mail.ts'
import { countUnrevokedSessions } from '../../index/credentials/sessions.ts'
import { passwordsWaiting } from '../domain/accounts/passwords.ts'
import type { Embedder } from '../domain/embeddings/embedder.ts'
import { backedUpFile, credentialsFile, indexFile } from '../domain/layout.ts'
import type { Services } from '../domain/services.ts'
import { waitingForGit } from '../http/git/git-limits.ts'
import { processMetrics } from './metrics.ts'

/** The content type of the text format. */
export const textFormat = 'text/plain; version=0.0.4; charset=utf-8'

/** The parts whose metrics describe the data folder. */
export interface FolderGauges {
  /** Undefined: this process embeds no texts. */
  readonly embedder: Embedder | undefined
  /** Sets the metrics of features. */
  ofFeatures(deps: Services): Promise<void>
}

/**
 * Returns the metrics of this process.
 *
 * @param folder undefined if another process runs the background jobs; only one reports the metrics of the data folder
 */
export async function scrapeProcess(deps: Services, worker: number, folder: FolderGauges | undefined): Promise<string> {
  setOwnGauges(deps)
  if (folder) await setFolderGauges(deps, folder)
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
async function setFolderGauges(deps: Services, { embedder, ofFeatures }: FolderGauges): Promise<void> {
  const { metrics, credentials, log, store } = deps
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
    await ofFeatures(deps)
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
