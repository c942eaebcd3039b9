/** `grove doctor`. */

import { existsSync } from 'node:fs'
import { readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { credentialsMigrations } from '../../index/credentials/migrations.ts'
import { logMigrations } from '../../index/log/migrations.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { recordGaps } from '../../server/domain/indexing/record-gaps.ts'
import { sealSecret } from '../../server/features/webhooks/secrets.ts'
import { looseFile } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { databaseEnvironment } from '../support/postgres.ts'
import { cli, cliWith, credentials, folder, seed, useDesk } from './desk.ts'

describe('the operator', () => {
  useDesk()

  describe('with doctor', () => {
    let grove: Grove
    let ann: PersonClient

    before(async () => {
      grove = await startGrove({ dataDir: await folder(), sweeps: false })
      ann = await signUp(grove, 'Ann')
      await seed(grove, ann)
    })
    after(() => grove.close())

    it('hears that nothing is wrong, for people and as JSON', async () => {
      const healthy = await cli(grove.dataDir, 'doctor')
      const schemas = `${credentials}: schema \\d{3}_\\w+\nindex.sqlite: schema \\d{3}_\\w+\nevents.sqlite: schema \\d{3}_\\w+\n`
      expect(healthy.stdout).to.match(
        new RegExp(`^\\S+: 2 organisations and \\d+ nodes\n${schemas}OK: no problems found\n$`),
      )
      expect(healthy.code).to.equal(0)
      const { code, stdout } = await cli(grove.dataDir, 'doctor', '--json')
      expect(code).to.equal(0)
      expect(JSON.parse(stdout)).to.deep.include({
        data_dir: grove.dataDir,
        organisations: 2,
        healthy: true,
        findings: [],
      })
    })

    it('hears which repository is damaged and how, all of them at once, and that nothing was touched', async () => {
      const path = ({ org, id }: TestNode) => `${org}/${id}.git`
      const nodes: TestNode[] = []
      for (let n = 0; n < 6; n++) nodes.push(await newNode(grove, ann, { title: `Whale ${n}` }))
      const [flipped, packed, emptied, lost, locked, hollow] = nodes as [
        TestNode,
        TestNode,
        TestNode,
        TestNode,
        TestNode,
        TestNode,
      ]
      for (const { git } of nodes) git.loosen()
      const repair: (() => Promise<unknown>)[] = []
      const damage = async (file: string, bytes: Buffer | null) => {
        const was = await readFile(file)
        repair.push(() => rm(file, { force: true }).then(() => writeFile(file, was)))
        await rm(file)
        if (bytes) await writeFile(file, bytes)
      }
      const blob = flipped.git.say('rev-parse', 'main:node.json')
      const object = looseFile(flipped.git, blob)
      const bytes = await readFile(object)
      await damage(object, Buffer.from(bytes.map((byte, at) => (at === bytes.length - 6 ? byte ^ 0xff : byte))))
      packed.git.say('repack', '-a', '-d', '-q')
      const [pack = ''] = (await readdir(join(packed.git.dir, 'objects/pack'))).filter((name) => name.endsWith('.pack'))
      const packFile = join(packed.git.dir, 'objects/pack', pack)
      await damage(packFile, (await readFile(packFile)).subarray(0, -40))
      await damage(join(emptied.git.dir, 'refs/heads/main'), Buffer.alloc(0))
      await damage(join(lost.git.dir, 'refs/grove/ledger'), null)
      const tree = hollow.git.say('rev-parse', 'main^{tree}')
      await damage(looseFile(hollow.git, tree), Buffer.alloc(0))
      const lock = join(locked.git.dir, 'refs/heads/main.lock')
      await writeFile(lock, '')
      await utimes(lock, 1_000_000_000, 1_000_000_000)
      repair.push(() => rm(lock))

      const { code, stdout } = await cli(grove.dataDir, 'doctor')
      expect(code, stdout).to.equal(1)
      const lines = stdout.split(' found:\n')[1]?.split('\n').filter(Boolean) ?? []
      const of = (node: TestNode) => lines.filter((line) => line.includes(node.id)).join('\n')
      expect(of(flipped)).to.match(new RegExp(`^  ${path(flipped)}: git fsck: error: .*${blob.slice(2)}`))
      expect(of(packed)).to.match(new RegExp(`^  ${path(packed)}: git fsck: error: .*${pack}`))
      expect(of(emptied)).to.match(
        new RegExp(`^  ${path(emptied)}: git fsck: error: refs/heads/main: invalid sha1 pointer 0{40}`),
      )
      expect(of(lost)).to.equal(`  ${path(lost)}: refs/grove/ledger is missing`)
      expect(of(hollow)).to.match(new RegExp(`^  ${path(hollow)}: git fsck: error: object file .* is empty`))
      expect(of(locked)).to.equal(`  ${path(locked)}/refs/heads/main.lock: a stale lock`)
      expect(lines).to.have.length(6)
      for (const undo of repair) await undo()
      expect((await cli(grove.dataDir, 'doctor')).stdout).to.match(/\nOK: no problems found\n$/)
    })

    it('hears which rules would have refused creations, without that being a fault', async () => {
      const area = await newNode(grove, ann, { title: 'Handbook' })
      for (const title of ['Krill', 'Squid']) await newNode(grove, ann, { title, parents: [area.id] })
      const rule = { branches: ['main'], under: area.id }
      const set = (...rules: object[]) => ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
      await set({ branches: ['main'], pages: 'existing' }, rule)
      const { code, stdout } = await cli(grove.dataDir, 'doctor')
      expect(code).to.equal(0)
      expect(stdout).to.include(
        `(note) ${ann.org}/org.git: rule 2 guards new nodes: it would have refused 3 creations of the last 30 days, including any before the rule; its owners can set \`pages\` to \`existing\``,
      )
      await set()
      expect((await cli(grove.dataDir, 'doctor')).stdout).to.match(/\nOK: no problems found\n$/)
    })

    it('hears that a commit-graph or a multi-pack-index is damaged', async () => {
      const [graphed, packed] = [await newNode(grove, ann), await newNode(grove, ann)]
      graphed.git.say('commit-graph', 'write', '--reachable')
      packed.git.say('repack', '-a', '-d', '-q')
      packed.git.say('multi-pack-index', 'write')
      const [graph, index] = [
        join(graphed.git.dir, 'objects/info/commit-graph'),
        join(packed.git.dir, 'objects/pack/multi-pack-index'),
      ]
      for (const file of [graph, index]) {
        const bytes = await readFile(file)
        bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 0xff, bytes.length - 1)
        await rm(file)
        await writeFile(file, bytes)
      }
      const { findings } = JSON.parse((await cli(grove.dataDir, 'doctor', '--json')).stdout)
      for (const file of [graph, index]) await rm(file)
      expect(findings.map(({ path }: { path: string }) => path)).to.have.members([
        `${graphed.org}/${graphed.id}.git`,
        `${packed.org}/${packed.id}.git`,
      ])
    })

    it('hears where the index says otherwise than the repositories, row by row, until it is rebuilt', async () => {
      const node = await newNode(grove, ann, { title: 'Drifting', tags: ['sea'] })
      const kelp = await newNode(grove, ann, { title: 'Kelp' })
      const [was, is] = ['1'.repeat(40), node.git.head()]
      const db = openSqlite(join(grove.dataDir, 'index.sqlite'))
      try {
        db.prepare("update branch set head = ? where node_id = ? and name = 'main'").run(was, node.id)
        db.prepare('update node set title = ? where id = ?').run('Drifted', node.id)
        db.prepare('delete from node_tag where node_id = ?').run(node.id)
        db.prepare("insert into branch (node_id, name, head) values (?, 'phantom', ?)").run(kelp.id, was)
        db.prepare('update node set is_root = 0 where id = ?').run(kelp.id)
        db.prepare('insert into level_count (org_id, parent, nodes) values (?, ?, 3)').run(kelp.org, kelp.id)
      } finally {
        db.close()
      }
      const { code, stdout } = await cli(grove.dataDir, 'doctor', '--json')
      expect(code).to.equal(1)
      const finding = (id: string, reason: string) => ({
        kind: 'fault',
        subject: 'index',
        path: `${node.org}/${id}.git`,
        reason,
      })
      expect(JSON.parse(stdout).findings).to.have.deep.members([
        finding(node.id, 'node: title is "Drifting", but the index has "Drifted"'),
        finding(node.id, 'the index lacks node_tag sea'),
        finding(kelp.id, 'node: is_root is 1, but the index has 0'),
        finding(kelp.id, `the index has level_count ${kelp.id}, but the repository does not`),
        finding(node.id, `branch main: head is "${is}", but the index has "${was}"`),
        finding(kelp.id, 'the index has branch phantom, but the repository does not'),
      ])
      expect((await cli(grove.dataDir, 'reindex')).code).to.equal(0)
      expect((await cli(grove.dataDir, 'doctor')).code).to.equal(0)
    })

    it('hears what this version has not read yet since an upgrade, which is no problem', async () => {
      const [node, other] = [await newNode(grove, ann), await newNode(grove, ann, { title: 'Other' })]
      await node.proposal('topic')
      await node.open('topic')
      await ann.post(`${node.at}/pull-requests/1/comments`, { text: 'One' }).then(expecting(201))
      const edit = (sql: string, ...values: string[]) => {
        const db = openSqlite(join(grove.dataDir, 'index.sqlite'))
        db.prepare(sql).run(...values)
        db.close()
      }
      edit('update node set entries_ledger = null where id = ?', node.id)
      for (const table of ['review_entry', 'involvement']) edit(`delete from ${table} where node_id = ?`, node.id)
      edit('update pull set author_id = null, comments = 0 where node_id = ?', node.id)
      edit('update org set rules = null, rules_head = null where id = ?', ann.org)
      const unread = await cli(grove.dataDir, 'doctor')
      expect(unread.stdout).to.match(
        /\nOK: no problems found\n {2}\(note\) index.sqlite: 2 repositories are not read completely yet; .*\n$/,
      )
      expect(unread.code).to.equal(0)
      edit("update node set title = 'Drifted' where id = ?", other.id)
      const { code, stdout } = await cli(grove.dataDir, 'doctor')
      expect(code).to.equal(1)
      expect(stdout).to.include('1 problem found:\n').and.to.include('2 repositories are not read completely yet')
      expect((await cli(grove.dataDir, 'reindex')).code).to.equal(0)
      expect((await cli(grove.dataDir, 'doctor')).stdout).to.match(/\nOK: no problems found\n$/)
    })

    it('hears of a branch that was moved by hand and writes nothing itself, until the node is read', async () => {
      const node = await newNode(grove, ann, { title: 'By hand' })
      const head = await node.proposal('topic')
      await node.open('topic')
      const ledger = node.git.say('rev-parse', 'refs/grove/ledger')
      node.git.point('topic', null)
      node.git.point('main', head)
      const { code, stdout } = await cli(grove.dataDir, 'doctor')
      expect(code).to.equal(1)
      expect(stdout).to.contain(
        `${node.org}/${node.id}.git: cannot be indexed: its branches were moved outside the service, and its pull requests are not settled yet\n`,
      )
      expect(node.git.say('rev-parse', 'refs/grove/ledger')).to.equal(ledger)
      expect((await node.pull(1)).status).to.equal('merged')
      expect((await cli(grove.dataDir, 'doctor')).code).to.equal(0)
    })

    it('checks a share of the repositories, each time others, and says what it did not check', async () => {
      const looked = async (...args: string[]) => {
        const { code, stdout } = await cli(grove.dataDir, 'doctor', '--json', ...args)
        const { checked, not_checked, organisations, nodes, findings } = JSON.parse(stdout)
        expect({ code, findings }).to.deep.equal({ code: 0, findings: [] })
        expect(checked.length + not_checked).to.equal(organisations + nodes)
        return { some: checked as string[], total: organisations + nodes }
      }
      const seen = new Set<string>()
      const runs: string[] = []
      let all = 0
      for (let run = 0; run < 40 && (run < 4 || seen.size < all); run++) {
        const { some, total } = await looked('--sample', '40')
        expect(some).to.have.length(Math.ceil(total * 0.4))
        for (const path of some) seen.add(path)
        runs.push(some.join())
        all = total
      }
      expect(seen.size).to.equal(all)
      expect(new Set(runs)).to.have.length.above(1)
      const { code, stdout } = await cli(grove.dataDir, 'doctor', '--sample', '0.1')
      expect(code).to.equal(0)
      expect(stdout)
        .to.include(`\nchecked 1 of ${all} repositories: 0.1 % of all, drawn at random\n`)
        .and.to.include(`\nnot checked: ${all - 1} other repositories and their rows in the index; cycles of parents`)
      expect((await cli(grove.dataDir, 'doctor', '--sample', '101')).code).to.equal(2)
      expect((await cli(grove.dataDir, 'doctor', '--since', 'yesterday')).code).to.equal(2)
    })

    it('checks what may have changed since a time, in the repositories and in the index', async () => {
      const [old, fresh] = [await newNode(grove, ann, { title: 'Old' }), await newNode(grove, ann, { title: 'Fresh' })]
      const path = ({ org, id }: TestNode) => `${org}/${id}.git`
      const edit = (sql: string, ...values: (string | number)[]) => {
        const db = openSqlite(join(grove.dataDir, 'index.sqlite'))
        db.prepare(sql).run(...values)
        db.close()
      }
      edit('update ref_moves set moved_at = 1000000000')
      await ann.patch(fresh.at, { title: 'Fresher' }).then(expecting(200))
      const since = ['--since', '2002-01-01T00:00:00Z']
      const check = async (...args: string[]) => {
        const { code, stdout } = await cli(grove.dataDir, 'doctor', '--json', ...args)
        return { code, ...JSON.parse(stdout) }
      }
      expect((await check(...since)).checked).to.deep.equal([path(fresh)])
      expect((await check(...since, '--sample', '100')).not_checked).to.equal(0)
      expect((await cli(grove.dataDir, 'doctor', ...since)).stdout).to.include(
        ': those that may have changed since 2002-01-01T00:00:00.000Z\nnot checked: ',
      )

      for (const { id } of [old, fresh]) edit('update node set title = ? where id = ?', 'Drifted', id)
      const lost = join(grove.dataDir, path(old), 'objects')
      await rename(lost, `${lost}.away`)
      const { code, findings } = await check(...since)
      expect(findings).to.deep.equal([
        {
          kind: 'fault',
          subject: 'index',
          path: path(fresh),
          reason: 'node: title is "Fresher", but the index has "Drifted"',
        },
      ])
      expect(code).to.equal(1)
      // It does not know the time of a repository without a row, and checks it.
      edit('delete from ref_moves where node_id = ?', old.id)
      expect((await check(...since)).checked).to.have.members([path(old), path(fresh)])
      await rename(`${lost}.away`, lost)
      expect((await cli(grove.dataDir, 'reindex')).code).to.equal(0)
      expect((await cli(grove.dataDir, 'doctor')).stdout).to.match(/\nOK: no problems found\n$/)
    })

    it('hears which repository is gone although nobody deleted it, as backup does, until it is back', async () => {
      const [lost, deleted, purged] = [await newNode(grove, ann), await newNode(grove, ann), await newNode(grove, ann)]
      const path = `${lost.org}/${lost.id}.git`
      const backup = join(await folder(), 'backup')
      expect((await cli(grove.dataDir, 'backup', backup)).code).to.equal(0)
      await ann.delete(purged.at).then(expecting(204))
      expect((await cli(grove.dataDir, 'purge', '--older-than', '0', '--force')).code).to.equal(0)
      await ann.delete(deleted.at).then(expecting(204))
      const away = join(await folder(), 'away.git')
      await rename(lost.git.dir, away)

      const line = `  ${path}: the repository is gone, and nobody deleted it; replace it with its mirror\n`
      const expectNamed = async (command: string, ...args: string[]) => {
        const { code, stdout } = await cli(grove.dataDir, command, ...args)
        expect(code, stdout).to.equal(1)
        expect(stdout).to.include('1 problem found:\n').and.to.include(line)
      }
      await expectNamed('doctor')
      // The service takes note that it is gone, as if it had been deleted.
      await ann.get(lost.at).then(expecting(404))
      await recordGaps(grove.deps, lost.org, { isFirst: true, nodeIds: [] })
      await expectNamed('doctor')
      await expectNamed('backup', backup)
      const { repositories, gone } = JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8'))
      expect(gone).to.have.members([deleted, purged].map(({ org, id }) => `${org}/${id}.git`))
      expect(repositories.map((one: { path: string }) => one.path)).to.include(path)

      await rename(away, lost.git.dir)
      await ann.get(lost.at).then(expecting(200))
      expect((await cli(grove.dataDir, 'backup', backup)).code).to.equal(0)
      expect((await cli(grove.dataDir, 'doctor')).stdout).to.match(/\nOK: no problems found\n$/)
    })

    it('hears that SECRET_KEY is missing or wrong, by the secrets of webhooks', async () => {
      const hooks = `/orgs/${ann.org}/webhooks`
      const { body } = await ann.post(hooks, { url: 'http://127.0.0.1:9999/' }).then(expecting(201))
      expect((await cli(grove.dataDir, 'doctor')).code).to.equal(0)
      const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64')
      const [key, other] = [keyOf(1), keyOf(2)]
      const secret_sealed = sealSecret({ config: { ...grove.deps.config, secretKey: key } }, body.id, body.secret)
      await grove.deps.credentials.write((trx) => trx.updateTable('webhook').set({ secret_sealed }).execute())
      const doctor = async (keys: object) =>
        cliWith({ DATA_DIR: grove.dataDir, ...(await databaseEnvironment(grove.dataDir)), ...keys }, 'doctor')
      for (const [keys, why] of [
        [{}, 'SECRET_KEY is not set'],
        [{ SECRET_KEY: other }, 'SECRET_KEY is not the key that encrypted them'],
      ] as const) {
        const { code, stdout } = await doctor(keys)
        expect(stdout).to.include(
          `  ${credentials}: the secrets of 1 webhook cannot be read, so they send nothing: ${why}; `,
        )
        expect(code).to.equal(1)
      }
      expect(await doctor({ SECRET_KEY: key })).to.include({ code: 0 })
      expect(await doctor({ SECRET_KEY: other, SECRET_KEY_OLD: key })).to.include({ code: 0 })
      await ann.delete(`${hooks}/${body.id}`).then(expecting(204))
    })

    it('hears of a circle of parents', async () => {
      const [a, b] = [await newNode(grove, ann, { title: 'A' }), await newNode(grove, ann, { title: 'B' })]
      await ann.put(`${a.at}/parents/${b.id}`, {}).then(expecting(200))
      const commit = b.git.commit({ parents: [b.git.head()], files: { [`parents/${a.id}.json`]: '{}\n' } })
      b.git.point('main', commit)
      await ann.get(b.at)
      const { code, stdout } = await cli(grove.dataDir, 'doctor')
      expect(code).to.equal(1)
      expect(stdout).to.match(/: the parent \S+ would create a cycle; the edge is hidden\n$/)
      await ann.delete(`${a.at}/parents/${b.id}`)
      expect((await cli(grove.dataDir, 'doctor')).code).to.equal(0)
    })

    it('hears which files of a ledger are not entries, and the node is served with them', async () => {
      const node = await newNode(grove, ann)
      await node.proposal('topic')
      await node.open('topic')
      const path = `${node.at}/pull-requests/1`
      for (const text of ['One', 'Two']) await ann.post(`${path}/comments`, { text }).then(expecting(201))
      const ledger = 'refs/grove/ledger'
      const write = (files: Record<string, string | null>) => {
        const parents = [node.git.say('rev-parse', ledger)]
        node.git.say('update-ref', ledger, node.git.commit({ files, parents, message: 'by hand' }))
      }
      const was = node.git.say('show', `${ledger}:reviews/0/0/1/0/1.json`)
      write({ 'reviews/0/0/1/0/1.json': '{"kind":"comment"}', 'reviews/0/0/1/0/9.json': '<' })
      expect((await node.pull(1)).comments).to.equal(1)
      const { code, stdout } = await cli(grove.dataDir, 'doctor')
      expect(code).to.equal(1)
      const lines = stdout.split(' found:\n')[1]?.split('\n').filter(Boolean)
      expect(lines).to.deep.equal(
        [1, 9].map(
          (entry) =>
            `  ${node.org}/${node.id}.git: reviews/0/0/1/0/${entry}.json of ${ledger} is not a comment, review or event; it is shown as damaged`,
        ),
      )
      write(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`reviews/0/0/1/1/${101 + n}.json`, `${n}`])))
      expect((await cli(grove.dataDir, 'doctor')).stdout).to.include(`: 12 more files of ${ledger} are damaged\n`)
      await ann.post(`${path}/comments`, { text: 'Three', thread: 2 }).then(expecting(201))
      const gone = Array.from({ length: 30 }, (_, n) => [`reviews/0/0/1/1/${101 + n}.json`, null])
      write({ ...Object.fromEntries(gone), 'reviews/0/0/1/0/1.json': was, 'reviews/0/0/1/0/9.json': null })
      await ann.get(node.at).then(expecting(200))
      expect((await cli(grove.dataDir, 'doctor')).stdout).to.match(/\nOK: no problems found\n$/)
    })

    it('hears of an index that is missing, and of a folder that is none', async () => {
      const copy = await folder()
      await cli(grove.dataDir, 'backup', join(copy, 'backup'))
      const target = join(copy, 'target')
      expect((await cli(target, 'restore', join(copy, 'backup'))).code).to.equal(0)
      const names = await readdir(target)
      expect((await cli(target, 'doctor')).code).to.equal(0)
      expect(await readdir(target)).to.deep.equal(names)
      for (const end of ['', '-wal', '-shm']) await rm(join(target, `index.sqlite${end}`), { force: true })
      const missing = await cli(target, 'doctor')
      expect({ code: missing.code, last: missing.stdout.split('\n').slice(1) }).to.deep.equal({
        code: 0,
        last: [
          `${credentials}: schema ${Object.keys(credentialsMigrations).sort().at(-1)}`,
          `events.sqlite: schema ${Object.keys(logMigrations).sort().at(-1)}`,
          'OK: no problems found',
          '  (note) index.sqlite: is missing; the next start rebuilds it',
          '',
        ],
      })
      expect(existsSync(join(target, 'index.sqlite'))).to.equal(false)
      const absent = join(copy, 'absent')
      for (const args of [['doctor'], ['backup', join(copy, 'other')], ['purge']])
        expect(await cli(absent, ...args)).to.deep.equal({
          code: 2,
          stdout: '',
          stderr: `grove: ${absent} is not a folder\n`,
        })
      expect(existsSync(absent)).to.equal(false)
    })
  })
})
