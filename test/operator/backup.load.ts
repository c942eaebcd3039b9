/** `grove backup` and `grove restore` beside a running service. */

import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectSound, gitLines } from '../support/data-folder.ts'
import { everythingIn } from '../support/everything.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { cli, folder, newToken, queries, resetTokens, seed, startLoad, useDesk, withNewPassword } from './desk.ts'

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

describe('the operator', () => {
  useDesk()

  describe('with backup and restore', () => {
    let dataDir: string
    let backup: string
    let grove: Grove
    let ann: PersonClient
    let orgs: string[]
    let token: string
    let earlier: Record<string, string>

    before(async () => {
      dataDir = await folder()
      backup = join(await folder(), 'backup')
      grove = await startGrove({ dataDir })
      ann = await signUp(grove, 'Ann')
      await signUp(grove, 'Bob')
      orgs = await seed(grove, ann)
      token = await newToken(ann)
    })
    after(() => grove.close())

    it('copies beside the service, what changed alone the second time, and names what was deleted', async () => {
      const repositories = (await repositoriesIn(dataDir)).length
      expect(await cli(dataDir, 'backup', backup)).to.deep.include({
        code: 0,
        stdout: `${repositories} repositories in ${backup}, the first backup in this folder\n`,
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
kept, although it was deleted: ${other.org}/${other.id}.git
`,
      })
      expect(await cli(dataDir, 'backup', backup)).to.deep.include({
        code: 0,
        stdout: `${repositories + 1} repositories in ${backup}, 0 of them changed since the last backup
kept, although it was deleted: ${other.org}/${other.id}.git
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
Accounts, passwords and sessions were restored from the backup
skipped: ${(await goneIn(backup))[0]} was deleted before the backup (manifest.json, gone)
`,
      })
      const second = await startGrove({ dataDir: target })
      try {
        expect(await everythingIn(second, ann.session.accessToken, orgs, queries)).to.deep.equal(earlier)
        const login = await client(second).post('/auth/login', { email: 'bob@example.org', password })
        expect(login.status).to.equal(200)
        const refresh = { refreshToken: ann.session.refreshToken }
        expect((await client(second).post('/auth/refresh', refresh)).body).to.include({ tokenType: 'Bearer' })
        expect((await client(second, token).get('/auth/me')).body).to.deep.equal(ann.user)
      } finally {
        await second.close()
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
        '\n1 problem found:\n  credentials.sqlite: is not the file that the manifest lists; it is intact, and was used\n',
      )
      const second = await startGrove({ dataDir: target })
      try {
        const session = await withNewPassword(second, resetTokens(stdout).get('carl@example.org'))
        expect(session.session.user).to.deep.include({ id: carl.user.id, org_id: carl.org })
      } finally {
        await second.close()
      }
      expect((await ann.get(`/orgs/${carl.org}`)).status).to.equal(404)
      expect((await carl.delete(`/orgs/${carl.org}`)).status).to.equal(204)
    })

    it('names with --full what it cannot copy, keeps the mirror of the last time, and heals a damaged mirror', async () => {
      const [victim, other] = [await newNode(grove, ann, { title: 'Victim' }), await newNode(grove, ann)]
      victim.git.loosen()
      await cli(dataDir, 'backup', backup)
      const repo = `${victim.org}/${victim.id}.git`
      const mirrored = await gitLines(join(backup, repo), 'for-each-ref')
      const head = await readFile(join(dataDir, repo, 'refs/heads/main'))
      // A round of repairs would restore an empty one from the index.
      await writeFile(join(dataDir, repo, 'refs/heads/main'), 'not an id\n')
      const healed = join(backup, other.org, `${other.id}.git`)
      for (const object of await objectsIn(healed)) await flipByte(object)
      try {
        const { code, stdout } = await cli(dataDir, 'backup', '--full', backup)
        expect(code).to.equal(1)
        expect(stdout).to.contain(`\n1 problem found:\n  ${repo}: refs/heads/main does not hold an object id\n`)
      } finally {
        await writeFile(join(dataDir, repo, 'refs/heads/main'), head)
      }
      expect(await gitLines(join(backup, repo), 'for-each-ref')).to.deep.equal(mirrored)
      expect(await gitLines(healed, 'fsck', '--full', '--strict', '--no-progress')).to.deep.equal([])
      expect((await cli(dataDir, 'backup', backup)).code).to.equal(0)
    })

    it('fills only an empty folder, on which nothing runs', async () => {
      const refused = async (target: string, reason: string) =>
        expect(await cli(target, 'restore', backup)).to.deep.equal({
          code: 2,
          stdout: '',
          stderr: `grove: ${target} is not an empty data folder: ${reason}\n`,
        })
      await refused(dataDir, 'it has organisations')
      const running = await startGrove()
      try {
        await refused(running.dataDir, 'a service or a command is using it')
      } finally {
        await running.close()
      }
      const broken = await folder()
      await mkdir(join(broken, 'restoring'))
      await refused(
        broken,
        `another restore is running, or was interrupted: if none is running, remove ${join(broken, 'restoring')}`,
      )
    })
  })
})

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
