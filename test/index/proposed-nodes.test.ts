/** Rows of nodes that are only proposed, until they come into being or are discarded. */

import { join } from 'node:path'
import type Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { noOid } from '../../gitstore/repo.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { indexNode } from '../../server/domain/indexing/index-node.ts'
import { listMoved } from '../../server/domain/indexing/moved-nodes.ts'
import { reindex } from '../../server/domain/indexing/reindex.ts'
import { made } from '../support/cast.ts'
import { bringIn, type Proposed, proposeNode, recordNode } from '../support/proposed.ts'
import { useWorld } from '../support/world.ts'

describe('rows of a proposed node', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { sweeps: false })
  let db: Sqlite.Database
  let org: string
  let node: Proposed

  before(() => {
    db = openSqlite(join(grove.dataDir, 'index.sqlite'))
  })
  after(() => db?.close())
  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    await ann.node({ title: 'Whales' }, org)
    node = proposeNode(grove, org, { by: ann.user, title: 'Krill', fields: { tags: ['sea'] } })
    await index()
  })

  const index = () => indexNode(grove.deps, org, node.id)
  const all = (text: string, ...values: readonly unknown[]) => db.prepare(text).all(...values)
  const tables = () =>
    db
      .prepare<[], string>(
        `select t.name from sqlite_schema t where t.type = 'table' and exists (
           select 1 from pragma_table_info(t.name) where name in ('node_id', 'holder'))`,
      )
      .pluck()
      .all()
  /** The tables with rows of the node, and how many. */
  const counted = () => {
    const count = (name: string) => {
      const column = name === 'edge' ? 'holder' : 'node_id'
      return db.prepare(`select count(*) from ${name} where ${column} = ?`).pluck().get(node.id) as number
    }
    return Object.fromEntries(tables().flatMap((name) => (count(name) > 0 ? [[name, count(name)]] : [])))
  }
  const versions = () => all('select version, graph_version from org where id = ?', org)
  const usage = () => all('select nodes, bytes from org_usage where org_id = ?', org)
  const summed = () => all('select count(*) as nodes, sum(bytes) as bytes from any_node where org_id = ?', org)

  it('are in no table that shows nodes, and count for the quotas', async () => {
    expect(all('select title, tags, proposed_in, head from proposed_node where id = ?', node.id)).to.deep.equal([
      { title: 'Krill', tags: '["sea"]', proposed_in: node.changeSet, head: node.head },
    ])
    expect(all('select change_set, target_commit, status from pull where node_id = ?', node.id)).to.deep.equal([
      { change_set: node.changeSet, target_commit: noOid, status: 'open' },
    ])
    expect(counted()).to.deep.equal({ branch: 1, chain: 1, pull: 1, ref_moves: 1 })
    expect(all('select id from node where id = ?', node.id)).to.deep.equal([])
    expect(usage()).to.deep.equal(summed())
  })

  it('change nothing that readers of the organisation compare', async () => {
    const before = versions()
    node.git.point(node.branch, node.git.commit({ files: { 'content.md': 'More.\n' }, parents: [node.head] }))
    await index()
    expect(versions()).to.deep.equal(before)
  })

  it('follow the branch that proposes the node, without another comparison', async () => {
    const files = { 'node.json': '{"title":"Small krill"}' }
    node.git.point(node.branch, node.git.commit({ files, parents: [node.head] }))
    expect(await listMoved(grove.deps, org, [node.id])).to.deep.equal([node.id])
    await index()
    expect(all('select title, version from proposed_node where id = ?', node.id)).to.deep.equal([
      { title: 'Small krill', version: 2 },
    ])
    expect(await listMoved(grove.deps, org, [node.id])).to.deep.equal([])
  })

  it('keep its pull request open while main is missing, and close it with its branch', async () => {
    const status = () => all('select status, target_branch from pull where node_id = ?', node.id)
    node.git.point('other', node.head)
    await index()
    expect(status()).to.deep.equal([{ status: 'open', target_branch: 'main' }])
    node.git.point(node.branch, null)
    await index()
    expect(status()).to.deep.equal([{ status: 'closed', target_branch: 'main' }])
    expect(all('select title from proposed_node where id = ?', node.id)).to.deep.equal([{ title: 'Krill' }])
  })

  it('become those of a node with the same history and pull requests', async () => {
    const { number } = (all('select number from pull where node_id = ?', node.id) as { number: number }[])[0] ?? {}
    bringIn(node, 'Krill')
    await index()
    expect(all('select id from proposed_node where id = ?', node.id)).to.deep.equal([])
    expect(all('select title, head, version, is_root from node where id = ?', node.id)).to.deep.equal([
      { title: 'Krill', head: node.head, version: 2, is_root: 1 },
    ])
    expect(all('select number, status from pull where node_id = ?', node.id)).to.deep.equal([
      { number, status: 'merged' },
    ])
    expect(counted()).to.deep.equal({
      ...{ branch: 2, chain: 1, node_tag: 1, node_text: 1, pull: 1, ref_moves: 1, tagged_node: 1 },
    })
    expect(usage()).to.deep.equal(summed())
    expect((await ann.get(`/orgs/${org}/nodes?tag=sea`)).body.nodes).to.have.length(1)
  })

  it('are those of a rebuilt index', async () => {
    const rows = () => [
      ...all(`select id, title, tags, head, ledger, entries_ledger, created_at, updated_at, proposed_in, bytes
        from proposed_node where id = '${node.id}'`),
      ...all('select name, head from branch where node_id = ?', node.id),
      ...all('select * from pull where node_id = ?', node.id),
      ...usage(),
    ]
    const before = rows()
    await reindex(grove.deps)
    expect(rows()).to.deep.equal(before)
  })

  for (const state of ['proposed', 'there'] as const)
    it(`leave none behind when a node that is ${state} is deleted`, async () => {
      const entry = (kind: object) => JSON.stringify({ by: ann.user, at: '2026-01-02T03:04:06.000Z', ...kind })
      const pull = JSON.parse(node.git.say('show', 'refs/grove/ledger:pulls/0/0/1.json'))
      const reviewers = [{ id: ann.user.id, name: 'Ann', since: pull.at }]
      const text = 'See'
      recordNode(
        node,
        {},
        {
          'pulls/0/0/1.json': JSON.stringify({ ...pull, reviewers }),
          'reviews/0/0/1/0/1.json': entry({
            kind: 'comment',
            id: pull.id,
            text,
            mentions: [ann.user.id],
            head: node.head,
          }),
          [`checks/${node.head.slice(0, 2)}/${node.head.slice(2)}.json`]: JSON.stringify({
            commit: node.head,
            checks: { build: { state: 'success', by: ann.user, at: pull.at } },
          }),
        },
      )
      if (state === 'there') bringIn(node, 'Krill')
      await index()
      expect(counted()).to.include.keys(
        'branch',
        'check_state',
        'involvement',
        'pull',
        'review_entry',
        'review_mention',
        'reviewer',
      )
      recordNode(node, { state: 'deleted' })
      await index()
      const { tombstone = 0, trash_usage, ...left } = counted()
      expect([left, tombstone, trash_usage]).to.deep.equal([{}, state === 'there' ? 1 : 0, 1])
      expect(all('select id from any_node where id = ?', node.id)).to.deep.equal([])
    })
})
