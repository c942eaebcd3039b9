import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { startService } from '../server/service.ts'
import { expectSound, git, gitLines } from './support/data-folder.ts'
import { everythingIn } from './support/everything.ts'
import {
  client,
  type Grove,
  type PersonClient,
  password,
  type SpawnedGrove,
  signUp,
  spawnGrove,
  startGrove,
} from './support/grove.ts'
import { expecting, newNode, type TestNode } from './support/node.ts'

const queries = ['whale song', 'krill of the deep ice']
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

describe('the operator', function () {
  this.timeout(240_000)
  const temporary: string[] = []
  after(async () => {
    for (const folder of temporary) await rm(folder, { recursive: true, force: true })
  })

  describe('with ten lines of shell', () => {
    it('gets every answer back, byte for byte, from mirrors that were made under load and nothing else', async () => {
      const dataDir = await folder()
      const copy = join(await folder(), 'copy')
      const [first, last] = [await shell('mirror'), await shell('drill')]
      expect(first.trimEnd().split('\n')).to.have.length.at.most(10)
      let grove = await spawnGrove(dataDir)
      let before: Record<string, string>
      let [ann, bob] = [await signUp(grove, 'Ann'), await signUp(grove, 'Bob')]
      const orgs = await seed(grove, ann)
      const token = await newToken(ann)
      try {
        // The second run of a backup that was made before half of it was there.
        await run('bash', ['-c', first], { DATA_DIR: dataDir, COPY: copy })
        const more = await newNode(grove, ann, { title: 'Late song', text_content: 'whale song of the ice' })
        await more.proposal('later')
        await more.open('later')
        before = await everythingIn(grove, ann.session.accessToken, orgs, queries)

        const load = startLoad(grove, bob)
        await load.until(10)
        const mirrored = await run('bash', ['-c', first], { DATA_DIR: dataDir, COPY: copy })
        await load.stop()
        expect(mirrored).to.deep.include({ code: 0, stderr: '' })
        const after = await everythingIn(grove, ann.session.accessToken, orgs, queries)
        expect(after, 'what was left alone').to.deep.equal(before)
      } finally {
        await grove.stop()
      }
      await rm(dataDir, { recursive: true })

      const drill = `set -euo pipefail; grove() { "$NODE" dist/cli.js "$@"; }\n${last}`
      const drilled = await run('bash', ['-c', drill], { COPY: copy, NODE: process.execPath, LOG_LEVEL: 'warn' })
      expect(drilled.code, drilled.stdout + drilled.stderr).to.equal(0)
      expect(drilled.stdout).to.match(
        /^3 organisations and \d+ nodes restored from .*\n[\s\S]*\nNothing is wrong\nThe copies are good\n$/,
      )

      const restored = await cli(dataDir, 'restore', copy)
      expect(restored.code, restored.stdout + restored.stderr).to.equal(0)
      expect(restored.stdout).to.match(/^3 organisations and \d+ nodes restored from /)
      const tokens = resetTokens(restored.stdout)
      expect([...tokens.keys()]).to.deep.equal(['ann@example.org', 'bob@example.org'])

      grove = await spawnGrove(dataDir)
      try {
        const login = { email: 'ann@example.org', password }
        expect((await client(grove).post('/auth/login', login)).status, 'the old password').to.equal(401)
        const refresh = { refreshToken: ann.session.refreshToken }
        expect((await client(grove).post('/auth/refresh', refresh)).status, 'the old session').to.equal(401)
        expect((await client(grove, token).get('/auth/me')).status, 'the old personal access token').to.equal(401)
        ann = await withNewPassword(grove, tokens.get('ann@example.org'))
        expect(await everythingIn(grove, ann.session.accessToken, orgs, queries)).to.deep.equal(before)
        expect((await ann.get('/auth/tokens')).body.total).to.equal(0)
        expect(ann.session.user).to.include({ email: 'ann@example.org', name: 'Ann', org_id: orgs[0] })

        const again = { reset_token: tokens.get('ann@example.org'), new_password: 'something else' }
        expect((await client(grove).post('/auth/password', again)).status, 'the token once more').to.equal(401)
        bob = await withNewPassword(grove, tokens.get('bob@example.org'))
        await everythingIn(grove, bob.session.accessToken, [bob.org], queries)
        expect((await cli(dataDir, 'doctor')).stdout).to.contain('\nNothing is wrong\n')
      } finally {
        await grove.stop()
      }
      await expectSound(dataDir)
    })
  })

  describe('with backup and restore', () => {
    let dataDir: string
    let backup: string
    let grove: SpawnedGrove
    let ann: PersonClient
    let orgs: string[]
    let token: string
    let earlier: Record<string, string>

    before(async () => {
      dataDir = await folder()
      backup = join(await folder(), 'backup')
      grove = await spawnGrove(dataDir)
      ann = await signUp(grove, 'Ann')
      await signUp(grove, 'Bob')
      orgs = await seed(grove, ann)
      token = await newToken(ann)
    })
    after(() => grove.stop())

    it('copies beside the service, what changed alone the second time, and names what was deleted', async () => {
      const repositories = (await repositoriesIn(dataDir)).length
      expect(await cli(dataDir, 'backup', backup)).to.deep.include({
        code: 0,
        stdout: `${repositories} repositories in ${backup}, ${repositories} of them changed since the last backup\n`,
      })
      expect((await stat(join(backup, 'credentials.sqlite'))).mode & 0o077).to.equal(0)
      const manifest = JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8'))
      expect(manifest).to.include({ format: 1 })
      expect(manifest.repositories.map(({ path }: { path: string }) => path)).to.deep.equal(
        await repositoriesIn(dataDir),
      )

      const other = await newNode(grove, ann, { title: 'Gone soon' })
      await cli(dataDir, 'backup', backup)
      expect((await ann.delete(other.at)).status).to.equal(204)
      const node = await newNode(grove, ann, { title: 'New' })
      await node.commit('main', { 'a.txt': 'more\n' })
      const packed = await readFile(join(backup, orgs[0] ?? '', 'org.git/HEAD'), 'utf8')
      expect(packed).to.equal('ref: refs/heads/main\n')
      expect(await cli(dataDir, 'backup', backup)).to.deep.include({
        code: 0,
        stdout: `${repositories + 1} repositories in ${backup}, 1 of them changed since the last backup
kept, though it is deleted: ${other.org}/${other.id}.git
`,
      })
      expect(await cli(dataDir, 'backup', backup)).to.deep.include({
        code: 0,
        stdout: `${repositories + 1} repositories in ${backup}, 0 of them changed since the last backup
kept, though it is deleted: ${other.org}/${other.id}.git
`,
      })
      earlier = await everythingIn(grove, ann.session.accessToken, orgs, queries)
    })

    it('brings everything back, with accounts, passwords, sessions and personal access tokens', async () => {
      const target = await folder()
      const { code, stdout, stderr } = await cli(target, 'restore', backup)
      expect({ code, stdout }, stderr).to.deep.equal({
        code: 0,
        stdout: `3 organisations and ${(await repositoriesIn(dataDir)).length - 3} nodes restored from ${backup}
Accounts, passwords and sessions are those of the backup
left: ${(await goneIn(backup))[0]} was deleted before the backup (manifest.json, gone)
`,
      })
      const second = await spawnGrove(target)
      try {
        expect(await everythingIn(second, ann.session.accessToken, orgs, queries)).to.deep.equal(earlier)
        const login = await client(second).post('/auth/login', { email: 'bob@example.org', password })
        expect(login.status).to.equal(200)
        const refresh = { refreshToken: ann.session.refreshToken }
        expect((await client(second).post('/auth/refresh', refresh)).body).to.include({ tokenType: 'Bearer' })
        expect((await client(second, token).get('/auth/me')).body).to.deep.equal(ann.user)
      } finally {
        await second.stop()
      }
      await expectSound(target)
    })

    it('copies while others write, and doctor, who looks meanwhile, finds nothing wrong there or in what comes of it', async () => {
      const busy = join(await folder(), 'busy')
      const bob = await client(grove).post('/auth/login', { email: 'bob@example.org', password }).then(expecting(200))
      const { user, accessToken } = bob.body
      const load = startLoad(grove, { ...client(grove, accessToken), user, org: user.org_id, session: bob.body })
      await load.until(5)
      for (const work of [['backup', busy], ['doctor'], ['backup', busy]])
        expect(await cli(dataDir, ...work)).to.deep.include({ code: 0 })
      await load.stop()
      const target = await folder()
      for (const work of [['restore', busy], ['doctor']])
        expect(await cli(target, ...work)).to.deep.include({ code: 0 })
      await expectSound(target)
    })

    it('gives an account to who became a member after the accounts were copied', async () => {
      const stale = join(await folder(), 'stale')
      await cli(dataDir, 'backup', stale)
      const accounts = await readFile(join(stale, 'credentials.sqlite'))
      const carl = await signUp(grove, 'Carl')
      await cli(dataDir, 'backup', stale)
      await writeFile(join(stale, 'credentials.sqlite'), accounts)
      const target = await folder()
      const { code, stdout } = await cli(target, 'restore', stale)
      expect(code).to.equal(1)
      expect(stdout).to.match(/\ncarl@example\.org grv_reset_\S+\n/)
      expect(stdout).to.contain(
        '\n1 thing is wrong:\n  credentials.sqlite: is another than the manifest names; it is sound, and was taken\n',
      )
      const second = await spawnGrove(target)
      try {
        const session = await withNewPassword(second, resetTokens(stdout).get('carl@example.org'))
        expect(session.session.user).to.deep.include({ id: carl.user.id, org_id: carl.org })
      } finally {
        await second.stop()
      }
      expect((await ann.get(`/orgs/${carl.org}`)).status).to.equal(404)
      expect((await carl.delete(`/orgs/${carl.org}`)).status).to.equal(204)
    })

    it('names what it cannot copy, keeps the mirror of the last time, and heals a damaged mirror', async () => {
      const [victim, other] = [await newNode(grove, ann, { title: 'Victim' }), await newNode(grove, ann)]
      await cli(dataDir, 'backup', backup)
      const repo = `${victim.org}/${victim.id}.git`
      const mirrored = await gitLines(join(backup, repo), 'for-each-ref')
      const head = await readFile(join(dataDir, repo, 'refs/heads/main'))
      await writeFile(join(dataDir, repo, 'refs/heads/main'), '')
      const healed = join(backup, other.org, `${other.id}.git`)
      for (const object of await objectsIn(healed)) await flipByte(object)
      try {
        const { code, stdout } = await cli(dataDir, 'backup', backup)
        expect(code).to.equal(1)
        expect(stdout).to.contain(`\n1 thing is wrong:\n  ${repo}: refs/heads/main does not hold an object id\n`)
      } finally {
        await writeFile(join(dataDir, repo, 'refs/heads/main'), head)
      }
      expect(await gitLines(join(backup, repo), 'for-each-ref')).to.deep.equal(mirrored)
      expect(await gitLines(healed, 'fsck', '--full', '--strict', '--no-progress')).to.deep.equal([])
      expect((await cli(dataDir, 'backup', backup)).code).to.equal(0)
    })

    it('puts one mirror in the place of a repository that is gone, older than what the index knows', async () => {
      const node = await newNode(grove, ann, { title: 'Replaced' })
      const head = node.git.head()
      await cli(dataDir, 'backup', backup)
      await node.proposal('topic')
      await node.open('topic')
      await node.commit('main', { 'a.txt': 'lost\n' })
      await rm(node.git.dir, { recursive: true })
      const mirror = join(backup, node.org, `${node.id}.git`)
      await run('git', ['clone', '-q', '--mirror', '--no-local', mirror, node.git.dir])
      expect((await ann.get(node.at)).body).to.deep.include({ head, title: 'Replaced' })
      expect((await ann.get(`${node.at}/pull-requests?status=all`)).body.total).to.equal(0)
      expect((await cli(dataDir, 'doctor')).code).to.equal(0)
    })

    it('leaves with a name what is no mirror, is there twice, or has lost its organisation', async () => {
      const odd = await folder()
      const [org = '', second = ''] = orgs
      const path = (id: string, name: string) => join(dataDir, id, `${name}.git`)
      const { nodes } = (await ann.get(`/orgs/${org}/nodes`)).body
      const lonely = (await ann.get(`/orgs/${second}/nodes`)).body.nodes[0].id
      const clone = (...args: string[]) => run('git', ['clone', '-q', '--no-local', ...args])
      await clone('--mirror', path(org, 'org'), join(odd, 'the organisation'))
      await clone('--mirror', path(org, nodes[0].id), join(odd, 'a/b'))
      await clone('--mirror', path(org, nodes[0].id), join(odd, 'c.git'))
      await clone('--bare', path(org, nodes[1].id), join(odd, 'd.git'))
      await clone(path(org, nodes[1].id), join(odd, 'e'))
      await clone('--mirror', path(second, lonely), join(odd, 'f.git'))
      await clone('--mirror', path(org, nodes[2].id), join(odd, 'too/deep/a/b'))
      await mkdir(join(odd, 'not git'))
      const target = await folder()
      const { code, stdout } = await cli(target, 'restore', odd)
      expect(code).to.equal(1)
      const no = 'not a mirror: it has no refs/grove/ledger and no org.json; git clone --mirror makes one'
      expect(stdout.split('reset_token, within 7 days:\n')[0]).to.equal(
        `1 organisations and 1 nodes restored from ${odd}\nWho is to set a password by POST /auth/password with this `,
      )
      expect(stdout.slice(stdout.indexOf('4 things'))).to.equal(`4 things are wrong:
  c.git: left: a/b is a copy of the same
  d.git: ${no}
  e/.git: ${no}
  f.git: left: its organisation ${second} is not among the copies
`)
      expect((await readdir(target)).filter((name) => !/^(index|credentials)\.sqlite/.test(name)).sort()).to.deep.equal(
        [org, 'run'].sort(),
      )
    })

    it('takes nothing of a mirror but refs and objects, from names that lead nowhere else', async () => {
      const evil = await folder()
      const [org = ''] = orgs
      const { nodes } = (await ann.get(`/orgs/${org}/nodes`)).body
      const mirror = join(evil, 'evil.git')
      await run('git', ['clone', '-q', '--mirror', join(dataDir, org, 'org.git'), join(evil, 'org.git')])
      await run('git', ['clone', '-q', '--mirror', '--no-local', join(dataDir, org, `${nodes[0].id}.git`), mirror])
      const touch = `touch ${join(evil, 'pwned')}`
      for (const name of [
        'uploadpack.packObjectsHook',
        'core.fsmonitor',
        'core.sshCommand',
        'core.alternateRefsCommand',
      ])
        await git(mirror, 'config', name, touch)
      await git(mirror, 'config', 'transfer.hideRefs', 'refs/grove')
      for (const hook of ['post-update', 'reference-transaction', 'pre-receive'])
        await writeFile(join(mirror, 'hooks', hook), `#!/bin/sh\n${touch}\n`, { mode: 0o755 })

      const ledger = await git(mirror, 'rev-parse', 'refs/grove/ledger')
      await run('git', ['clone', '-q', '--mirror', mirror, join(evil, 'outside.git')])
      const outside = join(evil, 'outside.git')
      const index = { GIT_INDEX_FILE: join(evil, 'index'), GIT_DIR: outside }
      await run('git', ['fetch', '-q', mirror, '+refs/*:refs/*'], { GIT_DIR: outside })
      const record = JSON.stringify({ id: '../../../outside', org_id: org, title: 'x', created_at: '2026-01-01' })
      await writeFile(join(evil, 'record.json'), record)
      const blob = (await run('git', ['hash-object', '-w', join(evil, 'record.json')], index)).stdout.trim()
      await run('git', ['update-index', '--add', '--cacheinfo', `100644,${blob},node.json`], index)
      const tree = (await run('git', ['write-tree'], index)).stdout.trim()
      const commit = await git(outside, 'commit-tree', tree, '-m', 'x')
      await git(outside, 'update-ref', 'refs/grove/ledger', commit)

      const target = await folder()
      const { code, stdout } = await cli(target, 'restore', evil)
      expect({ code, wrong: stdout.split(' wrong:\n')[1] }, stdout).to.deep.equal({
        code: 1,
        wrong:
          '  outside.git: not a mirror: it has no refs/grove/ledger and no org.json; git clone --mirror makes one\n',
      })
      const restored = join(target, org, `${nodes[0].id}.git`)
      expect(await git(restored, 'rev-parse', 'refs/grove/ledger')).to.equal(ledger)
      expect(existsSync(join(evil, 'pwned'))).to.equal(false)
      expect(await readFile(join(restored, 'config'), 'utf8')).to.equal(
        await readFile(join(dataDir, org, 'org.git/config'), 'utf8'),
      )
      expect(existsSync(join(restored, 'hooks'))).to.equal(false)
      expect(await readdir(target)).to.not.include('restoring')
    })

    it('never takes the place of a good backup for a data folder that was named by mistake', async () => {
      const [empty, other] = [await folder(), await startGrove()]
      const was = await readFile(join(backup, 'credentials.sqlite'))
      const refused = (stderr: string) => ({ code: 2, stdout: '', stderr: `grove: ${stderr}\n` })
      try {
        await signUp(other, 'Zoe')
        expect(await cli(other.dataDir, 'backup', backup)).to.deep.equal(
          refused(`${backup} holds copies of another data folder: nothing in it is in ${other.dataDir}`),
        )
      } finally {
        await other.close()
      }
      expect(await cli(empty, 'backup', backup)).to.deep.equal(
        refused(`${empty} is not a data folder: it has no credentials.sqlite`),
      )
      expect(await readFile(join(backup, 'credentials.sqlite'))).to.deep.equal(was)
      expect(await readdir(empty)).to.deep.equal([])
    })

    it('fills an empty folder alone, on which nothing runs', async () => {
      const refused = async (target: string, reason: string) =>
        expect(await cli(target, 'restore', backup)).to.deep.equal({
          code: 2,
          stdout: '',
          stderr: `grove: ${target} is not an empty data folder: ${reason}\n`,
        })
      await refused(dataDir, 'it has organisations')
      const running = await startGrove()
      try {
        await refused(running.dataDir, 'a service or a command is at work on it')
      } finally {
        await running.close()
      }
      const broken = await folder()
      await mkdir(join(broken, 'restoring'))
      await refused(broken, `another restore is at work, or was broken off: then remove ${join(broken, 'restoring')}`)
      const accounts = await folder()
      await writeFile(join(accounts, 'credentials.sqlite'), await readFile(join(backup, 'credentials.sqlite')))
      await refused(accounts, 'it has accounts')
    })
  })

  describe('with doctor', () => {
    let grove: Grove
    let ann: PersonClient

    before(async () => {
      grove = await startWithoutSweep(await folder())
      ann = await signUp(grove, 'Ann')
      await seed(grove, ann)
    })
    after(() => grove.close())

    it('hears that nothing is wrong, for people and as JSON', async () => {
      const healthy = await cli(grove.dataDir, 'doctor')
      expect(healthy.stdout).to.match(/^\S+: 2 organisations and \d+ nodes\nNothing is wrong\n$/)
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
      const repair: (() => Promise<unknown>)[] = []
      const damage = async (file: string, bytes: Buffer | null) => {
        const was = await readFile(file)
        repair.push(() => rm(file, { force: true }).then(() => writeFile(file, was)))
        await rm(file)
        if (bytes) await writeFile(file, bytes)
      }
      const blob = flipped.git.say('rev-parse', 'main:node.json')
      const object = join(flipped.git.dir, 'objects', blob.slice(0, 2), blob.slice(2))
      const bytes = await readFile(object)
      await damage(object, Buffer.from(bytes.map((byte, at) => (at === bytes.length - 6 ? byte ^ 0xff : byte))))
      packed.git.say('repack', '-a', '-d', '-q')
      const [pack = ''] = (await readdir(join(packed.git.dir, 'objects/pack'))).filter((name) => name.endsWith('.pack'))
      const packFile = join(packed.git.dir, 'objects/pack', pack)
      await damage(packFile, (await readFile(packFile)).subarray(0, -40))
      await damage(join(emptied.git.dir, 'refs/heads/main'), Buffer.alloc(0))
      await damage(join(lost.git.dir, 'refs/grove/ledger'), null)
      const tree = hollow.git.say('rev-parse', 'main^{tree}')
      await damage(join(hollow.git.dir, 'objects', tree.slice(0, 2), tree.slice(2)), Buffer.alloc(0))
      const lock = join(locked.git.dir, 'refs/heads/main.lock')
      await writeFile(lock, '')
      await utimes(lock, 1_000_000_000, 1_000_000_000)
      repair.push(() => rm(lock))

      const { code, stdout } = await cli(grove.dataDir, 'doctor')
      expect(code, stdout).to.equal(1)
      const lines = stdout.split(' wrong:\n')[1]?.split('\n').filter(Boolean) ?? []
      const of = (node: TestNode) => lines.filter((line) => line.includes(node.id)).join('\n')
      expect(of(flipped)).to.match(new RegExp(`^  ${path(flipped)}: git fsck: error: .*${blob.slice(2)}`))
      expect(of(packed)).to.match(new RegExp(`^  ${path(packed)}: git fsck: error: .*${pack}`))
      expect(of(emptied)).to.match(
        new RegExp(`^  ${path(emptied)}: git fsck: error: refs/heads/main: invalid sha1 pointer 0{40}`),
      )
      expect(of(lost)).to.equal(`  ${path(lost)}: refs/grove/ledger is missing`)
      expect(of(hollow)).to.match(new RegExp(`^  ${path(hollow)}: git fsck: error: object file .* is empty`))
      expect(of(locked)).to.equal(`  ${path(locked)}/refs/heads/main.lock: a lock that nobody holds any more`)
      expect(lines).to.have.length(6)
      for (const undo of repair) await undo()
      expect((await cli(grove.dataDir, 'doctor')).stdout).to.match(/\nNothing is wrong\n$/)
    })

    it('hears where the index says otherwise than the repositories, row by row, until it is made again', async () => {
      const node = await newNode(grove, ann, { title: 'Drifting', tags: ['sea'] })
      const kelp = await newNode(grove, ann, { title: 'Kelp' })
      const [was, is] = ['1'.repeat(40), node.git.head()]
      const db = new Sqlite(join(grove.dataDir, 'index.sqlite'))
      try {
        db.prepare("update branch set head = ? where node_id = ? and name = 'main'").run(was, node.id)
        db.prepare('update node set title = ? where id = ?').run('Drifted', node.id)
        db.prepare('delete from node_tag where node_id = ?').run(node.id)
        db.prepare("insert into branch (node_id, name, head) values (?, 'phantom', ?)").run(kelp.id, was)
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
        finding(node.id, 'node: title is "Drifting", the index has "Drifted"'),
        finding(node.id, 'the index lacks node_tag sea'),
        finding(node.id, `branch main: head is "${is}", the index has "${was}"`),
        finding(kelp.id, 'the index has branch phantom, the repository has not'),
      ])
      expect((await cli(grove.dataDir, 'reindex')).code).to.equal(0)
      expect((await cli(grove.dataDir, 'doctor')).code).to.equal(0)
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
        `${node.org}/${node.id}.git: cannot be indexed: its branches were moved by hand, and its pull requests have not followed yet\n`,
      )
      expect(node.git.say('rev-parse', 'refs/grove/ledger')).to.equal(ledger)
      expect((await node.pull(1)).status).to.equal('merged')
      expect((await cli(grove.dataDir, 'doctor')).code).to.equal(0)
    })

    it('hears of a circle of parents', async () => {
      const [a, b] = [await newNode(grove, ann, { title: 'A' }), await newNode(grove, ann, { title: 'B' })]
      await ann.put(`${a.at}/parents/${b.id}`, {}).then(expecting(200))
      const commit = b.git.commit({ parents: [b.git.head()], files: { [`parents/${a.id}.json`]: '{}\n' } })
      b.git.point('main', commit)
      await ann.get(b.at)
      const { code, stdout } = await cli(grove.dataDir, 'doctor')
      expect(code).to.equal(1)
      expect(stdout).to.match(/: its edge to the parent \S+ closes a circle, and is hidden\n$/)
      await ann.delete(`${a.at}/parents/${b.id}`)
      expect((await cli(grove.dataDir, 'doctor')).code).to.equal(0)
    })

    it('hears of databases that are missing or damaged, and of a folder that is none', async () => {
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
        last: ['Nothing is wrong', '  (note) index.sqlite: is missing; the next start makes it again', ''],
      })
      expect(existsSync(join(target, 'index.sqlite'))).to.equal(false)
      await writeFile(join(target, 'credentials.sqlite'), 'not a database at all '.repeat(100))
      const damaged = await cli(target, 'doctor')
      expect(damaged.code).to.equal(1)
      expect(damaged.stdout).to.contain('\n  credentials.sqlite: file is not a database\n')
      await rename(join(target, 'credentials.sqlite'), join(target, 'gone'))
      expect((await cli(target, 'doctor')).stdout).to.contain(
        '\n  credentials.sqlite: is missing, and with it all accounts\n',
      )
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

  describe('with restore-node and purge', () => {
    let grove: Grove
    let ann: PersonClient

    before(async () => {
      grove = await startGrove()
      ann = await signUp(grove, 'Ann')
    })
    after(() => grove.close())

    it('brings a deleted node back, its newest copy, with everything that it had', async () => {
      const parent = await newNode(grove, ann, { title: 'Sea' })
      const node = await newNode(grove, ann, { title: 'Whales', parents: [parent.id], text_content: 'whale song' })
      await node.proposal('topic')
      await node.open('topic')
      const search = () => ann.post(`/orgs/${node.org}/search/retrieve`, { query: 'song', expansion_depth: 'deep' })
      const everything = () => everythingIn(grove, ann.session.accessToken, [node.org], queries)
      for (const title of ['Whales', 'Whales again']) {
        await ann.patch(node.at, { title })
        const [before, found] = [await everything(), await search()]
        expect((await ann.delete(node.at)).status).to.equal(204)
        expect((await search()).body.matches).to.deep.equal([])
        expect(await cli(grove.dataDir, 'restore-node', `${node.org}/${node.id}`)).to.deep.equal({
          code: 0,
          stdout: `${node.org}/${node.id} is restored\n`,
          stderr: '',
        })
        expect(await everything()).to.deep.equal(before)
        expect(await search()).to.deep.equal(found)
      }
      await ann.post(`${node.at}/pull-requests/1/update-branch`).then(expecting(200))
      await ann.post(`${node.at}/pull-requests/1/merge`, {}).then(expecting(200))
      await expectSound(grove.dataDir)
    })

    it('ends with 2 for a node that is there, was never there, or is none', async () => {
      const node = await newNode(grove, ann)
      const refused = async (place: string, stderr: string) =>
        expect(await cli(grove.dataDir, 'restore-node', place)).to.deep.equal({
          code: 2,
          stdout: '',
          stderr: `grove: ${place} ${stderr}\n`,
        })
      const nowhere = '00000000-0000-4000-8000-000000000000'
      await refused(`${node.org}/${node.id}`, 'cannot be restored: the node exists')
      await refused(`${node.org}/${nowhere}`, 'cannot be restored: it is not in the trash')
      await refused(`${nowhere}/${node.id}`, 'cannot be restored: its organisation does not exist')
      for (const place of [node.id, `${node.org}/../..`]) await refused(place, 'is not ORG_ID/NODE_ID')
    })

    it('purges what was deleted long ago, and nothing else', async () => {
      await cli(grove.dataDir, 'purge', '--older-than', '0', '--force')
      const [old, young] = [await newNode(grove, ann), await newNode(grove, ann)]
      const doomed = (await ann.post('/orgs', { name: 'Doomed' })).body.id
      for (const at of [old.at, young.at, `/orgs/${doomed}`]) expect((await ann.delete(at)).status).to.equal(204)
      const trash = join(grove.dataDir, 'trash')
      const [name = ''] = (await readdir(join(trash, old.org))).filter((one) => one.startsWith(old.id))
      await rename(join(trash, old.org, name), join(trash, old.org, `${old.id}.1700000000000.git`))
      const [org = ''] = (await readdir(trash)).filter((one) => one.startsWith(`${doomed}.`))
      await rename(join(trash, org), join(trash, `${doomed}.1700000000001`))
      await mkdir(join(trash, old.org, 'tmp-of-a-purge-that-was-killed'))

      const { code, stdout } = await cli(grove.dataDir, 'purge')
      expect({ code, stdout }).to.deep.equal({
        code: 0,
        stdout: `removed ${old.org}/${old.id}, deleted 2023-11-14T22:13:20.000Z
removed organisation ${doomed}, deleted 2023-11-14T22:13:20.001Z
2 removed, 1 kept that were deleted less than 30 days ago
`,
      })
      expect(await readdir(trash)).to.deep.equal([old.org])
      expect((await readdir(join(trash, old.org))).map((one) => one.split('.')[0])).to.deep.equal([young.id])
      expect((await cli(grove.dataDir, 'restore-node', `${old.org}/${old.id}`)).code).to.equal(2)
      expect((await cli(grove.dataDir, 'restore-node', `${young.org}/${young.id}`)).code).to.equal(0)
    })

    it('purges no youngster without --force, and no nonsense', async () => {
      const stderr = async (...args: string[]) => {
        const done = await cli(grove.dataDir, 'purge', ...args)
        expect({ code: done.code, stdout: done.stdout }).to.deep.equal({ code: 2, stdout: '' })
        return done.stderr
      }
      expect(await stderr('--older-than', '13')).to.equal(
        'grove: What was deleted less than 14 days ago is purged with --force only\n',
      )
      expect(await stderr('--older-than', 'a week')).to.equal('grove: a week is not a number of days\n')
    })

    it('leaves a personal organisation deleted that was purged', async () => {
      const eve = await signUp(grove, 'Eve')
      expect((await eve.delete(`/orgs/${eve.org}`)).status).to.equal(204)
      expect((await cli(grove.dataDir, 'purge', '--older-than', '0', '--force')).stdout).to.contain(
        `removed organisation ${eve.org}, `,
      )
      const { body } = await client(grove).post('/auth/login', { email: 'eve@example.org', password })
      expect(body.user).to.not.have.property('org_id')
      expect((await eve.get('/orgs')).body.total).to.equal(0)
    })
  })

  it('gets 2 for a command line that says too little, or backs a folder up into itself', async () => {
    const dataDir = await folder()
    for (const command of ['backup', 'restore', 'restore-node']) {
      const { code, stderr } = await cli(dataDir, command)
      expect({ code, stderr }).to.deep.equal({
        code: 2,
        stderr: `error: missing required argument '${command === 'restore-node' ? 'node' : 'dir'}'\n`,
      })
    }
    expect((await cli(dataDir, 'restore', join(dataDir, 'absent'))).code).to.equal(2)
    for (const dir of [dataDir, join(dataDir, 'backup'), tmpdir()])
      expect(await cli(dataDir, 'backup', dir)).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: `grove: ${dir} and the data folder ${dataDir} must lie beside each other\n`,
      })
    expect(await readdir(dataDir)).to.deep.equal([])
  })

  async function folder(): Promise<string> {
    const made = await mkdtemp(join(tmpdir(), 'grove-operator-'))
    temporary.push(made)
    return made
  }
})

interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** To its end, whatever its exit code; without what this process or its user has set for git. */
async function run(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<Finished> {
  const { PATH = '', HOME = '' } = process.env
  const closed = {
    PATH,
    HOME,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    ...identity,
    ...env,
  }
  return promisify(execFile)(command, [...args], { env: closed, maxBuffer: 1e8 }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Finished) => ({ code, stdout, stderr }),
  )
}

const identity = {
  GIT_AUTHOR_NAME: 'Operator',
  GIT_AUTHOR_EMAIL: 'operator@example.org',
  GIT_COMMITTER_NAME: 'Operator',
  GIT_COMMITTER_EMAIL: 'operator@example.org',
}

/** `grove …` over a data folder; standard error without the progress. */
async function cli(dataDir: string, ...args: string[]): Promise<Finished> {
  const env = { DATA_DIR: dataDir, LOG_LEVEL: 'warn', UV_THREADPOOL_SIZE: '16' }
  const { code, stdout, stderr } = await run(process.execPath, ['dist/cli.js', ...args], env)
  return { code, stdout, stderr: stderr.replace(/^\w+ \d+ % \d+\/\d+\n/gm, '') }
}

/** A service that mends nothing in the background, so that only doctor finds it. */
async function startWithoutSweep(dataDir: string): Promise<Grove> {
  const config = { port: 0, host: '127.0.0.1', dataDir, logLevel: 'error' as const, rateLimit: false, workers: 1 }
  const { url, deps, close } = await startService(config, { validateResponses: true, sweeps: false })
  return { url, dataDir, deps, close }
}

/** The README's, between `<!-- name -->` and the end of the block below it. */
async function shell(name: 'mirror' | 'drill'): Promise<string> {
  const readme = await readFile(resolve('README.md'), 'utf8')
  return new RegExp(`<!-- ${name} -->\\s+\`\`\`sh\\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1] ?? ''
}

/** By e-mail. */
function resetTokens(stdout: string): Map<string, string> {
  return new Map(
    [...stdout.matchAll(/^(\S+@\S+) (grv_reset_\S+)$/gm)].map(([, email = '', token = '']) => [email, token]),
  )
}

/** The secret of a new personal access token. */
async function newToken(person: PersonClient): Promise<string> {
  return (await person.post('/auth/tokens', { name: 'Laptop', access: 'read' }).then(expecting(201))).body.token
}

/** Who sets a password by a token. */
async function withNewPassword(
  grove: { readonly url: string },
  reset_token: string | undefined,
): Promise<PersonClient> {
  const answer = await client(grove).post('/auth/password', { reset_token, new_password: 'another long one' })
  const session: PersonClient['session'] = expecting(200)(answer).body
  return { ...client(grove, session.accessToken), user: session.user, org: session.user.org_id ?? '', session }
}

/**
 * Two organisations of Ann's, Bob a member of the first: nodes with parents, connections, properties and tags; merged,
 * closed, open and draft requests; branches and nodes that are gone; one node that was never initialised. The first is
 * her personal one.
 */
async function seed(grove: { readonly dataDir: string }, ann: PersonClient): Promise<string[]> {
  const second = (await ann.post('/orgs', { name: 'Second', require_pull_requests: false })).body.id
  await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'editor' })
  const sea = await newNode(grove, ann, { title: 'Sea', tags: ['sea'], text_content: 'deep ice' })
  const whales = await newNode(grove, ann, {
    title: 'Whales',
    parents: [sea.id],
    tags: ['sea', 'mammal'],
    properties: { legs: 0 },
    text_content: 'The song of a whale.\n',
  })
  const krill = await newNode(grove, ann, { title: 'Krill', text_content: 'krill of the deep', parents: [sea.id] })
  const gone = await newNode(grove, ann, { title: 'Gone', parents: [sea.id] })
  await newNode(grove, ann, { title: 'Empty', initialize: false })
  await ann.post(`${whales.at}/connections`, { target: krill.id, type: 'eats', label: 'a lot' }).then(expecting(201))
  await ann.post(`${krill.at}/connections`, { target: gone.id }).then(expecting(201))
  for (const name of ['merged', 'closed', 'open', 'deep/draft', 'unbranched']) {
    await whales.proposal(name)
    await whales.open(name, name === 'deep/draft' ? { is_draft: true } : {})
    if (name === 'merged') await ann.post(`${whales.at}/pull-requests/1/merge`, {}).then(expecting(200))
  }
  await ann.patch(`${whales.at}/pull-requests/2`, { status: 'closed' }).then(expecting(200))
  for (const name of ['merged', 'closed', 'unbranched'])
    await ann.delete(`${whales.at}/branches/${name}`).then(expecting(204))
  await git(whales.git.dir, 'tag', '-a', '-m', 'first', 'v1', 'main')
  await git(krill.git.dir, 'pack-refs', '--all')
  await ann.delete(gone.at).then(expecting(204))
  await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
  await newNode(grove, { ...ann, org: second }, { title: 'Song', text_content: 'whale song' })
  return [ann.org, second]
}

interface Load {
  /** Resolves when so many rounds are done. */
  until(rounds: number): Promise<void>
  stop(): Promise<void>
}

/** Commits, branches, requests and new nodes, one after the other, in the organisation of `person`. */
function startLoad(grove: { readonly dataDir: string }, person: PersonClient): Load {
  let [rounds, stopped] = [0, false]
  const waiting: (() => void)[] = []
  const work = async () => {
    let node = await newNode(grove, person, { title: 'Load' })
    while (!stopped) {
      const name = `b${++rounds}`
      await node.proposal(name)
      const { number } = await node.open(name)
      if (rounds % 2 === 0) await person.post(`${node.at}/pull-requests/${number}/merge`, {})
      if (rounds % 3 === 0) await person.delete(`${node.at}/branches/${name}`)
      if (rounds % 5 === 0) node = await newNode(grove, person, { title: `Load ${rounds}`, parents: [node.id] })
      for (const wake of waiting.splice(0)) wake()
    }
  }
  const working = work()
  return {
    until: async (enough) => {
      while (rounds < enough) await Promise.race([working, new Promise<void>((wake) => waiting.push(wake))])
    },
    stop: () => {
      stopped = true
      return working
    },
  }
}

/** `<org>/<name>.git`, in order. */
async function repositoriesIn(dataDir: string): Promise<string[]> {
  const orgs = (await readdir(dataDir)).filter((name) => new RegExp(`^${uuid}$`).test(name))
  const found = await Promise.all(
    orgs.map(async (org) => (await readdir(join(dataDir, org))).map((name) => `${org}/${name}`)),
  )
  return found.flat().sort()
}

async function goneIn(backup: string): Promise<string[]> {
  return JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8')).gone
}

/** Files of loose objects and packs. */
async function objectsIn(repo: string): Promise<string[]> {
  const entries = await readdir(join(repo, 'objects'), { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.idx'))
    .map((entry) => join(entry.parentPath, entry.name))
}

/** Writes another last byte but five, where compressed bytes are. */
async function flipByte(file: string): Promise<void> {
  const bytes = await readFile(file)
  const at = bytes.length - 6
  bytes[at] = (bytes[at] ?? 0) ^ 0xff
  await rm(file)
  await writeFile(file, bytes)
}
