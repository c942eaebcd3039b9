/** The end of a transaction, where another machine may have the repositories meanwhile. */
import type { Repo } from '../repo.ts'
import type { Store } from '../store.ts'

/**
 * After what was moved in these repositories is durable. What may be lost, and is not acknowledged therefore, is indexed all the
 * same: this process reads it until it is lost. What cannot be indexed now is left to the sweep.
 *
 * @throws what the fence says: it stands no more
 */
export async function requireFence(store: Store, names: readonly { readonly repo: Repo }[]): Promise<void> {
  try {
    store.fence?.after()
  } catch (error) {
    const repos = new Map(names.map(({ repo }) => [repo.dir, repo]))
    for (const repo of repos.values()) await store.indexRepo(repo).catch(() => {})
    throw error
  }
}
