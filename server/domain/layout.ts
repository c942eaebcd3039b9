/** The names of files in the data folder, and of the refs with a meaning. */
import { join } from 'node:path'
import type { Repo } from '../../gitstore/repo.ts'
import { branchRefs, main } from '../../gitstore/repo-folders.ts'
import type { Store } from '../../gitstore/store.ts'

/** The databases, below the data folder. */
export const indexFile = 'index.sqlite'
export const credentialsFile = 'credentials.sqlite'
/** As it was when `credentials-to-postgres` had moved its rows. */
export const movedCredentialsFile = 'credentials.sqlite.moved'

/** The name of the cell that the data folder is, below it. */
export const cellFile = 'cell'

/** A folder for each live process, below the data folder. */
export function runFolder(root: string): string {
  return join(root, 'run')
}

/** The segments of search indexes, a folder for each organisation. They follow from the index and may be deleted at any time. */
export function searchFolder(root: string): string {
  return join(root, 'search')
}

/** What imports have found unchanged, a file for each organisation. They may be deleted at any time. */
export function importsFolder(root: string): string {
  return join(root, 'imports')
}

/** Below the folder of an organisation that moves to another cell: it takes no changes. */
export const closedFile = 'closed'
/** Below the folder of an organisation that came from another cell: how often it has moved. */
export const epochFile = 'epoch'

/** Organisations that other cells are sending, one folder each. Nothing in it is served. */
export function arrivingFolder(root: string): string {
  return join(root, 'arriving')
}

/** Mirrors that `grove restore` has copied and not put in place yet. No process reads it; only one restore runs at a time. */
export const stagingFolder = 'restoring'

/** The repository of an organisation itself, below its folder. */
export const orgRepository = 'org.git'

export { branchRefs, main }
export const tagRefs = 'refs/tags/'
export const ledgerRef = 'refs/grove/ledger'
/** Locked, never moved, while a parent edge is added on main: two commits must not close a cycle together. */
export const graphRef = 'refs/grove/graph'
/** Locked, never moved: only one process at a time maintains a repository. */
export const maintenanceRef = 'refs/grove/maintenance'

export function branchRef(name: string): string {
  return branchRefs + name
}

/** Of a ref below `branchRefs`. */
export function branchName(ref: string): string {
  return ref.slice(branchRefs.length)
}

export function orgFolder(store: Pick<Store, 'root'>, orgId: string): string {
  return join(store.root, orgId)
}

/** Of an organisation whose place is another cell: nothing serves it. */
export function foreignOrgFolder(store: Store, orgId: string): string {
  return join(store.root, `foreign-${orgId}`)
}

export function orgRepo(store: Store, orgId: string): Repo {
  return { dir: join(store.root, orgId, orgRepository) }
}

export function nodeRepo(store: Store, orgId: string, nodeId: string): Repo {
  return { dir: join(store.root, orgId, `${nodeId}.git`) }
}

/** The clone URL of a node by its id alone, or of the organisation's own repository. `base` has no slash at its end. */
export function cloneUrl(base: string, orgId: string, nodeId = 'org'): string {
  return `${base}/git/${orgId}/${nodeId}.git`
}

/**
 * The same node; git names its folder by the slug. Not percent-encoded: git decodes no folder's name, and encodes the request
 * itself.
 */
export function readableCloneUrl(base: string, orgId: string, { id, slug }: { id: string; slug: string }): string {
  return `${base}/git/${orgId}/${id}/${slug}.git`
}

/** Of the folder of what is deleted; an organisation that moves to another cell has its deleted nodes in one of that name. */
export const trashName = 'trash'

/** Holds deleted organisations as `<org>.<ms>` and deleted nodes as `<org>/<node>.<ms>.git`. */
export function trashFolder(store: Store): string {
  return join(store.root, trashName)
}

export function trashedOrgFolder(store: Store, orgId: string, at: Date): string {
  return join(trashFolder(store), `${orgId}.${at.getTime()}`)
}

/** Of an organisation that another cell has now. No part of what may be restored: its name begins with no id. */
export function movedOrgFolder(store: Store, orgId: string, at: Date): string {
  return join(trashFolder(store), `moved-${orgId}.${at.getTime()}`)
}

export function trashedNodeRepo(store: Store, orgId: string, nodeId: string, at: Date): Repo {
  return { dir: join(trashFolder(store), orgId, `${nodeId}.${at.getTime()}.git`) }
}

/** The refs that keep the heads of closed, unmerged requests from garbage collection. */
export const pinRefs = 'refs/grove/pulls/'

export function pinRef(number: number): string {
  return pinRefs + number
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Ids are folder names: only text of this form is used in a path. */
export function isId(text: string): boolean {
  return uuid.test(text)
}

/** The id as stored: UUIDs are accepted in upper case. Other text is returned unchanged. */
export function canonicalId(text: string): string {
  const lower = text.toLowerCase()
  return isId(lower) ? lower : text
}
