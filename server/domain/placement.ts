/**
 * The placement of organisations, and the right of this process to write.
 *
 * A service that is the only one of its database uses `singleService`. A cell uses `Cell` (cells/cell.ts). Other use
 * cases know nothing more about cells.
 */
import type { Fence, Store } from '../../gitstore/store.ts'
import type { ChangedPlace } from '../../index/credentials/place-changes.ts'
import type { FoundPlace } from '../../index/credentials/places.ts'
import {
  countOwnedOrgs,
  listOrgsOf,
  type listOrgsWithOthers,
  listOrgsWithOwners,
  type OrgRow,
} from '../../index/derived/org-queries.ts'
import type { IndexDb, Role } from '../../index/derived/schema.ts'
import type { Page } from './pagination.ts'

/** The right of this process to write. */
export interface Lease extends Omit<Fence, 'enter'> {
  isHeld(): boolean
}

/** The columns of an organisation that only the index has. */
type IndexColumns =
  | ('head' | 'epoch' | 'version' | 'graph_version' | 'rules' | 'rules_head' | 'embeddings' | 'home_node_id')
  | ('requires' | 'closed' | 'sets')

/** The columns of an organisation that the index and the directory both have. */
export type OrgColumns = Omit<OrgRow, IndexColumns>

type IndexedOrgs = Awaited<ReturnType<typeof listOrgsWithOwners>>
type IndexedOrg = IndexedOrgs['rows'][number]

/** A page of the index's list. `nodes` is absent for the organisations of other services. */
interface OrgsWithOwners extends Pick<IndexedOrgs, 'owners' | 'total'> {
  readonly rows: readonly (Omit<IndexedOrg, 'nodes'> & { readonly nodes?: IndexedOrg['nodes'] | undefined })[]
}

export interface PlaceChangesInput {
  /** The `next` of the previous page. Absent: from the beginning. */
  readonly since?: string
  readonly limit: number
}

export interface PlaceChanges {
  readonly places: readonly Omit<ChangedPlace, 'since'>[]
  readonly next: string
  readonly more: boolean
}

/** Methods that read or write the directory throw DatabaseError. */
export interface Placement {
  readonly lease: Lease
  /** The lease and the marks of organisations that move, for transactions of refs. */
  readonly fence: Fence
  /** Gives up the lease, so that the next process need not wait for its end. */
  close(): Promise<void>
  /** Calls back with the cell's name and the milliseconds left of its lease. Does nothing without cells. */
  reportLease(report: (cell: string, leftMs: number) => void): void

  /** False if the directory must be read to say which service has the organisation. */
  isHere(orgId: string): boolean
  /** Returns the other service that has the organisation. Undefined: this one has it, or none. */
  findElsewhere(orgId: string): Promise<FoundPlace | undefined>

  /** @throws AppError moving: the operator has closed this service to new organisations */
  requireOpen(): Promise<void>
  /**
   * Claims the id of a new organisation, before its repository is created. Only one service gets it.
   *
   * @throws GitError repo_exists: the organisation exists here or elsewhere, or was deleted; AppError storage_readonly
   */
  claim(orgId: string): Promise<void>
  /**
   * Records in the directory that the folder is present (`here`) or in the trash (`gone`).
   *
   * @throws AppError outcome_unknown: the directory has the organisation elsewhere
   */
  declare(orgId: string, state: 'here' | 'gone'): Promise<void>
  /**
   * Updates the directory to match org.git.
   *
   * @throws errors of `readOrgRecord`; GitError busy
   * @throws AppError storage_readonly
   */
  updateCard(store: Store, orgId: string): Promise<void>

  /** Lists the organisations of a user in all services, oldest first. */
  listOrgsOf(
    index: IndexDb,
    personId: string,
    page: Page,
  ): Promise<{ readonly rows: readonly (OrgColumns & { readonly role: Role })[]; readonly total: number }>
  /** Counts the organisations that a user owns in all services. */
  countOwnedOrgs(index: IndexDb, personId: string): Promise<number>
  /** Lists the organisations of all services, oldest first. */
  listOrgsWithOwners(index: IndexDb, page: Page): Promise<OrgsWithOwners>
  /** Lists the organisations that a user has in other services. */
  listOrgsElsewhere(personId: string): ReturnType<typeof listOrgsWithOthers>
  /** Lists users without an account who are still members of organisations here, by the directory. */
  listDeletedMembers(): Promise<string[]>
  /** True if any service has a member file with an old e-mail address or name. */
  isMemberBehind(person: { readonly id: string; readonly email: string; readonly name: string }): Promise<boolean>
  /** Lists changes of the directory, for a proxy. */
  listChanges(input: PlaceChangesInput): Promise<PlaceChanges>
}

const done = Promise.resolve()
const nothing = () => {}
const alwaysHeld: Lease = { isHeld: () => true, before: nothing, after: nothing }

/** The placement without cells: every organisation is here, and this service may always write. */
export const singleService: Placement = {
  lease: alwaysHeld,
  fence: { before: nothing, enter: nothing, after: nothing },
  close: () => done,
  reportLease: nothing,
  isHere: () => true,
  findElsewhere: () => Promise.resolve(undefined),
  requireOpen: () => done,
  claim: () => done,
  declare: () => done,
  updateCard: () => done,
  listOrgsOf,
  countOwnedOrgs,
  listOrgsWithOwners,
  listOrgsElsewhere: () => Promise.resolve([]),
  listDeletedMembers: () => Promise.resolve([]),
  isMemberBehind: () => Promise.resolve(false),
  listChanges: ({ since = '0' }) => Promise.resolve({ places: [], next: since, more: false }),
}
