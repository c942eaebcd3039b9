/** Serves organisations while the index is rebuilt, each as soon as it is indexed. Requested ones come first. */
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
  /** True if every organisation is indexed. */
  isWhole(): boolean
  /** The same database, complete or not. */
  readonly all: Database<IndexSchema>
  /**
   * The index for requests of one organisation. Until the organisation is indexed with all of its nodes, each use
   * throws DatabaseError busy. The organisation is then requested from the process that rebuilds the index.
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

/** The order in which organisations are indexed, with a function that is called after each. */
export interface Queue {
  /** The organisation to index before the others. */
  first(): Promise<string | undefined>
  done(orgId: string): Promise<void>
}

export function requestedFirst(index: Database<IndexSchema>): Queue {
  return {
    first: () => findRequestedOrg(index.read),
    done: (orgId) => index.write((trx) => declareOrgWhole(trx, orgId)),
  }
}
