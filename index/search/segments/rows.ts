/** Reads `index.sqlite` for the search thread. Blocks. One transaction is one snapshot. */
import type Sqlite from 'better-sqlite3'
import type { ChangedOrg, OrgState } from '../../derived/changed-nodes.ts'
import type { EdgeTable } from '../../derived/schema.ts'
import { propertyRowsIn } from '../../properties/property-rows.ts'

/** The indexed fields of a node. */
interface ChangedNode {
  readonly id: string
  /** The organisation's version at its last change. */
  readonly changed: number
  readonly title: string
  /** JSON array of strings. */
  readonly tags: string
  /** ISO 8601. */
  readonly updated_at: string
  /** The first bytes of the text. They may end within a character. */
  readonly beginning: Buffer
}

interface Tombstone {
  readonly node_id: string
  readonly changed: number
}

/** The fields of a node that results show. */
export interface DescribedNode {
  readonly id: string
  readonly title: string
  /** JSON array of strings. */
  readonly tags: string
  /** ISO 8601. */
  readonly updated_at: string
  /** The head of main; null if main does not exist. */
  readonly head: string | null
  /** The length of the text in bytes of UTF-8. */
  readonly bytes: number
}

type End = 'source' | 'target'

/** Edges to follow, as two lists of the same length. An expansion reads thousands of them. */
export interface FollowedEdges {
  readonly others: readonly string[]
  /** Empty strings for edges that are not connections. */
  readonly connectionTypes: readonly string[]
}

/** Edges from a node, as two lists of the same length. */
interface EdgesFrom {
  readonly targets: readonly string[]
  /** Row ids of the edges, valid within one snapshot. */
  readonly numbers: readonly string[]
}

export type SearchRows = ReturnType<typeof openRows>

/** The number of bytes at the start of a text that are indexed. */
export const INDEXED_BYTES = 262_144

/**
 * Limits of queries for edges. `AT` is for edges of one type at one end of a node, `FROM` for all edges from a node.
 * They are part of the SQL. SQLite recompiles a statement with a bound limit at each call, which takes longer than
 * reading a few edges.
 */
const FEW_EDGES = 41
export const MOST_EDGES_AT = 501
export const MOST_EDGES_FROM = 1_001

/** The limit of counted edges in either direction. Above it, a node is simply dense. */
const MOST_DEGREE = 16

/** The limit of counted edges in either direction, for the order of suggestions. */
const MOST_COUNTED = 64

/** The number of degrees cached between queries, 5 MB. */
const MOST_DEGREES = 50_000

/** Prepares the statements. Every function may throw the errors of better-sqlite3. */
export function openRows(db: Sqlite.Database) {
  const { degreeOf, followChanges } = degreesIn(db)
  return {
    /** Runs `read` in one transaction, on one snapshot. */
    inSnapshot: <T>(read: () => T): T =>
      db.transaction(() => {
        followChanges()
        return read()
      })(),
    ...changesIn(db),
    ...nodesIn(db),
    ...edgesIn(db),
    ...propertyRowsIn(db),
    degreeOf,
  }
}

// substr returns null for an empty blob.
const BEGINNING = `coalesce(substr(cast(node_text.text as blob), 1, ${INDEXED_BYTES}), x'') as beginning`

/** Queries for an organisation's version and its changes. */
function changesIn(db: Sqlite.Database) {
  const org = db.prepare<[string], OrgState>('select epoch, version from org where id = ?')
  const orgs = db.prepare<[string], ChangedOrg>(
    'select org.id, epoch, version from json_each(?) as wanted cross join org on org.id = wanted.value',
  )
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
  const changedCount = db
    .prepare<[string, number], number>('select count(*) from node where org_id = ? and changed > ?')
    .pluck()
  return {
    orgState: (orgId: string): OrgState | undefined => org.get(orgId),
    /** Returns the states of those organisations that exist. */
    orgStates: (orgIds: readonly string[]): Map<string, OrgState> =>
      new Map(orgs.all(JSON.stringify(orgIds)).map(({ id, ...state }) => [id, state])),
    /** Iterates over changed nodes by version, and reads each row lazily. */
    changedAfter: (orgId: string, version: number): IterableIterator<ChangedNode> => changed.iterate(orgId, version),
    countChanged: (orgId: string, version: number): number => changedCount.get(orgId, version) ?? 0,
    tombstonesAfter: (orgId: string, version: number): Tombstone[] => tombstones.all(orgId, version),
    /** Lists nodes that changed after this version of the organisation. */
    changedIds: (orgId: string, version: number): string[] => changedIds.all(orgId, version),
  }
}

/** Queries for titles, texts and branches of nodes. */
function nodesIn(db: Sqlite.Database) {
  const described = db.prepare<[string], DescribedNode>(
    `select node.id, node.title, node.tags, node.updated_at, node.head, octet_length(node_text.text) as bytes
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
    /** Returns the indexed part of a text. */
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
  const parent = db
    .prepare<[string, string], string>(
      `select node.id from (
         select source from edge where target = ? and edge_type = 'parent_child' order by source limit ${MOST_EDGES_AT})
       join node on node.id = source where node.org_id = ? order by node.title_key, node.id limit 1`,
    )
    .pluck()
  return {
    /** Counts edges in both directions for the order of suggestions, up to MOST_COUNTED in each. */
    edgeCountOf: (id: string): number => edgeCount.get(id, id) ?? 0,
    /** Lists the first edges of a type at one end of the node. @param limit up to MOST_EDGES_AT */
    edgesAt: (id: string, end: End, type: EdgeTable['edge_type'], limit: number): FollowedEdges => {
      const statement = firstEdges.find(({ most }) => limit <= most)?.[end]
      return followed(statement?.get(id, type), limit)
    },
    /** Lists the edges of a type between the node and `others`. */
    edgesTo: (id: string, end: End, type: EdgeTable['edge_type'], others: readonly string[]): FollowedEdges =>
      followed(among[end].get(id, type, JSON.stringify(others)), others.length * MOST_EDGES_AT),
    /** Lists the first MOST_EDGES_FROM edges from the node, by type and target. */
    edgesFrom: (id: string): EdgesFrom => {
      const [targets, numbers] = apart(from.get(id))
      return { targets, numbers }
    },
    /** Returns the first parent by title in the organisation. */
    parentOf: (id: string, orgId: string): string | undefined => parent.get(id, orgId),
    edges: (numbers: readonly string[]): EdgeTable[] => edges.all(`[${numbers.join()}]`),
    /** Lists the node and all its descendants, also those in other organisations. */
    descendantsOf: (id: string): string[] => descendants.all(id),
  }
}

/** Caches the degrees of nodes between queries, until the database changes. */
function degreesIn(db: Sqlite.Database) {
  // These two change with commits of other connections and of this one.
  const changes = db.prepare<[], number>('pragma data_version').pluck()
  const ownChanges = db.prepare<[], number>('select total_changes()').pluck()
  const degree = db.prepare<[string, string], number>(edgesCounted(MOST_DEGREE)).pluck()
  const degrees = new Map<string, number>()
  let degreesOf = ''
  return {
    /** Clears the cache if the database has changed. */
    followChanges: (): void => {
      const state = `${changes.get()} ${ownChanges.get()}`
      if (state !== degreesOf || degrees.size > MOST_DEGREES) degrees.clear()
      degreesOf = state
    },
    /** Counts the edges of a node, up to MOST_DEGREE in each direction. */
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

/** Returns SQL that counts edges from the first and to the second parameter. @param most the limit for each */
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

/** Two columns of rows, each joined to one string; null without rows. */
type Joined = readonly [string | null, string | null]

/**
 * Joins a column, because one long string is read faster than many rows. Ids and connection types have no line breaks.
 */
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

/** Decodes bytes without an incomplete character at the end. */
export function wholeLetters(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
}
