/**
 * Version 1.0.0, which knows no reviews, in turns with this one. A simulation does what it does to the index: it reads
 * pull requests of the ledger, and neither reviewers nor entries. It keeps what it does not know in the ledger.
 */

import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { cli } from '../operator/desk.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'

const ledger = 'refs/grove/ledger'
const recordPath = 'pulls/0/0/1.json'

/** The columns of a pull request that 1.0.0 writes, in the order of `valuesOf`. */
const columns =
  `org_id node_id number id title description source_branch target_branch status is_draft author author_email
  created_at recorded_at source_commit target_commit ahead behind ended_by ended_by_email ended_at`.split(/\s+/)

// biome-ignore lint/suspicious/noExplicitAny: a record of the ledger
type Pull = any // only the fields that 1.0.0 reads

describe('version 1.0.0 in turns with this one', () => {
  let dataDir: string
  let grove: Grove
  let ann: PersonClient
  let bob: PersonClient
  let node: TestNode
  let path: string

  before(async () => {
    dataDir = await newDataDir()
    await start()
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'reader' }).then(expecting(200))
  })
  beforeEach(async () => {
    node = await newNode(grove, ann)
    path = `${node.at}/pull-requests/1`
    await node.proposal('draft')
  })
  after(async () => {
    await grove.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  async function start(sweeps = false): Promise<void> {
    grove = await startGrove({ dataDir, sweeps })
    if (ann) ann = { ...ann, ...client(grove, ann.session.accessToken) }
    if (bob) bob = { ...bob, ...client(grove, bob.session.accessToken) }
  }
  /** Stops this version while the other one works. */
  const aside = async (work: () => void, sweeps?: boolean) => {
    await grove.close()
    work()
    await start(sweeps)
  }
  const read = (file: string) => JSON.parse(node.git.say('show', `${ledger}:${file}`))
  const write = (files: Record<string, string>) => {
    const parents = [node.git.say('rev-parse', ledger)]
    node.git.say('update-ref', ledger, node.git.commit({ files, parents, message: 'edit 1' }))
  }
  const inIndex = (work: (run: (sql: string, ...values: unknown[]) => void) => void) => {
    const db = openSqlite(join(dataDir, 'index.sqlite'))
    try {
      db.pragma('foreign_keys = on')
      db.transaction(() => work((sql, ...values) => void db.prepare(sql).run(...values)))()
    } finally {
      db.close()
    }
  }
  const olderIndexes = () =>
    inIndex((run) => {
      const set = columns.map((column) => `${column} = excluded.${column}`).join()
      const places = columns.map(() => '?').join()
      run(
        `insert into pull (${columns.join()}) values (${places}) on conflict (node_id, number) do update set ${set}`,
        ...valuesOf(node, read(recordPath)),
      )
      run('update node set ledger = ?, version = version + 1 where id = ?', node.git.say('rev-parse', ledger), node.id)
    })
  const expectHealthy = async () => {
    await ann.get(node.at).then(expecting(200))
    const { code, stdout } = await cli(dataDir, 'doctor')
    expect(code, stdout).to.equal(0)
    node.git.fsck()
  }

  it('loses no author and no reviewers of what it indexes, and no entries', async () => {
    await node.open('draft')
    await bob.post(`${path}/comments`, { text: 'First.' }).then(expecting(201))
    await aside(() => {
      // This version has asked for a review and was killed before its index; the other one edits, and indexes both.
      const reviewers = [{ id: bob.user.id, name: 'Bob', since: '2026-01-01T00:00:00Z' }]
      const by = { id: bob.user.id, name: 'Bob', email: 'bob@example.org' }
      const said = { kind: 'comment', id: randomUUID(), by, at: '2026-01-01T00:00:00Z', head: node.git.head('draft') }
      write({
        [recordPath]: JSON.stringify({ ...read(recordPath), reviewers }),
        'reviews/0/0/1/0/2.json': JSON.stringify({ ...said, text: 'Second.' }),
      })
      write({ [recordPath]: JSON.stringify({ ...read(recordPath), title: 'Renamed' }) })
      olderIndexes()
    })
    const { pr } = (await ann.get(path).then(expecting(200))).body
    expect(pr).to.deep.include({ title: 'Renamed', author_id: ann.user.id, comments: 2, open_threads: 2 })
    expect(pr.reviewers).to.deep.equal([{ user_id: bob.user.id, name: 'Bob', requested_at: '2026-01-01T00:00:00Z' }])
    await expectHealthy()
  })

  it('indexes a proposal first that this version has opened, which then has its author', async () => {
    await node.open('draft')
    await aside(() => {
      // This version was killed before its index, which the deleted row is as.
      inIndex((run) => {
        run('delete from pull where node_id = ?', node.id)
        const before = node.git.say('rev-parse', `${ledger}^`)
        run(
          'update node set ledger = ?, entries_ledger = ?, version = version + 1 where id = ?',
          before,
          before,
          node.id,
        )
      })
      olderIndexes()
    })
    expect((await ann.get(path).then(expecting(200))).body.pr).to.include({ author_id: ann.user.id, comments: 0 })
    await expectHealthy()
  })

  it('continues with an index that it has made, as after a downgrade, and this version reads all of it', async () => {
    await node.open('draft', { reviewers: [bob.user.id] })
    await bob.post(`${path}/comments`, { text: 'First.' }).then(expecting(201))
    await aside(() => {
      inIndex((run) => {
        for (const table of ['pull', 'review_entry', 'reviewer', 'involvement'])
          run(`delete from ${table} where node_id = ?`, node.id)
        run('update node set entries_ledger = null where id = ?', node.id)
      })
      olderIndexes()
    })
    const { pr } = (await ann.get(path).then(expecting(200))).body
    expect(pr).to.deep.include({ author_id: ann.user.id, comments: 1 })
    expect(pr.reviewers).to.have.length(1)
    await bob.post(`${path}/comments`, { text: 'Second.', thread: 1 }).then(expecting(201))
    expect((await ann.get(`${path}/threads`)).body.threads[0].num_comments).to.equal(2)
    await expectHealthy()
  })

  it('leaves contributors out of the index, and this version reads them again', async () => {
    const member = `/orgs/${ann.org}/members/bob@example.org`
    await ann.put(member, { role: 'contributor' }).then(expecting(200))
    await aside(
      () =>
        inIndex((run) => {
          run('delete from member where org_id = ? and user_id = ?', ann.org, bob.user.id)
          run('update org set rules = null, rules_head = null where id = ?', ann.org)
        }),
      true,
    )
    await until(async () => (await bob.get(`/orgs/${ann.org}`)).status === 200)
    expect((await bob.get(`/orgs/${ann.org}`)).body.role).to.equal('contributor')
    await aside(() => {})
    await expectHealthy()
  })
})

function valuesOf({ org, id }: TestNode, { author, ended, ...pull }: Pull): unknown[] {
  const heads = [pull.source_commit, pull.target_before, pull.commits_ahead, pull.commits_behind]
  return [
    ...[
      org,
      id,
      pull.number,
      pull.id,
      pull.title,
      pull.description,
      pull.source_branch,
      pull.target_branch,
      pull.status,
    ],
    ...[Number(pull.is_draft), author.name, author.email, pull.created_at, pull.at, ...heads],
    ...[ended?.by.name ?? null, ended?.by.email ?? null, ended?.at ?? null],
  ]
}
