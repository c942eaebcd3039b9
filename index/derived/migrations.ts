/** The migrations of `index.sqlite`. */
import { type Kysely, type Migration, sql } from 'kysely'
import { tagKey, tagsAbove } from './tags.ts'
import { titleKey } from './title-order.ts'

export const indexMigrations: Record<string, Migration> = {
  '001_first': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, first)
    },
  },
  '002_history': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, history)
    },
  },
  '003_edges_in_order': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, edgesInOrder)
    },
  },
  '004_states': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, states)
    },
  },
  '005_descriptions': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, ['alter table org add column description text'])
    },
  },
  '006_vaults': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, ['alter table org add column vault_id text'])
    },
  },
  '007_trees': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, ['alter table node add column tree text'])
    },
  },
  '008_cursors': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, [
        'create table cursor (chore text not null primary key, org_id text not null, node_id text not null)',
      ])
    },
  },
  '009_ref_moves': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, refMoves)
    },
  },
  '010_whole_orgs': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, [
        'create table whole_org (org_id text not null primary key)',
        'create table asked_org (org_id text not null primary key)',
      ])
    },
  },
  '011_org_tags': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, orgTags)
    },
  },
  '012_org_pulls': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, orgPulls)
    },
  },
  '013_reviews': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, reviews)
    },
  },
  '014_titles': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, ['create index node_by_title on node (org_id, lower(title), id)'])
    },
  },
  '015_tree_order': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, treeColumns)
      await fillTitleKeys(db)
      await run(db, treeOrder)
    },
  },
  '016_nested_tags': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, tagColumns)
      await fillTags(db)
      await run(db, nestedTags)
    },
  },
  '017_rules': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, [
        'alter table org add column rules text',
        'alter table org add column rules_head text',
        'alter table pull add column stacked_on text',
        'alter table pull add column overridden text',
      ])
    },
  },
  '018_checks': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, checks)
    },
  },
  '019_former_emails': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, ['alter table member add column former_emails text'])
    },
  },
  '020_involved': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, [
        'create index involvement_by_user on involvement (user_id)',
        'create index pull_by_opener on pull (author_id)',
      ])
    },
  },
  // No ledger that was read before records it.
  '021_via': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, [
        'alter table pull add column opened_via text',
        'alter table pull add column ended_via text',
        'alter table pull add column by_agent integer not null default 0',
      ])
    },
  },
  '022_usage': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, usage)
    },
  },
  // The bytes of nodes that exist are measured in the background.
  '023_bytes': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, bytes)
    },
  },
  // No organisation that was read before has a choice.
  '024_embeddings': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, ['alter table org add column embeddings integer'])
    },
  },
  '025_requires': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, [
        'alter table org add column requires text',
        'alter table org add column closed integer not null default 0',
      ])
    },
  },
  // No organisation that was read before has chosen one.
  '026_home': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, ['alter table org add column home_node_id text'])
    },
  },
  '027_proposed_nodes': {
    async up(db: Kysely<unknown>): Promise<void> {
      for (const table of ofAnyNode) await rebuildWithoutNode(db, table)
      await run(db, proposedNodes)
    },
  },
  // No organisation that was read before has a change set.
  '028_change_sets': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, changeSets)
    },
  },
  '029_rebuild': {
    async up(db: Kysely<unknown>): Promise<void> {
      await run(db, ['create table rebuild (done integer not null, total integer not null)'])
    },
  },
}

/** The items of change sets. A set itself is a row of `pull` whose node is the organisation. */
const changeSets = [
  'alter table org add column sets text',
  `create table change_set_item (
    org_id text not null references org (id) on delete cascade, number integer not null, node_id text not null,
    pull integer not null, act text not null, primary key (org_id, number, node_id)) without rowid`,
  'create index change_set_item_by_node on change_set_item (node_id)',
]

/** Tables with rows of all nodes, and of proposed ones. The organisation may have rows there too. */
const ofAnyNode = ['branch', 'pull', 'review_entry', 'reviewer', 'involvement', 'check_state'] as const

/** Rebuilds a table without its foreign key to `node`. Keeps the order of its rows, and its indexes. */
async function rebuildWithoutNode(db: Kysely<unknown>, table: (typeof ofAnyNode)[number]): Promise<void> {
  const { rows } = await sql<{ type: string; text: string }>`
    select type, sql as text from sqlite_schema where tbl_name = ${table} and sql is not null`.execute(db)
  const created = rows.find(({ type }) => type === 'table')?.text ?? ''
  // Dropping the entries deletes their mentions.
  const hasMentions = table === 'review_entry'
  const statements = [
    ...(hasMentions ? ['create table kept_mention as select * from review_mention'] : []),
    created.replace(table, 'rebuilt').replace('references node (id) on delete cascade', ''),
    `insert into rebuilt select * from ${table} order by rowid`,
    `drop table ${table}`,
    `alter table rebuilt rename to ${table}`,
    ...rows.flatMap(({ type, text }) => (type === 'index' ? [text] : [])),
    ...(hasMentions ? ['insert into review_mention select * from kept_mention', 'drop table kept_mention'] : []),
  ]
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/**
 * Proposed nodes have another table, so no query on `node` can show them. Triggers delete the rows of a deleted node,
 * but not of one that has come into being. They also count proposed nodes for the quotas.
 */
const proposedNodes = [
  'alter table pull add column change_set text',
  `create table proposed_node (
    id text not null primary key, org_id text not null references org (id) on delete cascade, proposed_in text not null,
    title text not null, description text not null, tags text not null, properties text not null,
    created_at text not null, updated_at text not null, head text, ledger text not null, entries_ledger text,
    version integer not null, changed integer not null, bytes integer)`,
  'create index proposed_node_by_org on proposed_node (org_id, id)',
  `create view any_node as
    select id, org_id, title, description, tags, properties, created_at, updated_at, head, tree, ledger, entries_ledger,
      version, changed, title_key, bytes, is_root, null as proposed_in from node
    union all
    select id, org_id, title, description, tags, properties, created_at, updated_at, null, null, ledger, entries_ledger,
      version, changed, '', bytes, 0, proposed_in from proposed_node`,
  `create trigger node_takes_rows after delete on node begin ${deleteRowsOf('old.id')}; end`,
  `create trigger org_takes_rows after delete on org begin ${deleteRowsOf('old.id')}; end`,
  `create trigger proposed_node_takes_rows after delete on proposed_node when ${isGone('old.id')}
    begin ${deleteRowsOf('old.id')}; end`,
  `create trigger proposed_node_enters_usage after insert on proposed_node begin
    ${useMore('new', 1, 'coalesce(new.bytes, 0)')}; end`,
  `create trigger proposed_node_leaves_usage after delete on proposed_node begin
    ${intoTrash(`and ${isGone('old.id')}`)};
    ${useLess('old', 1, 'coalesce(old.bytes, 0)')}; end`,
  `create trigger proposed_node_changes_usage after update of bytes on proposed_node
    when new.bytes is not old.bytes begin
    ${useMore('new', 0, 'coalesce(new.bytes, 0) - coalesce(old.bytes, 0)')}; end`,
]

function deleteRowsOf(id: string): string {
  return ofAnyNode.map((table) => `delete from ${table} where node_id = ${id}`).join('; ')
}

function isGone(id: string): string {
  return `not exists (select 1 from node where id = ${id})`
}

/** The number of nodes of each organisation. Triggers keep it, so that a check reads one row. */
const usage = [
  `create table org_usage (
    org_id text not null primary key references org (id) on delete cascade, nodes integer not null) without rowid`,
  'insert into org_usage (org_id, nodes) select org_id, count(*) from node group by org_id',
  `create trigger node_enters_usage after insert on node begin
    insert into org_usage (org_id, nodes) values (new.org_id, 1)
      on conflict (org_id) do update set nodes = nodes + 1; end`,
  `create trigger node_leaves_usage after delete on node begin
    update org_usage set nodes = nodes - 1 where org_id = old.org_id;
    delete from org_usage where org_id = old.org_id and nodes = 0; end`,
]

/** Adds up the bytes of nodes, and those of their copies in the trash. */
const bytes = [
  'alter table node add column bytes integer',
  'alter table org_usage add column bytes integer not null default 0',
  `create table trash_usage (
    org_id text not null references org (id) on delete cascade, node_id text not null, bytes integer not null,
    primary key (org_id, node_id)) without rowid`,
  'drop trigger node_enters_usage',
  'drop trigger node_leaves_usage',
  `create trigger node_enters_usage after insert on node begin
    ${useMore('new', 1, 'coalesce(new.bytes, 0)')}; end`,
  `create trigger node_leaves_usage after delete on node begin
    ${intoTrash()};
    ${useLess('old', 1, 'coalesce(old.bytes, 0)')}; end`,
  `create trigger node_changes_usage after update of bytes on node when new.bytes is not old.bytes begin
    ${useMore('new', 0, 'coalesce(new.bytes, 0) - coalesce(old.bytes, 0)')}; end`,
  `create trigger trash_enters_usage after insert on trash_usage begin ${useMore('new', 0, 'new.bytes')}; end`,
  `create trigger trash_leaves_usage after delete on trash_usage begin ${useLess('old', 0, 'old.bytes')}; end`,
  `create trigger trash_changes_usage after update of bytes on trash_usage begin
    ${useMore('new', 0, 'new.bytes - old.bytes')}; end`,
]

/** Counts the bytes of a deleted row in the trash, where its repository goes. */
function intoTrash(condition = ''): string {
  return `insert into trash_usage (org_id, node_id, bytes) select old.org_id, old.id, old.bytes
      where old.bytes > 0 and exists (select 1 from org where id = old.org_id) ${condition}
      on conflict (org_id, node_id) do update set bytes = bytes + excluded.bytes`
}

function useMore(row: string, nodes: number, bytes: string): string {
  return `insert into org_usage (org_id, nodes, bytes) values (${row}.org_id, ${nodes}, ${bytes})
    on conflict (org_id) do update set nodes = nodes + excluded.nodes, bytes = bytes + excluded.bytes`
}

function useLess(row: string, nodes: number, bytes: string): string {
  return `update org_usage set nodes = nodes - ${nodes}, bytes = bytes - (${bytes}) where org_id = ${row}.org_id;
    delete from org_usage where org_id = ${row}.org_id and nodes = 0 and bytes = 0`
}

/** Checks of commits. The table starts empty: no ledger that was read before has any. */
const checks = [
  `create table check_state (
    node_id text not null references node (id) on delete cascade, commit_id text not null, name text not null,
    state text not null, user_id text, at text, body text not null, blob text not null,
    primary key (node_id, commit_id, name))`,
]

/** Tags in natural order, with those above them and the nodes of each. */
const tagColumns = [
  "alter table org_tag add column tag_key text not null default ''",
  'alter table org_tag add column within integer not null default 0',
  `create table tagged_node (
    org_id text not null references org (id) on delete cascade, tag text not null, title_key text not null,
    node_id text not null, is_own integer not null, primary key (org_id, tag, title_key, node_id)) without rowid`,
  'create table tag_above (org_id text not null, tag text not null, above text not null, primary key (tag, org_id, above)) without rowid',
]

const nestedTags = [
  `insert into tagged_node (org_id, tag, title_key, node_id, is_own)
    select node.org_id, above, title_key, node.id, max(above = node_tag.tag)
    from node_tag join node on node.id = node_tag.node_id
    join tag_above on tag_above.tag = node_tag.tag and tag_above.org_id = node.org_id
    group by node.org_id, above, title_key, node.id`,
  'update org_tag set within = nodes',
  `update org_tag set within = (
      select count(*) from tagged_node where tagged_node.org_id = org_tag.org_id and tagged_node.tag = org_tag.tag)
    where (org_id, tag) in (select org_id, above from tag_above where tag <> above)`,
  'drop table tag_above',
  'drop index org_tag_by_use',
  'create index org_tag_by_use on org_tag (org_id, nodes desc, tag, within) where nodes > 0',
  'create index org_tag_by_name on org_tag (org_id, tag_key, tag, nodes, within)',
]

/** Tags per statement. */
const tagsAtOnce = 2_000

/** Lists each tag with itself and the tags above it. Adds those that no node carries. */
async function fillTags(db: Kysely<unknown>): Promise<void> {
  for (let last = { org_id: '', tag: '' }; ; ) {
    const { rows } = await sql<{ org_id: string; tag: string }>`
      select org_id, tag from org_tag where (org_id, tag) > (${last.org_id}, ${last.tag}) and tag_key = ''
      order by org_id, tag limit ${tagsAtOnce}`.execute(db)
    if (rows.length === 0) return
    last = rows.at(-1) ?? last
    const places = rows.flatMap(({ org_id, tag }) =>
      [...tagsAbove(tag), tag].map((above) => [org_id, tag, above, tagKey(above)]),
    )
    await sql`insert into tag_above (org_id, tag, above)
      select value ->> 0, value ->> 1, value ->> 2 from json_each(${JSON.stringify(places)})`.execute(db)
    await sql`insert into org_tag (org_id, tag, tag_key, nodes)
      select distinct value ->> 0, value ->> 2, value ->> 3, 0 from json_each(${JSON.stringify(places)}) where true
      on conflict (org_id, tag) do update set tag_key = excluded.tag_key`.execute(db)
  }
}

/** The levels of the tree in their order, and the number of nodes in each. */
const treeColumns = [
  "alter table node add column title_key text not null default ''",
  'alter table node add column is_root integer not null default 0',
  "alter table edge add column title_key text not null default ''",
  `create table unsettled_parent (
    org_id text not null references org (id) on delete cascade, parent text not null, after_key text not null,
    after_id text not null, primary key (org_id, parent)) without rowid`,
]

const treeOrder = [
  `update edge set title_key = (select title_key from node where node.id = edge.holder)
    where edge_type = 'parent_child'`,
  `update node set is_root = 1 where not exists (
    select 1 from edge join node as parent on parent.id = edge.source and parent.org_id = node.org_id
    where edge.target = node.id and edge.edge_type = 'parent_child')`,
  `create index edge_by_place on edge (source, org_id, title_key, target) where edge_type = 'parent_child'`,
  'create index node_by_place on node (org_id, title_key, id) where is_root = 1',
  `create table level_count (
    org_id text not null references org (id) on delete cascade, parent text not null, nodes integer not null,
    primary key (org_id, parent)) without rowid`,
  `insert into level_count (org_id, parent, nodes)
    select org_id, source, count(*) from edge where edge_type = 'parent_child' group by org_id, source`,
  `insert into level_count (org_id, parent, nodes)
    select org_id, '', count(*) from node where is_root = 1 group by org_id`,
  ...countedBy('edge', "edge_type = 'parent_child'", 'source'),
  ...countedBy('node', 'is_root = 1', "''"),
  ...recountedBy('is_root', 'node', "''"),
]

/** Triggers that count the rows of a table in their levels. A trigger also sees the rows that a cascade deletes. */
function countedBy(table: string, condition: string, parent: string): string[] {
  const of = (row: string, sql: string) => sql.replace(/^(\w)/, `${row}.$1`)
  return [
    `create trigger ${table}_enters_level after insert on ${table} when ${of('new', condition)}
      begin ${countUp('new', of('new', parent))}; end`,
    `create trigger ${table}_leaves_level after delete on ${table} when ${of('old', condition)}
      begin ${countDown('old', of('old', parent))}; end`,
  ]
}

function recountedBy(column: string, table: string, parent: string): string[] {
  return [
    `create trigger ${table}_joins_level after update of ${column} on ${table} when new.${column} > old.${column}
      begin ${countUp('new', parent)}; end`,
    `create trigger ${table}_quits_level after update of ${column} on ${table} when new.${column} < old.${column}
      begin ${countDown('old', parent)}; end`,
  ]
}

function countUp(row: string, parent: string): string {
  return `insert into level_count (org_id, parent, nodes) values (${row}.org_id, ${parent}, 1)
    on conflict (org_id, parent) do update set nodes = nodes + 1`
}

function countDown(row: string, parent: string): string {
  const where = `where org_id = ${row}.org_id and parent = ${parent}`
  return `update level_count set nodes = nodes - 1 ${where}; delete from level_count ${where} and nodes = 0`
}

/** Nodes per statement. */
const nodesAtOnce = 2_000

async function fillTitleKeys(db: Kysely<unknown>): Promise<void> {
  for (let last = 0; ; ) {
    const { rows } = await sql<{ row: number; title: string }>`
      select rowid as row, title from node where rowid > ${last} order by rowid limit ${nodesAtOnce}`.execute(db)
    if (rows.length === 0) return
    last = rows.at(-1)?.row ?? last
    const keys = JSON.stringify(rows.map(({ row, title }) => [row, titleKey(title)]))
    await sql`
      update node set title_key = one.value ->> 1 from json_each(${keys}) as one
      where node.rowid = one.value ->> 0`.execute(db)
  }
}

/** Entries of pull requests. They are read from the ledgers, because `entries_ledger` is null. */
const reviews = [
  'alter table node add column entries_ledger text',
  'alter table pull add column author_id text',
  'alter table pull add column comments integer not null default 0',
  'alter table pull add column open_threads integer not null default 0',
  'alter table pull add column last_entry integer not null default 0',
  'alter table pull add column last_entry_at text',
  "create index pull_by_author_id on pull (author_id, org_id, node_id, number) where status = 'open'",
  `create table review_entry (
    node_id text not null references node (id) on delete cascade, number integer not null, entry integer not null, id text,
    kind text not null, verdict text, thread integer, user_id text, at text, head text, path text, resolved integer not null,
    deleted integer not null, body text not null, primary key (node_id, number, entry))`,
  'create index review_entry_by_id on review_entry (node_id, id) where id is not null',
  'create index review_entry_by_head on review_entry (node_id, head)',
  `create index review_entry_by_thread on review_entry (node_id, number, thread, user_id, entry, deleted, resolved)
    where kind = 'comment'`,
  'create index review_entry_by_user on review_entry (node_id, number, user_id, entry)',
  'create index review_entry_by_verdict on review_entry (node_id, number, user_id, entry) where verdict is not null',
  "create index review_entry_reviews on review_entry (node_id, number, entry) where kind = 'verdict'",
  `create table review_mention (
    node_id text not null, number integer not null, entry integer not null, user_id text not null,
    primary key (node_id, number, entry, user_id),
    foreign key (node_id, number, entry) references review_entry (node_id, number, entry) on delete cascade)`,
  `create table reviewer (
    user_id text not null, org_id text not null, node_id text not null references node (id) on delete cascade,
    number integer not null, name text not null, since text not null, primary key (node_id, number, user_id))`,
  'create index reviewer_by_user on reviewer (user_id, org_id, node_id, number)',
  `create table involvement (
    user_id text not null, org_id text not null, node_id text not null references node (id) on delete cascade,
    number integer not null, last_own integer not null, last_mention integer not null, last_answer integer not null,
    primary key (node_id, number, user_id))`,
  `create index involvement_unseen on involvement (user_id, org_id, node_id, number)
    where last_mention > last_own or last_answer > last_own`,
]

/** Pull requests of an organisation in the order of its list, by each filter. An e-mail address ignores ASCII case. */
const orgPulls = [
  "alter table pull add column org_id text not null default ''",
  'update pull set org_id = (select org_id from node where id = node_id)',
  'create index pull_by_time on pull (org_id, created_at, node_id, number)',
  'create index pull_by_status_and_time on pull (org_id, status, created_at, node_id, number)',
  'create index pull_by_author on pull (org_id, author_email collate nocase, created_at, node_id, number)',
  'create index pull_by_author_and_status on pull (org_id, author_email collate nocase, status, created_at, node_id, number)',
]

/** The tags of an organisation with their counts, in the order of the list. */
const orgTags = [
  `create table org_tag (
    org_id text not null references org (id) on delete cascade, tag text not null, nodes integer not null,
    primary key (org_id, tag)) without rowid`,
  `insert into org_tag (org_id, tag, nodes)
    select org_id, tag, count(*) from node_tag join node on node.id = node_tag.node_id group by org_id, tag`,
  'create index org_tag_by_use on org_tag (org_id, nodes desc, tag)',
]

const refMoves = [
  `create table ref_moves (
    org_id text not null, node_id text not null, stamp integer not null, moves integer not null, moved_at integer not null,
    look_at integer not null, primary key (org_id, node_id))`,
  'create index ref_moves_to_look_at on ref_moves (look_at) where moves >= 50',
]

async function run(db: Kysely<unknown>, statements: readonly string[]): Promise<void> {
  for (const statement of statements)
    await sql.raw(statement.startsWith('create table') ? strict(statement) : statement).execute(db)
}

function strict(statement: string): string {
  return `${statement}${statement.endsWith(')') ? '' : ','} strict`
}

const first = [
  `create table org (
    id text not null primary key, name text not null, published integer not null, require_pull_requests integer not null,
    created_at text not null, updated_at text not null, head text not null,
    epoch text not null,
    version integer not null default 0, graph_version integer not null default 0)`,
  `create table member (
    org_id text not null references org (id) on delete cascade, user_id text not null, email text not null, name text not null,
    role text not null, created_at text not null, primary key (org_id, user_id))`,
  'create index member_by_user on member (user_id)',
  `create table node (
    id text not null primary key, org_id text not null references org (id) on delete cascade, title text not null,
    description text not null, tags text not null, properties text not null, created_at text not null, updated_at text not null,
    head text, ledger text not null, version integer not null, changed integer not null)`,
  'create index node_by_age on node (org_id, created_at, id)',
  'create index node_by_change on node (org_id, changed)',
  `create table node_text (
    node_id text not null primary key references node (id) on delete cascade, text text not null)`,
  `create table node_tag (
    node_id text not null references node (id) on delete cascade, tag text not null, primary key (node_id, tag))`,
  'create index node_by_tag on node_tag (tag)',
  `create table tombstone (
    node_id text not null primary key, org_id text not null references org (id) on delete cascade, changed integer not null)`,
  'create index tombstone_by_change on tombstone (org_id, changed)',
  `create table branch (
    node_id text not null references node (id) on delete cascade, name text not null, head text not null,
    primary key (node_id, name))`,
  `create table edge (
    org_id text not null, holder text not null references node (id) on delete cascade, edge_type text not null, key text not null,
    source text not null, target text not null, connection_type text not null, label text not null,
    primary key (holder, edge_type, key))`,
  'create index edge_by_source on edge (source, edge_type)',
  'create index edge_by_target on edge (target, edge_type)',
  'create index edge_by_org on edge (org_id)',
  `create table pull (
    node_id text not null references node (id) on delete cascade, number integer not null, id text not null, title text not null,
    description text not null, source_branch text not null, target_branch text not null, status text not null,
    is_draft integer not null, author text not null, author_email text not null, created_at text not null,
    recorded_at text not null, source_commit text not null, target_commit text not null, ahead integer not null,
    behind integer not null, ended_by text, ended_by_email text, ended_at text, primary key (node_id, number))`,
  'create index pull_by_status on pull (node_id, status, number)',
]

/** Also empties the index, so that the next start rebuilds it with its histories. */
const history = [
  `create table chain (
    id integer primary key autoincrement, node_id text not null, base_chain integer, base_pos integer not null,
    tip integer not null, whole integer not null)`,
  'create index chain_by_node on chain (node_id)',
  'create index chain_by_base on chain (base_chain, base_pos)',
  `create table entry (
    chain integer not null, pos integer not null, oid blob not null, bend integer not null, primary key (chain, pos)) without rowid`,
  'create index entry_by_oid on entry (oid)',
  'alter table branch add column chain integer',
  'alter table branch add column pos integer',
  'create index branch_by_place on branch (chain, pos)',
  'delete from org',
]

/** Covering indexes for a node's edges, sorted by their other ends. Reading the first edges needs no table access. */
const edgesInOrder = [
  'drop index edge_by_source',
  'drop index edge_by_target',
  'create index edge_by_source on edge (source, edge_type, target, connection_type, key)',
  'create index edge_by_target on edge (target, edge_type, source, connection_type)',
]

/** Indexes for an organisation's nodes that have a branch, or were updated after a time. */
const states = [
  "alter table branch add column org_id text not null default ''",
  'update branch set org_id = (select org_id from node where id = node_id)',
  "create index branch_by_name on branch (org_id, name, node_id) where name <> 'main'",
  'create index node_by_update on node (org_id, updated_at, id)',
]
