/**
 * Where organisations are, and whether this process may write. A service that is the only one of its database answers with
 * `singleService`, a cell with `Cell` (cells/cell.ts): the code between asks nothing else about cells.
 */
import type { Fence, Store } from '../../gitstore/store.ts'
import type { ChangedPlace } from '../../index/credentials/place-changes.ts'
import type { FoundPlace } from '../../index/credentials/places.ts'
import {
  listOrgsOf,
  type listOrgsWithOthers,
  listOrgsWithOwners,
  type OrgRow,
} from '../../index/derived/org-queries.ts'
import type { IndexDb, Role } from '../../index/derived/schema.ts'
import type { Page } from './pagination.ts'

/** Whether this process may write. */
export interface Lease extends Omit<Fence, 'enter'> {
  isHeld(): boolean
}

/** What the index and the directory both know of an organisation. */
export type OrgColumns = Omit<OrgRow, 'head' | 'epoch' | 'version' | 'graph_version'>

type IndexedOrgs = Awaited<ReturnType<typeof listOrgsWithOwners>>
type IndexedOrg = IndexedOrgs['rows'][number]

/** As the index lists them; `nodes` is absent for the organisations of other services. */
interface OrgsWithOwners extends Pick<IndexedOrgs, 'owners' | 'total'> {
  readonly rows: readonly (Omit<IndexedOrg, 'nodes'> & { readonly nodes?: IndexedOrg['nodes'] | undefined })[]
}

export interface PlaceChangesInput {
  /** The `next` of the page before; absent: from the beginning. */
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
  /** The next process need not wait for the end of the lease. */
  close(): Promise<void>
  /** Calls back with the name of the cell and the milliseconds that its lease lasts; never, if there is no lease. */
  reportLease(report: (cell: string, leftMs: number) => void): void

  /** False if the directory must be read to say which service has the organisation. */
  isHere(orgId: string): boolean
  /** The other service that has the organisation; undefined: this one has it, or none. */
  findElsewhere(orgId: string): Promise<FoundPlace | undefined>

  /** @throws AppError moving: the operator has closed this service to new organisations */
  requireOpen(): Promise<void>
  /**
   * Call it before the repository of a new organisation is made: one service alone gets an organisation of that id.
   *
   * @throws GitError repo_exists: the organisation exists here or elsewhere, or was deleted; AppError storage_readonly
   */
  claim(orgId: string): Promise<void>
  /**
   * Tells the directory that the folder has come (`here`), or is in the trash (`gone`).
   *
   * @throws AppError outcome_unknown: the directory has the organisation elsewhere
   */
  declare(orgId: string, state: 'here' | 'gone'): Promise<void>
  /**
   * Writes to the directory what has changed in org.git.
   *
   * @throws GitError as readOrgRecord, busy; AppError storage_readonly
   */
  updateCard(store: Store, orgId: string): Promise<void>

  /** The organisations of a person in all services, the oldest first. */
  listOrgsOf(
    index: IndexDb,
    personId: string,
    page: Page,
  ): Promise<{ readonly rows: readonly (OrgColumns & { readonly role: Role })[]; readonly total: number }>
  /** The organisations of all services, the oldest first. */
  listOrgsWithOwners(index: IndexDb, page: Page): Promise<OrgsWithOwners>
  /** The organisations that a person has in other services only. */
  listOrgsElsewhere(personId: string): ReturnType<typeof listOrgsWithOthers>
  /** People without an account who are still members of organisations here, by the directory. */
  listDeletedMembers(): Promise<string[]>
  /** Whether the directory has a member file, in any service, with another address or name of that person. */
  isMemberBehind(person: { readonly id: string; readonly email: string; readonly name: string }): Promise<boolean>
  /** The directory as it changes, for a proxy. */
  listChanges(input: PlaceChangesInput): Promise<PlaceChanges>
}

const done = Promise.resolve()
const nothing = () => {}
const alwaysHeld: Lease = { isHeld: () => true, before: nothing, after: nothing }

/** Every organisation is here, and this service may always write. */
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
  listOrgsWithOwners,
  listOrgsElsewhere: () => Promise.resolve([]),
  listDeletedMembers: () => Promise.resolve([]),
  isMemberBehind: () => Promise.resolve(false),
  listChanges: ({ since = '0' }) => Promise.resolve({ places: [], next: since, more: false }),
}
