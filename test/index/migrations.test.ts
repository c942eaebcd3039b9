/** Migrations of `index.sqlite` that fill what they add. */

import type Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { Kysely } from 'kysely'
import { listNodesWithBranch } from '../../index/derived/branches.ts'
import { listChecks } from '../../index/derived/checks.ts'
import { indexMigrations } from '../../index/derived/migrations.ts'
import { listOrgPullRows, type OrgPullFilter } from '../../index/derived/org-pulls.ts'
import type { IndexSchema } from '../../index/derived/schema.ts'
import { wholeOrg } from '../../index/derived/sees.ts'
import { nodesTitled } from '../../index/derived/source-paths.ts'
import { listOrgTagRows, listTaggedRows } from '../../index/derived/tags.ts'
import { listLevel } from '../../index/derived/tree-queries.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { sqliteDialect } from '../../index/sqlite/driver.ts'
import { migrate } from '../../index/sqlite/migrate.ts'

describe('an index.sqlite of an older version', () => {
  let handle: Sqlite.Database
  let db: Kysely<IndexSchema>
  beforeEach(() => {
    handle = openSqlite(':memory:')
    db = new Kysely<IndexSchema>({ dialect: sqliteDialect(handle, 'write') })
  })
  afterEach(() => db.destroy())

  const migrateWith = (migrations: typeof indexMigrations) =>
    db.transaction().execute((trx) => migrate(trx, migrations, 'index.sqlite'))

  /** An index of the version before that migration, with a node in each of two organisations. */
  const openOlder = async (migration: string) => {
    await migrateWith(Object.fromEntries(Object.entries(indexMigrations).filter(([name]) => name < migration)))
    for (const org of ['one', 'other'])
      handle.exec(
        `insert into org (id, name, published, require_pull_requests, created_at, updated_at, head, epoch)
           values ('${org}', '', 0, 0, '', '', '', 'e')`,
      )
    for (const org of ['one', 'other']) addNode(org, `node of ${org}`)
  }
  const addNode = (org: string, id: string) =>
    handle.exec(
      `insert into node (id, org_id, title, description, tags, properties, created_at, updated_at, head, ledger, version, changed)
         values ('${id}', '${org}', '', '', '[]', '{}', '', '', 'm', 'l', 1, 1)`,
    )
  const planOf = (query: string) => {
    const plan = handle.prepare<[], { detail: string }>(`explain query plan ${query}`).all()
    return plan.map(({ detail }) => detail).join()
  }

  it('finds the nodes of each organisation by their branches', async () => {
    await openOlder('004')
    for (const org of ['one', 'other'])
      handle.exec(
        `insert into branch (node_id, name, head) values ('node of ${org}', 'main', 'm'), ('node of ${org}', 'draft', 'd')`,
      )
    await migrateWith(indexMigrations)
    expect(await listNodesWithBranch(db, 'one', 'draft', '', 10)).to.deep.equal([
      { id: 'node of one', head: 'm', ledger: 'l', created_at: '', branch_head: 'd' },
    ])
    const branches =
      "select node_id from branch where org_id = 'one' and name = 'draft' and name <> 'main' and node_id > ''"
    expect(planOf(branches)).to.contain('branch_by_name')
  })

  it('counts the nodes of each organisation by their tags, in the order of the list', async () => {
    await openOlder('011')
    addNode('one', 'another node of one')
    handle.exec(
      `insert into node_tag (node_id, tag)
         values ('node of one', 'fish'), ('node of one', 'sea'), ('another node of one', 'sea'), ('node of other', 'sea')`,
    )
    await migrateWith(indexMigrations)
    expect(await listOrgTagRows(db, wholeOrg('one'), { limit: 10, offset: 0 })).to.deep.equal({
      rows: [
        { tag: 'sea', nodes: 2, within: 2 },
        { tag: 'fish', nodes: 1, within: 1 },
      ],
      total: 2,
    })
    const tags =
      "select tag, nodes, within from org_tag where org_id = 'one' and nodes > 0 order by nodes desc, tag limit 10"
    expect(planOf(tags)).to.equal('SEARCH org_tag USING COVERING INDEX org_tag_by_use (org_id=? AND nodes>?)')
  })

  it('counts the nodes of nested tags in the tags above, and puts each in the order of titles', async () => {
    await openOlder('016')
    for (const [org, id] of [
      ['one', 'b'],
      ['one', 'a'],
      ['other', 'c'],
    ] as const) {
      addNode(org, id)
      handle.prepare('update node set title_key = ? where id = ?').run(`key of ${id}`, id)
      handle.exec(`insert into node_tag (node_id, tag) values ('${id}', 'x/y'), ('${id}', 'x/y/z')`)
      handle.exec(
        `insert into org_tag (org_id, tag, nodes) values ('${org}', 'x/y', 1), ('${org}', 'x/y/z', 1)
           on conflict do update set nodes = nodes + 1`,
      )
    }
    await migrateWith(indexMigrations)
    expect(await listOrgTagRows(db, wholeOrg('one'), { order: 'name', limit: 10, offset: 0 })).to.deep.equal({
      rows: [
        { tag: 'x', nodes: 0, within: 2 },
        { tag: 'x/y', nodes: 2, within: 2 },
        { tag: 'x/y/z', nodes: 2, within: 2 },
      ],
      total: 3,
    })
    const tagged = async (tag: string, isExact: boolean) =>
      (await listTaggedRows(db, wholeOrg('one'), { tag, isExact, limit: 10, offset: 0 })).map(({ id }) => id)
    expect([await tagged('x', false), await tagged('x', true), await tagged('x/y', true)]).to.deep.equal([
      ['a', 'b'],
      [],
      ['a', 'b'],
    ])
    const tags = "select tag, nodes, within from org_tag where org_id = 'one' order by tag_key, tag limit 10"
    expect(planOf(tags)).to.equal('SEARCH org_tag USING COVERING INDEX org_tag_by_name (org_id=?)')
  })

  it('lists the pull requests of each organisation, by an index for each filter', async () => {
    await openOlder('012')
    for (const org of ['one', 'other'])
      for (const [number, status] of [
        [1, 'merged'],
        [2, 'open'],
      ])
        handle.exec(
          `insert into pull (node_id, number, id, title, description, source_branch, target_branch, status, is_draft, author,
             author_email, created_at, recorded_at, source_commit, target_commit, ahead, behind)
           values ('node of ${org}', ${number}, '', '', '', '', '', '${status}', 0, '', 'Ann@example.org', '${number}', '', '', '', 0, 0)`,
        )
    await migrateWith(indexMigrations)
    const listed = async (filter: Pick<OrgPullFilter, 'status'> & Partial<OrgPullFilter>) => {
      const page = { limit: 10, offset: 0 }
      const { rows, total } = await listOrgPullRows(db, wholeOrg('one'), { order: 'newest', ...filter }, page)
      return [total, ...rows.map(({ node_id, number }) => `${node_id}: ${number}`)]
    }
    expect(await listed({ status: 'all' })).to.deep.equal([2, 'node of one: 2', 'node of one: 1'])
    expect(await listed({ status: 'open', author: 'ann@EXAMPLE.org' })).to.deep.equal([1, 'node of one: 2'])
    const plans = ['', "and status = 'open'"].flatMap((status) =>
      ['', "and author_email = 'x' collate nocase"].map((author) =>
        planOf(
          `select node_id from pull where org_id = 'one' ${status} ${author} order by created_at desc, node_id desc, number desc limit 10`,
        ),
      ),
    )
    expect(plans).to.deep.equal([
      'SEARCH pull USING COVERING INDEX pull_by_time (org_id=?)',
      'SEARCH pull USING COVERING INDEX pull_by_author (org_id=? AND author_email=?)',
      'SEARCH pull USING COVERING INDEX pull_by_status_and_time (org_id=? AND status=?)',
      'SEARCH pull USING COVERING INDEX pull_by_author_and_status (org_id=? AND author_email=? AND status=?)',
    ])
  })

  it('puts the nodes of each level in the order of their titles', async () => {
    await openOlder('014')
    const addChild = (org: string, id: string, title: string, parent: string) => {
      addNode(org, id)
      handle.prepare('update node set title = ? where id = ?').run(title, id)
      handle.exec(
        `insert into edge (org_id, holder, edge_type, key, source, target, connection_type, label)
           values ('${org}', '${id}', 'parent_child', '${parent}', '${parent}', '${id}', '', ''),
                  ('${org}', '${id}', 'connection', 'to one', '${id}', 'node of one', '', '')`,
      )
    }
    addChild('one', 'b', 'Chapter 10', 'node of one')
    addChild('one', 'a', 'chapter 2', 'node of one')
    addChild('one', 'c', 'Écluse', 'deleted')
    addChild('one', 'd', 'dam', 'node of other')
    await migrateWith(indexMigrations)
    const listed = async (under?: string) =>
      (await listLevel(db, { sees: wholeOrg('one'), under }, { limit: 10, offset: 0 })).map(({ id }) => id)
    expect(await listed()).to.deep.equal(['node of one', 'd', 'c'])
    expect(await listed('node of one')).to.deep.equal(['a', 'b'])
    expect(handle.prepare("select distinct title_key from edge where edge_type = 'connection'").all()).to.deep.equal([
      { title_key: '' },
    ])
  })

  it('counts no entries yet, and leaves every ledger to be read once more', async () => {
    await openOlder('013')
    handle.exec(
      `insert into pull (org_id, node_id, number, id, title, description, source_branch, target_branch, status, is_draft,
         author, author_email, created_at, recorded_at, source_commit, target_commit, ahead, behind)
       values ('one', 'node of one', 1, '', '', '', '', '', 'open', 0, '', '', '', '', '', '', 0, 0)`,
    )
    await migrateWith(indexMigrations)
    const pull = handle.prepare('select author_id, comments, open_threads, last_entry, last_entry_at from pull').get()
    expect(pull).to.deep.equal({ author_id: null, comments: 0, open_threads: 0, last_entry: 0, last_entry_at: null })
    expect(handle.prepare('select distinct entries_ledger from node').all()).to.deep.equal([{ entries_ledger: null }])
    const here = "from review_entry where node_id = 'n' and number = 1"
    const plans = [
      `select max(entry) ${here}`,
      `select thread, user_id, max(entry) ${here} and kind = 'comment' and deleted = 0 group by thread, user_id`,
      `select user_id, max(entry) ${here} and verdict is not null group by user_id`,
      "select entry from review_entry where node_id = 'n' and head = 'h'",
      "select number from reviewer where user_id = 'u' and org_id = 'o'",
    ].map(planOf)
    expect(plans.map((plan) => /INDEX (\w+)/.exec(plan)?.[1])).to.deep.equal([
      'sqlite_autoindex_review_entry_1',
      'review_entry_by_thread',
      'review_entry_by_verdict',
      'review_entry_by_head',
      'reviewer_by_user',
    ])
  })

  it('has checks of commits, which are found by node and commit', async () => {
    await openOlder('018')
    await migrateWith(indexMigrations)
    handle.exec(
      `insert into check_state (node_id, commit_id, name, state, body, blob) values
         ('node of one', 'c', 'b', 'pending', '{}', ''), ('node of one', 'c', '', 'damaged', '', ''),
         ('node of one', 'd', 'a', 'failure', '{}', ''), ('node of other', 'c', 'a', 'success', '{}', '')`,
    )
    const listed = await listChecks(db, 'node of one', ['d', 'c', 'c', 'e'])
    expect(listed.map(({ commit_id, name, state }) => `${commit_id} ${name} ${state}`)).to.deep.equal([
      'c  damaged',
      'c b pending',
      'd a failure',
    ])
    handle.exec("pragma foreign_keys = on; delete from node where id = 'node of one'")
    expect(handle.prepare('select node_id from check_state').all()).to.deep.equal([{ node_id: 'node of other' }])
    const plan = planOf("select * from check_state where node_id = 'n' and commit_id = 'c'")
    expect(plan).to.contain('sqlite_autoindex_check_state_1 (node_id=? AND commit_id=?)')
  })

  it('keeps the rows of pull requests in their order, and deletes them with their node', async () => {
    await openOlder('027')
    for (const node of ['node of other', 'node of one'])
      handle.exec(
        `insert into branch (org_id, node_id, name, head) values ('', '${node}', 'main', 'm');
         insert into pull (node_id, number, id, title, description, source_branch, target_branch, status, is_draft,
           author, author_email, created_at, recorded_at, source_commit, target_commit, ahead, behind)
           values ('${node}', 1, '', '', '', '', '', 'open', 0, '', '', '', '', '', '', 0, 0);
         insert into review_entry (node_id, number, entry, kind, resolved, deleted, body)
           values ('${node}', 1, 2, 'comment', 0, 0, ''), ('${node}', 1, 1, 'comment', 0, 0, '');
         insert into review_mention (node_id, number, entry, user_id) values ('${node}', 1, 1, 'u');
         insert into reviewer (user_id, org_id, node_id, number, name, since) values ('u', '', '${node}', 1, '', '');
         insert into involvement (user_id, org_id, node_id, number, last_own, last_mention, last_answer)
           values ('u', '', '${node}', 1, 0, 1, 0);
         insert into check_state (node_id, commit_id, name, state, body, blob) values ('${node}', 'c', 'n', 's', '', '')`,
      )
    const tables = ['branch', 'pull', 'review_entry', 'review_mention', 'reviewer', 'involvement', 'check_state']
    const read = () => tables.map((table) => handle.prepare(`select * from ${table} order by rowid`).all())
    const indexes = () =>
      handle.prepare("select name, sql from sqlite_schema where type = 'index' and sql is not null order by name").all()
    const [rows, named] = [read(), indexes()]
    handle.pragma('foreign_keys = on')
    await migrateWith(indexMigrations)
    const withSets = rows.map((some, at) =>
      tables[at] === 'pull' ? some.map((row) => ({ ...(row as object), change_set: null })) : some,
    )
    expect(read()).to.deep.equal(withSets)
    expect(indexes()).to.include.deep.members(named)
    handle.exec("delete from node where id = 'node of one'; delete from org where id = 'other'")
    expect(read()).to.deep.equal(tables.map(() => []))
  })

  it('finds the nodes of each organisation by their titles', async () => {
    await openOlder('014')
    handle.exec("update node set title = 'A Title' where org_id = 'one'")
    addNode('one', 'second')
    await migrateWith(indexMigrations)
    expect(await nodesTitled(db, wholeOrg('one'), ['a title', 'no title', ''])).to.deep.equal([
      { key: 'a title', id: 'node of one', title: 'A Title' },
      { key: '', id: 'second', title: '' },
    ])
    const titles = "select id from node where org_id = 'one' and lower(title) = 'a' order by id limit 2"
    expect(planOf(titles)).to.contain('INDEX node_by_title (org_id=? AND <expr>=?)')
  })
})
