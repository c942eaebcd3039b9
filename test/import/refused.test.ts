/** `grove import` of what cannot be placed, killed, and called wrongly. */

import { spawn } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { v5 as uuidFrom } from 'uuid'
import { outcomeOf } from '../support/command.ts'
import { gitLines } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { preload } from '../support/preload.ts'
import {
  ann,
  environment,
  folderOf,
  grove,
  importAs,
  linksIn,
  nodesOf,
  orgIn,
  run,
  start,
  useService,
  vault,
} from './command.ts'

/** Kills the process when it has renamed 20 things to where they belong. */
const diesInTheMiddle = preload(`
  import fs from 'node:fs'
  import promises from 'node:fs/promises'
  import { syncBuiltinESMExports } from 'node:module'
  let renamed = 0
  for (const [module, name] of [[fs, 'renameSync'], [promises, 'rename']]) {
    const rename = module[name]
    module[name] = (...paths) => {
      if (++renamed > 20) process.kill(process.pid, 'SIGKILL')
      return rename(...paths)
    }
  }
  syncBuiltinESMExports()`)

describe('import', () => {
  useService()

  async function newOrg(name: string): Promise<string> {
    return (await ann.post('/orgs', { name })).body.id
  }

  describe('whatever the order', () => {
    it('connects files that link to later ones and to each other', async () => {
      const folder = await folderOf('Circle', { 'a.md': '[[b]] [[c]]', 'b.md': '[[a]]', 'c.md': '[[c]] [[b]]' })
      const done = await importAs(folder)
      expect(done.stdout).to.contain('4 nodes, 3 parent edges, 4 connections').and.contain('4 created')
      expect(await linksIn(orgIn(done))).to.deep.equal(['A→B', 'A→C', 'B→A', 'C→B'])
    })

    it.deep('completes what a kill interrupted', async () => {
      const names = Array.from({ length: 40 }, (_, at) => `n${at}`)
      const files = Object.fromEntries(names.map((name, at) => [`${name}.md`, `[[n${(at + 1) % 40}]] [[n${at - 1}]]`]))
      const folder = await folderOf('Broken', files)
      const killed = start(['import', folder, '--as', 'ann@example.org'], diesInTheMiddle)
      expect((await killed.done).code).to.equal(null)
      const { orgs } = (await ann.get('/orgs?limit=200')).body
      const { id } = orgs.find(({ name }: { name: string }) => name === 'Broken')
      const folders = await readdir(grove.dataDir, { recursive: true })
      const own = new RegExp(`(^|/)${id}/[0-9a-f-]{36}\\.git$`)
      expect(folders.filter((path) => own.test(path))).to.have.length.within(2, 40)
      const again = await importAs(folder)
      expect(again).to.deep.include({ code: 0 })
      expect((await nodesOf(orgIn(again))).size).to.equal(41)
      expect((await importAs(folder)).stdout).to.contain('\n0 created, 0 updated, 41 unchanged\n')
    })

    it.deep('makes each node once when two import the same at once', async () => {
      const org = (await ann.post('/orgs', { name: 'Two' })).body.id
      const folder = await folderOf('Two', vault)
      const both = await Promise.all([importAs(folder, '--org', org), importAs(folder, '--org', org)])
      const made = both.map(({ stdout }) => Number(/(\d+) created/.exec(stdout)?.[1]))
      expect(made.reduce((sum, one) => sum + one)).to.equal(5)
      const last = await importAs(folder, '--org', org)
      expect(last.stdout).to.contain('0 created').and.contain('\n1 link has no target')
      expect((await nodesOf(org)).size).to.equal(5)
      expect((await importAs(folder, '--org', org)).stdout).to.contain('\n0 created, 0 updated, 5 unchanged\n')
    })
  })

  describe('of what cannot be placed', () => {
    it('loses nothing else to names that collide or are too long, and names them', async () => {
      const long = Array(5).fill('x'.repeat(250)).join('/')
      const folder = await folderOf('Odd', {
        'note.md': '![](Photo.png) ![](photo.png)\n',
        'Photo.png': 'one',
        'photo.png': 'two',
        [`${long}/deep.bin`]: 'too long a path',
        [`${long}/deep.md`]: '# Deep\n',
        'latin.md': Buffer.from('# Caf\xe9\n', 'latin1'),
        'bad.md': '---\ntitle: [unclosed\n---\n# Bad\n',
      })
      const done = await importAs(folder)
      expect(done.code, 'deep.bin is left out').to.equal(1)
      const problems = done.stdout.split('problems found:\n')[1]?.split('\n') ?? []
      expect(problems.filter(Boolean).map((line) => line.replace(long, 'LONG'))).to.deep.equal([
        '  bad.md: front matter left in the text: Flow sequence in block collection must be sufficiently indented and end with a ] at line 3, column 1',
        '  latin.md: not UTF-8: kept as an attachment',
        '  LONG/deep.bin: A path cannot be longer than 1024 bytes',
      ])
      expect([...(await nodesOf(orgIn(done))).keys()]).to.include.members(['Odd', 'Note', 'Bad', 'Deep'])
    })

    it('names a node that is refused, keeps the others with all their other edges, and ends with 1', async () => {
      const [org, elsewhere] = [await newOrg('Refused'), await newOrg('Elsewhere')]
      const taken = { title: 'Taken', id: uuidFrom('plants', org) }
      expect((await ann.post(`/orgs/${elsewhere}/nodes`, taken)).status).to.equal(201)
      const folder = await folderOf('Refused', {
        ...vault,
        'zebra.md': '[all](plants/index.md) [rose](plants/rose.md)',
      })
      const done = await importAs(folder, '--org', org)
      expect(done.code).to.equal(1)
      expect(done.stdout).to.contain('\n4 created, 0 updated, 0 unchanged\n')
      expect(done.stdout.split('problems found:\n')[1]?.split('1 link')[0]).to.equal(
        `  plants/index.md: The id ${taken.id} is already in use
  plants/rose.md: edges left out, because their targets could not be written: 1
  plants/thorn.md: edges left out, because their targets could not be written: 1
  zebra.md: edges left out, because their targets could not be written: 1
`,
      )
      expect(await linksIn(org)).to.include('Zebra→Rose rose')
      expect((await importAs(folder, '--org', org)).stdout).to.contain('\n0 created, 0 updated, 4 unchanged\n')
    })

    for (const setting of [
      { require_pull_requests: true },
      { rules: [{ branches: ['m*'], approvals: 1, pages: 'existing' }] },
    ])
      it(`creates, but does not edit, if main needs pull requests by ${Object.keys(setting)[0]}`, async () => {
        const org = (await ann.post('/orgs', { name: 'Careful' })).body.id
        await ann.patch(`/orgs/${org}`, setting).then(expecting(200))
        const folder = await folderOf('Careful', { 'a.md': '# A\n', 'b.md': '[[a]]\n' })
        expect(await importAs(folder, '--org', org)).to.deep.include({ code: 0 })
        await writeFile(join(folder, 'a.md'), '# A\n\nEdited.\n')
        const again = await importAs(folder, '--org', org)
        expect(again.code).to.equal(1)
        expect(again.stdout).to.contain('\n0 created, 0 updated, 2 unchanged\n')
        expect(again.stdout).to.contain(
          '  a.md: In this organisation `main` can only be changed by merging a pull request\n',
        )
      })
  })

  it.deep('creates pages that rules guard only by --override of an owner, if the rules let owners', async () => {
    const rule = { branches: ['main'], approvals: 1 }
    const org = (await ann.post('/orgs', { name: 'Guarded', rules: [rule] }).then(expecting(201))).body.id
    const folder = await folderOf('Guarded', { 'a.md': '# A\n' })
    const refused = await importAs(folder, '--org', org)
    expect(refused.stdout).to.contain('a.md: Pages are created by a proposal here')
    expect(refused.code).to.equal(1)
    const override = ['--override', 'The first import']
    await ann.patch(`/orgs/${org}`, { rules: [{ ...rule, override: 'nobody' }] }).then(expecting(200))
    expect((await importAs(folder, '--org', org, ...override)).stdout).to.contain('\n0 created')
    await ann.patch(`/orgs/${org}`, { rules: [rule] }).then(expecting(200))
    expect(await importAs(folder, '--org', org, ...override)).to.deep.include({ code: 0 })
    const token = ['--to', grove.url, '--token-file', 'none']
    expect((await run('import', folder, ...token, ...override)).stderr).to.contain('a token cannot override rules')
  })

  describe('ends with 2 and a sentence', () => {
    let folder: string
    before(async () => {
      folder = await folderOf('Small', { 'a.md': 'A' })
    })

    it('for an unknown account', async () => {
      expect(await run('import', folder, '--as', 'nobody@example.org')).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: 'grove: There is no account nobody@example.org; sign up first (POST /auth/signup)\n',
      })
    })

    it('for a path that is not a folder', async () => {
      for (const path of [join(folder, 'a.md'), join(folder, 'absent')])
        expect(await importAs(path)).to.deep.equal({ code: 2, stdout: '', stderr: `grove: ${path} is not a folder\n` })
    })

    it("for an organisation that is not there, or is somebody else's", async () => {
      const bob = await signUp(grove, 'Bob')
      for (const org of ['absent', bob.org])
        expect(await importAs(folder, '--org', org)).to.deep.equal({
          code: 2,
          stdout: '',
          stderr: 'grove: Organisation not found\n',
        })
    })

    it('for a reader of the organisation', async () => {
      const carl = await signUp(grove, 'Carl')
      await carl.put(`/orgs/${carl.org}/members/ann@example.org`, { role: 'reader' })
      const { code, stdout, stderr } = await importAs(folder, '--org', carl.org)
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
      expect(stderr).to.equal('grove: You need the editor role; yours is reader\n')
    })

    it('for a command line that says too little, too much or nothing that there is', async () => {
      const stderr = async (...args: string[]) => {
        const done = await run(...args)
        expect({ code: done.code, stdout: done.stdout }).to.deep.equal({ code: 2, stdout: '' })
        return done.stderr
      }
      expect(await stderr('import', folder)).to.equal(
        'grove: Use --as to import into the local data folder, or --to and --token-file to import into a remote Grove\n',
      )
      expect(await stderr('import', '--as', 'a@b.c')).to.equal("error: missing required argument 'folder'\n")
      expect(await stderr('frobnicate')).to.equal("error: unknown command 'frobnicate'\n")
    })
  })

  it.deep('continues when nobody reads what it says', async () => {
    const folder = await folderOf('Pipe', vault)
    const shell = `"$0" dist/cli.js import "$1" --as ann@example.org | true; echo "\${PIPESTATUS[0]}"`
    const done = await outcomeOf(spawn('bash', ['-c', shell, process.execPath, folder], { env: environment() }))
    expect(done.stdout).to.equal('0\n')
    const { orgs } = (await ann.get('/orgs?limit=200')).body
    const { id } = orgs.find((org: { name: string }) => org.name === 'Pipe')
    expect((await nodesOf(id)).size).to.equal(5)
  })

  it('leaves repositories that git finds nothing wrong with', async () => {
    const folder = await folderOf('Sound', vault)
    const org = orgIn(await importAs(folder))
    for (const { id } of (await nodesOf(org)).values()) {
      const repo = join(grove.dataDir, org, `${id}.git`)
      expect(await gitLines(repo, 'fsck', '--full', '--strict', '--no-progress')).to.deep.equal([])
    }
  })
})
