/** The placement of a cell, a service that shares its database with other cells. */
import { randomInt } from 'node:crypto'
import { createCache } from '../../../gitstore/caching/caches.ts'
import { GitError } from '../../../gitstore/errors.ts'
import { exists } from '../../../gitstore/fs-exists.ts'
import type { Fence, Store } from '../../../gitstore/store.ts'
import { findCell, listCells } from '../../../index/credentials/cells.ts'
import {
  countOwnedCards,
  isMemberBehind,
  listCardsOf,
  listCardsWithOwners,
  listDeletedMembers,
  listOrgsElsewhere,
} from '../../../index/credentials/org-cards.ts'
import {
  type FoundPlace,
  findPlaceRow,
  insertPlaces,
  renewClaim,
  setPlaceState,
} from '../../../index/credentials/places.ts'
import type { CellRow, CredentialsSchema } from '../../../index/credentials/schema.ts'
import { countNodesOf } from '../../../index/derived/org-queries.ts'
import type { IndexDb } from '../../../index/derived/schema.ts'
import type { Database } from '../../../index/sqlite/database.ts'
import { AppError } from '../../base/errors.ts'
import { orgFolder } from '../layout.ts'
import type { Page } from '../pagination.ts'
import type { PlaceChangesInput, Placement } from '../placement.ts'
import type { Services } from '../services.ts'
import { isClosed, refuseClosed } from './closing.ts'
import type { CellLease } from './lease.ts'
import { updateCard } from './org-cards.ts'
import { listPlaceChanges } from './place-changes.ts'

/** Milliseconds for which a place is cached. */
const placeMs = 5_000

interface CellOptions {
  readonly name: string
  readonly url: string
  /** The data folder. */
  readonly root: string
  readonly credentials: Database<CredentialsSchema>
  readonly lease: CellLease
}

export class Cell implements Placement {
  /** The name that the data folder remembers. */
  readonly name: string
  /** The URL at which other cells reach it, without a trailing slash. */
  readonly url: string
  readonly lease: CellLease
  readonly fence: Fence
  /** Places of organisations that were read recently. */
  readonly places = createCache<FoundPlace>('places', { ttl: placeMs })
  readonly #credentials: Database<CredentialsSchema>
  readonly #folders: Pick<Store, 'root'>

  constructor({ name, url, root, credentials, lease }: CellOptions) {
    this.name = name
    this.url = url
    this.lease = lease
    this.fence = { ...lease, enter: (folders) => refuseClosed(root, folders) }
    this.#credentials = credentials
    this.#folders = { root }
  }

  close(): Promise<void> {
    return this.lease.close()
  }

  reportLease(report: (cell: string, leftMs: number) => void): void {
    report(this.name, this.lease.leftMs())
  }

  isHere(orgId: string): boolean {
    return exists(orgFolder(this.#folders, orgId)) && !isClosed(this.#folders, orgId)
  }

  /** True if the place of the organisation is known without reading the directory. */
  isKnown(orgId: string): boolean {
    return exists(orgFolder(this.#folders, orgId)) ? !isClosed(this.#folders, orgId) : this.places.has(orgId)
  }

  async findElsewhere(orgId: string): Promise<FoundPlace | undefined> {
    const place = await this.findAway(orgId)
    return place?.cell === this.name ? undefined : place
  }

  /**
   * Returns the place of an organisation that is not, or no longer, in this cell. The place is this cell while
   * the organisation is being created or moved. Undefined: it is here, or no cell has it.
   */
  async findAway(orgId: string): Promise<FoundPlace | undefined> {
    if (!exists(orgFolder(this.#folders, orgId))) {
      const place = await this.#findPlace(orgId)
      return place?.state === 'gone' ? undefined : place
    }
    if (!isClosed(this.#folders, orgId)) return undefined
    const place = await findPlaceRow(this.#credentials.read, orgId)
    return place?.cell === this.name ? undefined : place
  }

  /** Returns a place that was read at most 5 s ago. */
  async #findPlace(orgId: string): Promise<FoundPlace | undefined> {
    const known = this.places.get(orgId)
    if (known !== undefined) return known
    const found = await findPlaceRow(this.#credentials.read, orgId)
    // Not cached while it is being created or moved, which changes it soon, nor if it is here: the folder is checked
    // first.
    const stays = found?.state === 'here' || found?.state === 'gone'
    if (stays && found.cell !== this.name) this.places.set(orgId, found)
    return found
  }

  async requireOpen(): Promise<void> {
    if (await this.#isOpen()) return
    const other = await this.#chooseOpen()
    throw new AppError(
      'moving',
      `This cell takes no new organisations; ${other === undefined ? 'no other' : 'another'} cell does`,
    )
  }

  /**
   * Returns another cell for new organisations, if this one is closed to them. Undefined: this one takes them, or none.
   */
  async chooseOther(): Promise<CellRow | undefined> {
    return (await this.#isOpen()) ? undefined : this.#chooseOpen()
  }

  async #isOpen(): Promise<boolean> {
    return (await findCell(this.#credentials.read, this.name))?.open !== 0
  }

  /** Chooses one of the cells that take new organisations, by weight. */
  async #chooseOpen(): Promise<CellRow | undefined> {
    const open = (await listCells(this.#credentials.read)).filter(
      ({ open, weight, left }) => open === 1 && weight > 0 && left > 0,
    )
    const total = open.reduce((sum, { weight }) => sum + weight, 0)
    let at = total === 0 ? 0 : randomInt(total)
    return open.find(({ weight }) => {
      at -= weight
      return at < 0
    })
  }

  /** Claims an id. Any process of the cell can renew a claim after a crash. The folder decides between several. */
  async claim(orgId: string): Promise<void> {
    this.lease.before()
    const isClaimed = await this.#credentials.write(
      async (trx) =>
        (await insertPlaces(trx, this.name, [orgId], 'making')) === 1 || (await renewClaim(trx, this.name, orgId)),
    )
    if (!isClaimed) throw new GitError('repo_exists', 'This id is in use or was used before')
  }

  async declare(orgId: string, state: 'here' | 'gone'): Promise<void> {
    if (!(await this.#credentials.write((trx) => setPlaceState(trx, this.name, orgId, state))))
      throw new AppError(
        'outcome_unknown',
        'The change was made, but the directory says that another cell has the organisation',
      )
  }

  updateCard(store: Store, orgId: string): Promise<void> {
    return updateCard({ name: this.name, lease: this.lease, credentials: this.#credentials, store }, orgId)
  }

  listOrgsOf(_index: IndexDb, personId: string, page: Page) {
    return listCardsOf(this.#credentials.read, personId, page)
  }

  countOwnedOrgs(_index: IndexDb, personId: string) {
    return countOwnedCards(this.#credentials.read, personId)
  }

  /** The directory does not count nodes. The index counts those of organisations here. */
  async listOrgsWithOwners(index: IndexDb, page: Page) {
    const { rows, owners, total } = await listCardsWithOwners(this.#credentials.read, page)
    const here = await countNodesOf(
      index,
      rows.map(({ id }) => id),
    )
    const counts = new Map(here.map(({ id, nodes }) => [id, nodes]))
    return { rows: rows.map((row) => ({ ...row, nodes: counts.get(row.id) })), owners, total }
  }

  listOrgsElsewhere(personId: string) {
    return listOrgsElsewhere(this.#credentials.read, this.name, personId)
  }

  listDeletedMembers(): Promise<string[]> {
    return listDeletedMembers(this.#credentials.read, this.name)
  }

  isMemberBehind(person: { readonly id: string; readonly email: string; readonly name: string }): Promise<boolean> {
    return isMemberBehind(this.#credentials.read, person)
  }

  listChanges(input: PlaceChangesInput) {
    return listPlaceChanges(this.#credentials.read, input)
  }
}

/** The dependencies of use cases of a cell. */
export type CellDeps = Services & { readonly placement: Cell }

/** True if the service is a cell. Only the composition of a process needs to know. */
export function isCell(deps: Services): deps is CellDeps {
  return deps.placement instanceof Cell
}

/** @throws Error if the service is the only one of its database */
export function requireCell(deps: Services): CellDeps {
  if (!isCell(deps)) throw new Error('CELL is not set: this service is the only one of its database')
  return deps
}
