/** Names of files in the data folder, and of refs with a meaning. */
import { basename, dirname, join } from 'node:path'
import type { RefName } from '../../gitstore/refs/ref-transaction.ts'
import type { Repo } from '../../gitstore/repo.ts'
import { branchRefs, main } from '../../gitstore/repo-folders.ts'
import type { Store } from '../../gitstore/store.ts'

/** The databases, below the data folder. */
export const indexFile = 'index.sqlite'
export const eventsFile = 'events.sqlite'
/** Vectors of texts. It can be rebuilt, which may cost money. */
export const vectorsFile = 'vectors.sqlite'
export const credentialsFile = 'credentials.sqlite'
/** The file after `credentials-to-postgres` has moved its rows. */
export const movedCredentialsFile = 'credentials.sqlite.moved'

/** Switches maintenance mode on, for all processes of the data folder. */
export const maintenanceFile = 'maintenance.json'

/** Written when a backup has ended without problems. */
export const backedUpFile = 'backed-up'

/** Holds space that is freed when the disk is full. It may be deleted at any time. */
export const reserveFolder = 'reserve'

/** Holds the name of the data folder's cell. */
export const cellFile = 'cell'

/** Returns the folder that has one folder for each live process. */
export function runFolder(root: string): string {
  return join(root, 'run')
}

/** Returns the folder of search segments, one folder per organisation. It may be deleted at any time. */
export function searchFolder(root: string): string {
  return join(root, 'search')
}

/** Returns the folder of remembered imports, one file per organisation. It may be deleted at any time. */
export function importsFolder(root: string): string {
  return join(root, 'imports')
}

/** Returns the folder of uploaded imports, one folder per organisation. It may be deleted while none runs. */
export function uploadsFolder(root: string): string {
  return join(root, 'uploads')
}

/** Marks the folder of an organisation that is moving to another cell. It takes no changes. */
export const closedFile = 'closed'
/** In the folder of an organisation that came from another cell. Holds how often it has moved. */
export const epochFile = 'epoch'

/** Returns the folder of organisations that other cells are sending. Nothing in it is served. */
export function arrivingFolder(root: string): string {
  return join(root, 'arriving')
}

/** Mirrors that `grove restore` has not put in place yet. Only the restore reads it, and only one runs at a time. */
export const stagingFolder = 'restoring'

/** An organisation's own repository, in its folder. */
export const orgRepository = 'org.git'

export { branchRefs, main }
export const tagRefs = 'refs/tags/'
export const ledgerRef = 'refs/grove/ledger'
/** A commit with the user who deleted the node. Its date is that of the deletion, and its message has the title. */
export const deletionRef = 'refs/grove/deletion'
/** The ledger of an organisation's change sets, in its own repository. */
export const setsRef = 'refs/grove/sets'
/** Drafts of users, in an organisation's own repository: `<12 hex digits of the user>/<id>`. */
export const draftRefs = 'refs/grove/drafts/'
/** Locked, never moved, while a parent edge is added on main. Two commits must not close a cycle together. */
export const graphRef = 'refs/grove/graph'
/** Locked, never moved, during maintenance. Only one process at a time maintains a repository. */
export const maintenanceRef = 'refs/grove/maintenance'

export function branchRef(name: string): string {
  return branchRefs + name
}

/** Returns the branch of a ref below `branchRefs`. */
export function branchName(ref: string): string {
  return ref.slice(branchRefs.length)
}

export function orgFolder(store: Pick<Store, 'root'>, orgId: string): string {
  return join(store.root, orgId)
}

/** Returns the folder of an organisation that another cell has. Nothing serves it. */
export function foreignOrgFolder(store: Store, orgId: string): string {
  return join(store.root, `foreign-${orgId}`)
}

export function orgRepo(store: Pick<Store, 'root'>, orgId: string): Repo {
  return { dir: join(store.root, orgId, orgRepository) }
}

export function nodeRepo(store: Pick<Store, 'root'>, orgId: string, nodeId: string): Repo {
  return { dir: join(store.root, orgId, `${nodeId}.git`) }
}

/** Returns the ledger in a repository: of the node, or of the organisation's change sets. */
export function ledgerIn(repo: Repo): RefName {
  return { repo, ref: basename(repo.dir) === orgRepository ? setsRef : ledgerRef }
}

/** Returns the repository of a node, or of the organisation for its own id. */
export function ownerRepo(store: Pick<Store, 'root'>, orgId: string, ownerId: string): Repo {
  return ownerId === orgId ? orgRepo(store, orgId) : nodeRepo(store, orgId, ownerId)
}

/** Returns the id of a node's repository, or of the organisation for its own. */
export function idOfRepo({ dir }: Repo): string {
  return basename(dir) === orgRepository ? basename(dirname(dir)) : basename(dir, '.git')
}

/** Returns the id of the organisation that has the repository in its folder. */
export function orgIdOfRepo({ dir }: Repo): string {
  return basename(dirname(dir))
}

/**
 * Returns the clone URL of a node by its id, or of the organisation's repository.
 *
 * @param base without a trailing slash
 */
export function cloneUrl(base: string, orgId: string, nodeId = 'org'): string {
  return `${base}/git/${orgId}/${nodeId}.git`
}

/**
 * Returns a node's clone URL with its slug, which becomes the folder's name. It is not percent-encoded, because
 * git encodes the request itself and does not decode the folder's name.
 */
export function readableCloneUrl(base: string, orgId: string, { id, slug }: { id: string; slug: string }): string {
  return `${base}/git/${orgId}/${id}/${slug}.git`
}

/**
 * The folder of deleted items. An organisation that moves to another cell has its deleted nodes in one of this name.
 */
export const trashName = 'trash'

/** Returns the folder of deleted organisations (`<org>.<ms>`) and deleted nodes (`<org>/<node>.<ms>.git`). */
export function trashFolder(store: Store): string {
  return join(store.root, trashName)
}

export function trashedOrgFolder(store: Store, orgId: string, at: Date): string {
  return join(trashFolder(store), `${orgId}.${at.getTime()}`)
}

/**
 * Returns the trash folder of an organisation that has moved. Its name does not begin with an id, so it is not
 * restored.
 */
export function movedOrgFolder(store: Store, orgId: string, at: Date): string {
  return join(trashFolder(store), `moved-${orgId}.${at.getTime()}`)
}

export function trashedNodeRepo(store: Store, orgId: string, nodeId: string, at: Date): Repo {
  return { dir: join(trashFolder(store), orgId, `${nodeId}.${at.getTime()}.git`) }
}

/** Parses the name of a deleted node's repository, without `.git`. Undefined for any other name. */
export function parseTrashedNode(name: string): { readonly nodeId: string; readonly deletedMs: number } | undefined {
  const [nodeId = '', ms = '', ...more] = name.split('.')
  return isId(nodeId) && isTime(ms) && more.length === 0 ? { nodeId, deletedMs: Number(ms) } : undefined
}

/** True if a date can hold this many milliseconds since 1970. */
export function isTime(ms: string): boolean {
  return /^\d{1,15}$/.test(ms)
}

/** Refs that keep the heads of closed, unmerged pull requests from garbage collection. */
export const pinRefs = 'refs/grove/pulls/'

export function pinRef(number: number): string {
  return pinRefs + number
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** True for a UUID in lower case. Ids are folder names, so only these are used in a path. */
export function isId(text: string): boolean {
  return uuid.test(text)
}

/** Returns the id as stored, because UUIDs are accepted in upper case. Other text is returned unchanged. */
export function canonicalId(text: string): string {
  const lower = text.toLowerCase()
  return isId(lower) ? lower : text
}
