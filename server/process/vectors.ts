/** Opens `vectors.sqlite` for a service with a model. */
import { join } from 'node:path'
import { type DerivedDatabase, openDerivedDatabase } from '../../index/sqlite/rebuildable-database.ts'
import { vectorsMigrations } from '../../index/vectors/migrations.ts'
import type { VectorsSchema } from '../../index/vectors/schema.ts'
import type { Deps } from '../base/deps.ts'
import { runFolder, vectorsFile } from '../domain/layout.ts'

/**
 * Opens the database of vectors. If it is damaged or deleted, another one begins, and the follower embeds all texts
 * again.
 *
 * @param mayReplaceNewer resolves to true if a newer version's file may be set aside
 */
export async function openVectors(
  root: string,
  { log, draining }: Pick<Deps, 'log' | 'draining'>,
  mayReplaceNewer: () => Promise<boolean>,
): Promise<DerivedDatabase<VectorsSchema>> {
  const vectors = await openDerivedDatabase<VectorsSchema>(join(root, vectorsFile), vectorsMigrations, {
    lockPrefix: join(runFolder(root), 'vectors'),
    closing: draining,
    mayReplaceNewer,
    report: (done, error) => log.warn(error === undefined ? {} : { err: error }, done),
  })
  // The follower fills it in small transactions, so nothing waits until it is whole.
  void vectors.keepWhole(async () => true)
  return vectors
}
