/** Compares two indexes of the same repositories. */
import type Sqlite from 'better-sqlite3'
import { openToRead } from '../sqlite/backup.ts'

export interface Difference {
  readonly orgId: string
  /** Undefined for a row of the organisation itself. */
  readonly nodeId: string | undefined
  /** The table and the row's key within its node, for example `branch main`. */
  readonly row: string
  /** Columns that differ, with their values in `index` and in `rebuilt`. Empty if one database lacks the row. */
  readonly columns: Readonly<Record<string, readonly [index: unknown, rebuilt: unknown]>>
  readonly only: 'index' | 'rebuilt' | undefined
}

interface Table {
  readonly name: string
  /** SQL expressions for the organisation's and the node's id of the row `one`. */
  readonly place: readonly [org: string, node: string]
  readonly key: readonly string[]
  readonly columns: readonly string[]
  /** A query for the right rows. Only for rows that follow from others of the same index. */
  readonly derived?: string
}

const nodeOrg = `coalesce((select org_id from node where id = one.node_id),
  (select org_id from proposed_node where id = one.node_id))`
const pullColumns = `id title description source_branch target_branch status is_draft author author_email created_at
  recorded_at source_commit target_commit ahead behind ended_by ended_by_email ended_at author_id comments open_threads last_entry
  last_entry_at stacked_on overridden opened_via ended_via by_agent change_set`

/**
 * All tables and columns that follow from the refs. Excludes change counters: versions, epochs, tombstones, chains of
 * logs.
 */
const tables: readonly Table[] = [
  table(
    'org',
    ['one.id', 'null'],
    '',
    'id name description vault_id published require_pull_requests rules rules_head embeddings home_node_id requires closed created_at updated_at head',
  ),
  table('member', ['one.org_id', 'null'], 'user_id', 'email name role created_at former_emails'),
  table(
    'node',
    ['one.org_id', 'one.id'],
    '',
    'title description tags properties created_at updated_at head ledger entries_ledger title_key',
  ),
  table(
    'proposed_node',
    ['one.org_id', 'one.id'],
    '',
    'proposed_in title description tags properties created_at updated_at head ledger entries_ledger',
  ),
  table('node_text', [nodeOrg, 'one.node_id'], '', 'text'),
  table('node_tag', [nodeOrg, 'one.node_id'], 'tag', ''),
  table('tagged_node', ['one.org_id', 'one.node_id'], 'tag title_key', 'is_own'),
  table('branch', [nodeOrg, 'one.node_id'], 'name', 'head'),
  table('edge', ['one.org_id', 'one.holder'], 'edge_type key', 'source target connection_type label title_key'),
  table('pull', ['one.org_id', 'one.node_id'], 'number', pullColumns),
  table(
    'review_entry',
    [nodeOrg, 'one.node_id'],
    'number entry',
    'id kind verdict thread user_id at head path resolved deleted body',
  ),
  table('review_mention', [nodeOrg, 'one.node_id'], 'number entry user_id', ''),
  table('reviewer', ['one.org_id', 'one.node_id'], 'number user_id', 'name since'),
  table('check_state', [nodeOrg, 'one.node_id'], 'commit_id name', 'state user_id at body blob'),
  table('involvement', ['one.org_id', 'one.node_id'], 'number user_id', 'last_own last_mention last_answer'),
]

const roots = `select id, org_id, not exists (
  select 1 from main.edge join main.node as parent on parent.id = edge.source and parent.org_id = node.org_id
  where edge.target = node.id and edge.edge_type = 'parent_child') as is_root from main.node`
const levelCounts = `select org_id, source as parent, count(*) as nodes from main.edge
  where edge_type = 'parent_child' group by org_id, source
  union all select org_id, '', count(*) from main.node where is_root = 1 group by org_id`
const usage = `select org_id, sum(nodes) as nodes, sum(bytes) as bytes from (
  select org_id, count(*) as nodes, coalesce(sum(bytes), 0) as bytes from main.node group by org_id
  union all select org_id, count(*), coalesce(sum(bytes), 0) from main.proposed_node group by org_id
  union all select org_id, 0, sum(bytes) from main.trash_usage group by org_id) group by org_id`

/** Counts of tags. In an index of some nodes they are smaller. */
const tagTable = table('org_tag', ['one.org_id', 'null'], 'tag', 'nodes within tag_key')

/** Levels of the tree, and counts. They depend on several nodes, so a damaged repository would change them in a rebuilt index. */
const levelTables: readonly Table[] = [
  { ...table('node', ['one.org_id', 'one.id'], '', 'is_root'), derived: roots },
  { ...table('level_count', ['one.org_id', "nullif(one.parent, '')"], 'parent', 'nodes'), derived: levelCounts },
  { ...table('org_usage', ['one.org_id', 'null'], '', 'nodes bytes'), derived: usage },
]

/**
 * Returns the differences between the databases in two files. Compares each table in one transaction. Blocks the event
 * loop.
 *
 * @param isPart true if `rebuilt` has only some nodes. Then only rows of these, and of their organisations, are compared
 * @throws Error if a file is missing, damaged or of another version
 */
export function differencesBetween(index: string, rebuilt: string, isPart = false): Difference[] {
  const db = openToRead(index)
  try {
    db.prepare('attach ? as rebuilt').run(rebuilt)
    const isSettled = db.prepare('select 1 from unsettled_parent limit 1').get() === undefined
    const compared = [...tables, ...(isPart ? [] : [tagTable]), ...(isSettled ? levelTables : [])]
    return compared.flatMap((table) => differencesIn(db, table, isPart))
  } finally {
    db.close()
  }
}

/**
 * Returns what an older version indexed and this one has not read again.
 *
 * An organisation is its id, and a node is `<org id>/<node id>`.
 *
 * @throws the errors of `differencesBetween`
 */
export function listUnread(index: string): ReadonlySet<string> {
  const db = openToRead(index)
  try {
    const unread = `select id from org where description is null or rules_head is not head
      union all select org_id || '/' || id from any_node where entries_ledger is not ledger`
    return new Set(db.prepare(unread).pluck().all().map(String))
  } finally {
    db.close()
  }
}

type Row = Record<string, unknown>

function differencesIn(
  db: Sqlite.Database,
  { name, place, key, columns, derived }: Table,
  isPart: boolean,
): Difference[] {
  const select = (schema: string) => {
    const [org, node] = place.map((sql) => sql.replace(/from (node|proposed_node)\b/g, `from ${schema}.$1`))
    const from = derived !== undefined && schema === 'rebuilt' ? `(${derived})` : `${schema}.${name}`
    const known = `${org} in (select id from rebuilt.org) and (${node} is null or ${node} in (select id from rebuilt.any_node))`
    const where = isPart && derived === undefined ? ` where ${known}` : ''
    return `select ${[`${org} as "place.org"`, `${node} as "place.node"`, ...key, ...columns].join(', ')} from ${from} as one${where}`
  }
  const both = db.transaction(() => [
    db.prepare(`${select('main')} except ${select('rebuilt')}`).all() as Row[], // the columns of `select`
    db.prepare(`${select('rebuilt')} except ${select('main')}`).all() as Row[], // the same columns
  ])
  const [here = [], there = []] = both()
  const keyOf = (row: Row) => JSON.stringify(['place.org', 'place.node', ...key].map((column) => row[column]))
  const pairs = new Map<string, [Row | undefined, Row | undefined]>(here.map((row) => [keyOf(row), [row, undefined]]))
  for (const row of there) pairs.set(keyOf(row), [pairs.get(keyOf(row))?.[0], row])
  return [...pairs.values()].map(([mine, theirs]) => {
    const one: Row = mine ?? theirs ?? {}
    const differing = columns.filter((column) => mine && theirs && mine[column] !== theirs[column])
    return {
      orgId: String(one['place.org']),
      nodeId: one['place.node'] === null ? undefined : String(one['place.node']),
      row: [name, ...key.map((column) => one[column])].join(' '),
      columns: Object.fromEntries(differing.map((column) => [column, [mine?.[column], theirs?.[column]] as const])),
      only: mine && theirs ? undefined : mine ? ('index' as const) : ('rebuilt' as const),
    }
  })
}

/** @param key columns that identify a row within its node, @param columns other columns; both separated by spaces */
function table(name: string, place: Table['place'], key: string, columns: string): Table {
  return { name, place, key: key.split(/\s+/).filter(Boolean), columns: columns.split(/\s+/).filter(Boolean) }
}
