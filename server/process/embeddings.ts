/** Opens the model for search by meaning, and `vectors.sqlite`. */
import { join } from 'node:path'
import { type DerivedDatabase, openDerivedDatabase } from '../../index/sqlite/rebuildable-database.ts'
import { vectorsMigrations } from '../../index/vectors/migrations.ts'
import type { VectorsSchema } from '../../index/vectors/schema.ts'
import { createEmbeddings } from '../domain/embeddings/create-embeddings.ts'
import type { Embeddings } from '../domain/embeddings/embeddings.ts'
import { openLocalModel } from '../domain/embeddings/local-model.ts'
import { openModel } from '../domain/embeddings/open-model.ts'
import { runFolder, vectorsFile } from '../domain/layout.ts'
import type { Services } from '../domain/services.ts'

/**
 * Opens what search by meaning needs. Undefined: no model is configured.
 *
 * @param mayReplaceNewer resolves to true if a newer version's file may be set aside
 * @param closing gets functions that close what is open
 * @throws ModelNotInstalledError, DatabaseError
 */
export async function openEmbeddings(
  deps: Services,
  mayReplaceNewer: () => Promise<boolean>,
  closing: (() => unknown)[],
): Promise<Embeddings | undefined> {
  const model = await openModel(deps, async (parts) => openLocalModel(parts))
  if (model === undefined) return undefined
  closing.push(() => model.close())
  const vectors = await openVectors(deps.config.dataDir, deps, mayReplaceNewer)
  closing.push(() => vectors.close())
  return createEmbeddings({ ...deps, model, vectors })
}

/**
 * Opens the database of vectors. If it is damaged or deleted, another one begins, and the embedder reads all texts
 * again.
 *
 * @param mayReplaceNewer resolves to true if a newer version's file may be set aside
 */
export async function openVectors(
  root: string,
  { log, draining }: Pick<Services, 'log' | 'draining'>,
  mayReplaceNewer: () => Promise<boolean>,
): Promise<DerivedDatabase<VectorsSchema>> {
  const vectors = await openDerivedDatabase<VectorsSchema>(join(root, vectorsFile), vectorsMigrations, {
    lockPrefix: join(runFolder(root), 'vectors'),
    closing: draining,
    mayReplaceNewer,
    report: (done, error) => log.warn(error === undefined ? {} : { err: error }, done),
  })
  // The embedder fills it in small transactions, so nothing waits until it is whole.
  void vectors.keepWhole(async () => true)
  return vectors
}
