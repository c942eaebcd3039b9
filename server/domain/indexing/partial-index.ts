/** While the index is made again, organisations are served one by one, as soon as each is in it; those asked for come first. */
import type { Store } from '../../../gitstore/refs/ref-transaction.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import type { IndexSchema } from '../../../index/derived/schema.ts'
import {
  declareOrgWhole,
  findRequestedOrg,
  isOrgRequested,
  isOrgWhole,
  requestOrg,
} from '../../../index/derived/whole-orgs.ts'
import type { Database } from '../../../index/sqlite/database.ts'
import type { DerivedDatabase } from '../../../index/sqlite/rebuildable-database.ts'
import { isId, orgRepo } from '../layout.ts'

export interface PartialIndex {
  /** Whether every organisation is in it. */
  isWhole(): boolean
  /** The same database, whatever is in it. */
  readonly all: Database<IndexSchema>
  /**
   * The index for requests of one organisation. Each use throws DatabaseError busy until the organisation is in it with all of
   * its nodes; it is asked for then, in whatever process makes the index.
   */
  forOrg(orgId: string): Promise<Database<IndexSchema>>
}

export function partialIndex(store: Store, index: DerivedDatabase<IndexSchema>): PartialIndex {
  return {
    isWhole: () => index.isWhole(),
    all: index,
    forOrg: async (orgId) => {
      if (index.isWhole() || !isId(orgId)) return index.whole
      if (await isOrgWhole(index.read, orgId)) return index
      if (repoExists(orgRepo(store, orgId)) && !(await isOrgRequested(index.read, orgId)))
        await index.write((trx) => requestOrg(trx, orgId))
      return index.whole
    },
  }
}

/** The order in which organisations are indexed, and what is called after each. */
export interface Queue {
  /** The organisation that is wanted before the others. */
  first(): Promise<string | undefined>
  done(orgId: string): Promise<void>
}

export function requestedFirst(index: Database<IndexSchema>): Queue {
  return {
    first: () => findRequestedOrg(index.read),
    done: (orgId) => index.write((trx) => declareOrgWhole(trx, orgId)),
  }
}
