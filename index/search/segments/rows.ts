/** What a search reads of `index.sqlite`, synchronously, for the search thread: one transaction is one snapshot. */
import type Sqlite from 'better-sqlite3'
import type { EdgeTable } from '../../derived/schema.ts'

export interface OrgState {
  /** A rebuilt organisation has another one, and counts its versions from the start. */
  readonly epoch: string
  /** Counts the changes of the organisation and of its nodes. */
  readonly version: number
}

/** A node as it is indexed. */
interface ChangedNode {
  readonly id: string
  /** The organisation's version at its last change. */
  readonly changed: number
  readonly title: string
  /** JSON array of strings. */
  readonly tags: string
  /** ISO 8601. */
  readonly updated_at: string
  /** The first bytes of its text; they may end within a character. */
  readonly beginning: Buffer
}

interface Tombstone {
  readonly node_id: string
  readonly changed: number
}

/** A node as it is shown. */
export interface DescribedNode {
  readonly id: string
  readonly title: string
  /** JSON array of strings. */
  readonly tags: string
  /** The head of main, or null. */
  readonly head: string | null
  /** Bytes of UTF-8 of its text. */
  readonly bytes: number
}

type End = 'source' | 'target'

/** Edges as they are followed: lists of one length, since an expansion looks at thousands. */
export interface FollowedEdges {
  readonly others: readonly string[]
  /** Empty strings where they are no connections. */
  readonly connectionTypes: readonly string[]
}

/** Lists of one length. */
interface EdgesFrom {
  readonly targets: readonly string[]
  /** Each names the edge within one snapshot. */
  readonly numbers: readonly string[]
}

export type SearchRows = ReturnType<typeof openRows>

/** Of each text the first bytes are indexed. */
export const INDEXED_BYTES = 262_144

/**
 * Edges of one kind at one end of a node that can be asked for, and of any kind from a node. In the text of statements: SQLite
 * compiles a statement again whose limit is bound, which takes longer than reading a few edges.
 */
const FEW_EDGES = 41
export const MOST_EDGES_AT = 501
export const MOST_EDGES_FROM = 1_001

/** Edges that are counted in either direction: what is dense is dense. */
const MOST_DEGREE = 16

/** Edges in either direction that order suggestions. */
const MOST_COUNTED = 64

/** Degrees that are kept from one question to the next: 5 MB. */
const MOST_DEGREES = 50_000

/** Prepares the statements once. Every function may throw what better-sqlite3 throws. */
export function openRows(db: Sqlite.Database) {
  const { degreeOf, followChanges } = degreesIn(db)
  return {
    /** One snapshot for all that `read` asks. */
    inSnapshot: <T>(read: () => T): T =>
      db.transaction(() => {
        followChanges()
        return read()
      })(),
    ...changesIn(db),
    ...nodesIn(db),
    ...edgesIn(db),
    degreeOf,
  }
}

// substr returns null for an empty blob.
const BEGINNING = `coalesce(substr(cast(node_text.text as blob), 1, ${INDEXED_BYTES}), x'') as beginning`

/** How far an organisation has come, and what has changed in it. */
function changesIn(db: Sqlite.Database) {
  const org = db.prepare<[string], OrgState>('select epoch, version from org where id = ?')
  const changed = db.prepare<[string, number], ChangedNode>(
    `select node.id, node.changed, node.title, node.tags, node.updated_at, ${BEGINNING}
     from node join node_text on node_text.node_id = node.id
     where node.org_id = ? and node.changed > ? order by node.changed`,
  )
  const tombstones = db.prepare<[string, number], Tombstone>(
    'select node_id, changed from tombstone where org_id = ? and changed > ? order by changed',
  )
  const changedIds = db
    .prepare<[string, number], string>('select id from node where org_id = ? and changed > ?')
    .pluck()
  return {
    orgState: (orgId: string): OrgState | undefined => org.get(orgId),
    /** By version, each read when it is asked for. */
    changedAfter: (orgId: string, version: number): IterableIterator<ChangedNode> => changed.iterate(orgId, version),
    tombstonesAfter: (orgId: string, version: number): Tombstone[] => tombstones.all(orgId, version),
    /** Nodes that have changed since this version of the organisation. */
    changedIds: (orgId: string, version: number): string[] => changedIds.all(orgId, version),
  }
}

/** Titles, texts and branches of nodes. */
function nodesIn(db: Sqlite.Database) {
  const described = db.prepare<[string], DescribedNode>(
    `select node.id, node.title, node.tags, node.head, octet_length(node_text.text) as bytes
     from node join node_text on node_text.node_id = node.id where node.id = ?`,
  )
  const title = db.prepare<[string], string>('select title from node where id = ?').pluck()
  const branch = db.prepare<[string, string], unknown>('select 1 from branch where node_id = ? and name = ?')
  const text = db.prepare<[string], string>('select text from node_text where node_id = ?').pluck()
  const textStart = db.prepare<[string], Buffer>(`select ${BEGINNING} from node_text where node_id = ?`).pluck()
  return {
    describe: (id: string): DescribedNode | undefined => described.get(id),
    titleOf: (id: string): string | undefined => title.get(id),
    hasBranch: (id: string, name: string): boolean => branch.get(id, name) !== undefined,
    textOf: (id: string): string => text.get(id) ?? '',
    /** The indexed part of a text. */
    textStartOf: (id: string): string => wholeLetters(textStart.get(id) ?? Buffer.alloc(0)),
  }
}

function edgesIn(db: Sqlite.Database) {
  const edgeCount = db.prepare<[string, string], number>(edgesCounted(MOST_COUNTED)).pluck()
  const firstEdges = [FEW_EDGES, MOST_EDGES_AT].map((most) => ({
    most,
    source: db.prepare<[string, string], Joined>(edgesAt('source', 'target', most)).raw(),
    target: db.prepare<[string, string], Joined>(edgesAt('target', 'source', most)).raw(),
  }))
  const among = {
    source: db.prepare<[string, string, string], Joined>(edgesAmong('source', 'target')).raw(),
    target: db.prepare<[string, string, string], Joined>(edgesAmong('target', 'source')).raw(),
  }
  const from = db
    .prepare<[string], Joined>(
      `select ${joined('target')}, ${joined('rowid')} from (
         select target, rowid from edge where source = ?
         order by edge_type, target, connection_type, key limit ${MOST_EDGES_FROM})`,
    )
    .raw()
  const edges = db.prepare<[string], EdgeTable>(
    'select edge.* from json_each(?) as number cross join edge on edge.rowid = number.value',
  )
  const descendants = db.prepare<[string], string>(BELOW).pluck()
  return {
    /** As suggestions are ordered: edges in either direction, of each the first MOST_COUNTED. */
    edgeCountOf: (id: string): number => edgeCount.get(id, id) ?? 0,
    /** The first edges of this type at this end of the node, by their other ends. @param limit up to MOST_EDGES_AT */
    edgesAt: (id: string, end: End, type: EdgeTable['edge_type'], limit: number): FollowedEdges => {
      const statement = firstEdges.find(({ most }) => limit <= most)?.[end]
      return followed(statement?.get(id, type), limit)
    },
    /** Of these nodes those at the other end of such an edge. */
    edgesTo: (id: string, end: End, type: EdgeTable['edge_type'], others: readonly string[]): FollowedEdges =>
      followed(among[end].get(id, type, JSON.stringify(others)), others.length * MOST_EDGES_AT),
    /** The first MOST_EDGES_FROM edges from the node, by their types and targets. */
    edgesFrom: (id: string): EdgesFrom => {
      const [targets, numbers] = apart(from.get(id))
      return { targets, numbers }
    },
    edges: (numbers: readonly string[]): EdgeTable[] => edges.all(`[${numbers.join()}]`),
    /** The node and all below it, in the organisation or not. */
    descendantsOf: (id: string): string[] => descendants.all(id),
  }
}

/** Degrees of nodes, kept from one question to the next until the database changes. */
function degreesIn(db: Sqlite.Database) {
  // What other connections have committed, and this one.
  const changes = db.prepare<[], number>('pragma data_version').pluck()
  const ownChanges = db.prepare<[], number>('select total_changes()').pluck()
  const degree = db.prepare<[string, string], number>(edgesCounted(MOST_DEGREE)).pluck()
  const degrees = new Map<string, number>()
  let degreesOf = ''
  return {
    /** Forgets degrees that may be others since. */
    followChanges: (): void => {
      const state = `${changes.get()} ${ownChanges.get()}`
      if (state !== degreesOf || degrees.size > MOST_DEGREES) degrees.clear()
      degreesOf = state
    },
    /** How many edges it has, of those in either direction MOST_DEGREE at most. */
    degreeOf: (id: string): number => {
      const known = degrees.get(id) ?? degree.get(id, id) ?? 0
      degrees.set(id, known)
      return known
    },
  }
}

const BELOW = `
  with recursive below (id) as (
    select ?
    union
    select edge.target from below join edge on edge.source = below.id and edge.edge_type = 'parent_child')
  select id from below`

/** The edges from the first parameter and those to the second one. @param most that are counted of each */
function edgesCounted(most: number): string {
  return `select (select count(*) from (select 1 from edge where source = ? limit ${most}))
               + (select count(*) from (select 1 from edge where target = ? limit ${most}))`
}

function edgesAt(here: End, there: End, most: number): string {
  return inOrder(there, `${here} = ? and edge_type = ? order by ${there}, connection_type limit ${most}`)
}

function edgesAmong(here: End, there: End): string {
  const isAmong = `${there} in (select value from json_each(?))`
  return inOrder(there, `${here} = ? and edge_type = ? and ${isAmong} order by ${there}, connection_type`)
}

function inOrder(there: End, condition: string): string {
  return `select ${joined('other')}, ${joined('connection_type')}
          from (select ${there} as other, connection_type from edge where ${condition})`
}

/** Two columns of rows, each as one string; null where there is no row. */
type Joined = readonly [string | null, string | null]

/** One long string is read faster than many rows. A line break is in no id and no type of a connection. */
function joined(column: string): string {
  return `group_concat(${column}, char(10))`
}

function apart([one, other]: Joined = [null, null]): [string[], string[]] {
  return [one?.split('\n') ?? [], other?.split('\n') ?? []]
}

function followed(rows: Joined | undefined, limit: number): FollowedEdges {
  const [others, connectionTypes] = apart(rows)
  return { others: others.slice(0, limit), connectionTypes: connectionTypes.slice(0, limit) }
}

/** Decodes the bytes without an incomplete character at their end. */
export function wholeLetters(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
}
