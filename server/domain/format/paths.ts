/** The names of files in the repositories of nodes and organisations, and in ledgers. Imports nothing. */

export const nodeFile = 'node.json'
export const textFile = 'content.md'
/** Read as the content if there is no content.md. */
export const readmeFile = 'README.md'

/** True if the format reserves the path, in any case of letters. */
export function isReserved(path: string): boolean {
  const [first = ''] = path.split('/')
  return reserved.includes(first.normalize('NFC').toLowerCase())
}

const reserved: readonly string[] = [nodeFile, textFile, readmeFile.toLowerCase(), 'parents', 'connections']

/** A folder of edges in a node's repository. */
export type EdgeFolderName = 'parents' | 'connections'

export function edgeFile(folder: EdgeFolderName, id: string): string {
  return `${folder}/${id}.json`
}

/** The name of an edge in its organisation: `<child>/parents/<parent>` or `<holder>/connections/<id>`. */
export function edgeName(holder: string, folder: EdgeFolderName, id: string): string {
  return `${holder}/${folder}/${id}`
}

/** An edge as responses show it. */
export interface NamedEdge {
  /** The result of edgeName. */
  readonly id: string
  readonly source: string
  readonly target: string
  readonly edge_type: 'parent_child' | 'connection'
  readonly connection_type: string
  readonly label: string
}

const edgePaths: Readonly<Record<EdgeFolderName, RegExp>> = {
  parents: /^parents\/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.json$/,
  connections: /^connections\/([A-Za-z0-9_-]{1,64})\.json$/,
}

/** The id of the edge whose file is at `path`; undefined for another file. */
export function edgeIdAt(folder: EdgeFolderName, path: string): string | undefined {
  return edgePaths[folder].exec(path)?.[1]
}

/** True if the path is in the folder, valid or not. */
export function liesIn(folder: EdgeFolderName, path: string): boolean {
  return path.startsWith(`${folder}/`)
}

export const orgFile = 'org.json'
export const membersFolder = 'members'

export function memberFile(id: string): string {
  return `${membersFolder}/${id}.json`
}

/** The file of `org.git` with the earlier addresses of a user who left. Folders by the id keep each tree small. */
export function formerMemberFile(id: string): string {
  return `former-members/${id.slice(0, 2)}/${id}.json`
}

/** The folder of `org.git` with the definitions of types. */
export const typesFolder = 'types'

export function typeFile(name: string): string {
  return `${typesFolder}/${name}.json`
}

/**
 * The file of a pull request in the ledger. In a flat folder of 100,000 pull requests, each append cost 136 ms and 2.4
 * MB.
 */
export function pullFile(number: number): string {
  return `${pullsFolder}/${Math.floor(number / 10_000)}/${Math.floor(number / 100) % 100}/${number}.json`
}

export const pullsFolder = 'pulls'
/** The file in the ledger with the highest number of a pull request. */
export const lastNumberFile = 'last'

/** The file in the ledger of change sets with the number of this set. */
export function setIdFile(id: string): string {
  return `ids/${id.slice(0, 2)}/${id}`
}

const reviewsFolder = 'reviews'

/** The folder in the ledger with the entries of a pull request. */
export function entriesFolder(number: number): string {
  return `${reviewsFolder}/${Math.floor(number / 10_000)}/${Math.floor(number / 100) % 100}/${number}`
}

/** The file of an entry. A flat folder of 10,000 entries would add 1.8 GB of trees. */
export function entryFile(number: number, entry: number): string {
  return `${entriesFolder(number)}/${Math.floor(entry / 100)}/${entry}.json`
}

/** The file in org.git with what was erased from a node's ledger. */
export function erasedFile(nodeId: string): string {
  return `${erasedFolder}/${nodeId}.json`
}

export const erasedFolder = 'erased'

/** Parses the path of an entry's file. Undefined for another file. */
export function parseEntryFile(path: string): { number: number; entry: number } | undefined {
  const [, number, entry] = /^reviews\/\d+\/\d+\/(\d{1,9})\/\d+\/([1-9]\d{0,5})\.json$/.exec(path) ?? []
  const found = { number: Number(number), entry: Number(entry) }
  return path === entryFile(found.number, found.entry) ? found : undefined
}

/** The file in the ledger with the checks of a commit. */
export function checksFile(commit: string): string {
  return `checks/${commit.slice(0, 2)}/${commit.slice(2)}.json`
}

/** Parses the path of a file of checks. Returns the id of the commit; undefined for another file. */
export function parseChecksFile(path: string): string | undefined {
  const [, first = '', rest = ''] = /^checks\/([0-9a-f]{2})\/([0-9a-f]{38})\.json$/.exec(path) ?? []
  return first === '' ? undefined : first + rest
}

/** The folder in the ledger with the users who pushed commits by other authors. */
export const pushedFolder = 'pushed'

/** The file in the ledger with the users who pushed a commit by another author. */
export function pushedFile(commit: string): string {
  return `${pushedFolder}/${commit.slice(0, 2)}/${commit.slice(2)}.json`
}
