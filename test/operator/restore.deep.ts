/** `grove restore` from mirrors that are damaged, missing or hostile. */

import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { git } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { proposeNode } from '../support/proposed.ts'
import { cli, credentials, folder, run, seed, useDesk } from './desk.ts'

describe('the operator', () => {
  useDesk()

  describe('with backup and restore', () => {
    let dataDir: string
    let backup: string
    let grove: Grove
    let ann: PersonClient
    let orgs: string[]

    before(async () => {
      dataDir = await folder()
      backup = join(await folder(), 'backup')
      grove = await startGrove({ dataDir })
      ann = await signUp(grove, 'Ann')
      await signUp(grove, 'Bob')
      orgs = await seed(grove, ann)
    })
    after(() => grove.close())

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

    it('brings a node that is only proposed back as proposed, from mirrors', async () => {
      const [org = ''] = orgs
      const node = proposeNode({ dataDir }, org, { by: ann.user, title: 'Plankton' })
      const mirrors = await folder()
      for (const name of ['org', node.id])
        await run('git', [
          ...'clone -q --mirror --no-local'.split(' '),
          join(dataDir, org, `${name}.git`),
          join(mirrors, name),
        ])
      const target = await folder()
      const { code, stdout } = await cli(target, 'restore', mirrors)
      expect(code, stdout).to.equal(0)
      expect(stdout).to.match(/^1 organisation and 1 node restored/)
      expect((await cli(target, 'doctor')).stdout).to.include('OK: no problems found')
      const db = openSqlite(join(target, 'index.sqlite'))
      expect(db.prepare('select id, title from proposed_node').all()).to.deep.equal([
        { id: node.id, title: 'Plankton' },
      ])
      expect(db.prepare('select id from node').all()).to.deep.equal([])
      db.close()
      await rm(node.git.dir, { recursive: true })
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
      const no = 'not a mirror: it has no refs/grove/ledger and no org.json; create one with git clone --mirror'
      expect(stdout.split('reset_token:\n')[0]).to.equal(
        `1 organisation and 1 node restored from ${odd}\nThese users can set a new password within 7 days, with POST /auth/password and this `,
      )
      expect(stdout.slice(stdout.indexOf('4 problems'))).to.equal(`4 problems found:
  c.git: skipped: a/b is a copy of the same repository
  d.git: ${no}
  e/.git: ${no}
  f.git: skipped: its organisation ${second} is not among the copies
`)
      expect(
        (await readdir(target)).filter((name) => !/^(index|events|credentials)\.sqlite/.test(name)).sort(),
      ).to.deep.equal([org, 'run'].sort())
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
      expect({ code, wrong: stdout.split(' found:\n')[1] }, stdout).to.deep.equal({
        code: 1,
        wrong:
          '  outside.git: not a mirror: it has no refs/grove/ledger and no org.json; create one with git clone --mirror\n',
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

    it('fills no folder that has accounts, though its organisations are gone', async () => {
      const target = await folder()
      await cli(target, 'restore', backup)
      for (const org of (await readdir(target)).filter((name) => /^[0-9a-f-]{36}$/.test(name)))
        await rm(join(target, org), { recursive: true })
      const has = credentials === 'DATABASE_URL' ? 'the database of DATABASE_URL has accounts' : 'it has accounts'
      expect(await cli(target, 'restore', backup)).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: `grove: ${target} is not an empty data folder: ${has}\n`,
      })
    })

    it('says of the first backup into a folder that it is, and of a later one what has changed, with an index that was removed too', async () => {
      const bare = await folder()
      const other = await startGrove({ dataDir: bare })
      const zoe = await signUp(other, 'Zoe')
      await newNode(other, zoe)
      await other.close()
      const target = join(await folder(), 'backup')
      for (const since of ['the first backup in this folder', '0 of them changed since the last backup']) {
        for (const name of await readdir(bare)) if (name.startsWith('index.sqlite')) await rm(join(bare, name))
        expect(await cli(bare, 'backup', target)).to.deep.equal({
          code: 0,
          stdout: `2 repositories in ${target}, ${since}\n`,
          stderr: '',
        })
      }
    })

    it('never takes the place of a good backup for a data folder that was named by mistake', async () => {
      const other = await startGrove()
      const was = await readFile(join(backup, 'credentials.sqlite'))
      try {
        await signUp(other, 'Zoe')
        expect(await cli(other.dataDir, 'backup', backup)).to.deep.equal({
          code: 2,
          stdout: '',
          stderr: `grove: ${backup} is a backup of another data folder: none of its repositories is in ${other.dataDir}\n`,
        })
      } finally {
        await other.close()
      }
      const empty = await folder()
      const lacks = credentials === 'DATABASE_URL' ? 'index.sqlite and no run' : credentials
      expect(await cli(empty, 'backup', backup)).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: `grove: ${empty} is not a data folder: it has no ${lacks}\n`,
      })
      expect(await readFile(join(backup, 'credentials.sqlite'))).to.deep.equal(was)
      expect(await readdir(empty)).to.deep.equal([])
    })
  })
})
