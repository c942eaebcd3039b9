/**
 * Fills an organisation with nodes and parent edges faster than any client could. Writes rows, and repositories in name
 * only.
 */

import { createHash } from 'node:crypto'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type Sqlite from 'better-sqlite3'
import { titleKey } from '../../index/derived/title-order.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'

export interface GraphSize {
  readonly nodes: number
  /** Distinct parent-child edges, at most a quarter of all possible ones. */
  readonly edges: number
}

const words =
  'whale kelp krill ocean current island reef coral squid dolphin seal and of the deep in large known'.split(' ')

/** The id of no commit. A ledger is not read if its ref equals the one in the row. */
const ledger = '1'.repeat(40)

/** Links that are made at once. */
const batch = 1_000

/**
 * Adds a random DAG to the organisation, the same one for the same arguments. Call it once per organisation, while no
 * service runs on `dataDir`. A node has a title, tags, a description and a text of 200 characters. Its edges come from
 * older nodes. Takes about 10 s for 100,000 nodes and 200,000 edges.
 *
 * The background sweep removes rows without a repository, so each node has one. It is a link to a single empty
 * repository, whose only ref, the ledger, is the one in the rows. The sweep then finds nothing to do. Lists, searches
 * and the graph work as usual. Queries for a node's content or history find nothing, or damage.
 *
 * @returns the ids of the nodes, oldest first
 */
export async function fillGraph(dataDir: string, orgId: string, size: GraphSize): Promise<readonly string[]> {
  const ids = Array.from({ length: size.nodes }, (_, n) => idOf(orgId, n))
  insertRows(join(dataDir, 'index.sqlite'), orgId, ids, size.edges)
  const folder = join(dataDir, orgId)
  await makeEmptyRepo(join(folder, 'filled'))
  for (let from = 0; from < ids.length; from += batch) {
    await Promise.all(ids.slice(from, from + batch).map((id) => symlink('filled', join(folder, `${id}.git`))))
  }
  return ids
}

async function makeEmptyRepo(dir: string): Promise<void> {
  for (const name of ['objects', 'refs/heads', 'refs/tags', 'refs/grove'])
    await mkdir(join(dir, name), { recursive: true })
  await writeFile(join(dir, 'HEAD'), 'ref: refs/heads/main\n')
  await writeFile(join(dir, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = true\n')
  await writeFile(join(dir, 'refs/grove/ledger'), `${ledger}\n`)
}

function insertRows(file: string, orgId: string, ids: readonly string[], edges: number): void {
  const db = openSqlite(file)
  try {
    db.transaction(() => {
      const { version } = db
        .prepare<[string], { version: number }>(
          'update org set version = version + 1, graph_version = graph_version + 1 where id = ? returning version',
        )
        .get(orgId) ?? { version: 0 }
      const random = randomFrom(ids.length)
      insertNodes(db, orgId, ids, version, random)
      insertEdges(db, orgId, ids, edges, random)
      placeNodes(db, orgId)
    })()
  } finally {
    db.close()
  }
}

type Random = (below: number) => number

function insertNodes(
  db: Sqlite.Database,
  orgId: string,
  ids: readonly string[],
  version: number,
  random: Random,
): void {
  const insert = db.prepare(
    `insert into node (id, org_id, title, description, tags, properties, created_at, updated_at, head, ledger, entries_ledger,
       version, changed, title_key)
     values (?, ?, ?, ?, '["sea","deep"]', '{}', ?, ?, null, ?, ?, 1, ?, ?)`,
  )
  const insertText = db.prepare('insert into node_text (node_id, text) values (?, ?)')
  const insertTag = db.prepare('insert into node_tag (node_id, tag) values (?, ?)')
  for (const [n, id] of ids.entries()) {
    const time = new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString().replace('.000', '')
    const text = phrase(40, random).slice(0, 200)
    const title = phrase(4, random)
    insert.run(id, orgId, title, text, time, time, ledger, ledger, version, titleKey(title))
    insertText.run(id, text)
    for (const tag of ['sea', 'deep']) insertTag.run(id, tag)
  }
}

function insertEdges(db: Sqlite.Database, orgId: string, ids: readonly string[], edges: number, random: Random): void {
  const insert = db.prepare(
    `insert or ignore into edge (org_id, holder, edge_type, key, source, target, connection_type, label)
     values (?, ?, 'parent_child', ?, ?, ?, '', '')`,
  )
  for (let made = 0; made < edges; ) {
    const [one, other] = [random(ids.length), random(ids.length)]
    const [parent, child] = [ids[Math.min(one, other)], ids[Math.max(one, other)]]
    if (parent === child || parent === undefined || child === undefined) continue
    made += insert.run(orgId, child, parent, parent, child).changes
  }
}

/** Puts the nodes into the levels of the tree. */
function placeNodes(db: Sqlite.Database, orgId: string): void {
  db.prepare(
    'update edge set title_key = (select title_key from node where node.id = edge.holder) where org_id = ?',
  ).run(orgId)
  db.prepare(
    'update node set is_root = 1 where org_id = ? and not exists (select 1 from edge where edge.target = node.id)',
  ).run(orgId)
}

function phrase(length: number, random: Random): string {
  return Array.from({ length }, () => words[random(words.length)]).join(' ')
}

function idOf(orgId: string, n: number): string {
  const hex = createHash('sha256').update(`${orgId} ${n}`).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

/** Whole numbers from 0, the same in every run. Source: the linear congruence of Numerical Recipes. */
function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
