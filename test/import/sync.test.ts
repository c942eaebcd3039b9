/** `grove import` again: renames, files that are gone, dry runs, what is left out. */

import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { ann, folderOf, grove, importAs, nodesOf, orgIn, run, start, useService, vault } from './command.ts'

const prose = (name: string) => Array.from({ length: 8 }, (_, at) => `${name} says ${at}.\n`).join('')

/** The paths of all nodes, in order. */
async function pathsIn(org: string): Promise<string[]> {
  const { body } = await ann.get(`/orgs/${org}/nodes?limit=200`)
  return body.nodes.map((node: { properties: { source_path: string } }) => node.properties.source_path).sort()
}

async function idsIn(org: string): Promise<Map<string, string>> {
  const { body } = await ann.get(`/orgs/${org}/nodes?limit=200`)
  return new Map(
    body.nodes.map((node: { id: string; properties: { source_path: string } }) => [
      node.properties.source_path,
      node.id,
    ]),
  )
}

describe('import', () => {
  useService()

  it('keeps id, history and pull requests of a note that is renamed and edited', async () => {
    const folder = await folderOf('Moving', { 'a.md': prose('A'), 'b.md': '[[a]]\n' })
    const org = orgIn(await importAs(folder))
    const id = (await idsIn(org)).get('a.md')
    const node = `/orgs/${org}/nodes/${id}`
    await ann.post(`${node}/branches`, { name: 'draft' }).then(expecting(201))
    await ann
      .post(`${node}/tree/draft/commits`, { message: 'Draft', changes: [{ action: 'put', path: 'x', content: 'x' }] })
      .then(expecting(201))
    await ann.post(`${node}/pull-requests`, { source_branch: 'draft', title: 'Life' }).then(expecting(201))
    await mkdir(join(folder, 'deep'))
    await rename(join(folder, 'a.md'), join(folder, 'deep/c.md'))
    await writeFile(join(folder, 'deep/c.md'), `${prose('A')}More.\n`)
    await writeFile(join(folder, 'b.md'), '[[c]]\n')
    const again = await importAs(folder)
    expect(again.stdout).to.contain('\n1 created, 1 updated, 1 renamed, 1 unchanged\n').and.not.contain('kept')
    expect((await idsIn(org)).get('deep/c.md')).to.equal(id)
    const { history } = (await ann.get(`${node}/tree/main/commits`)).body
    expect(history.map(({ message }: { message: string }) => message)).to.deep.equal([
      'Import deep/c.md, before a.md',
      'Import a.md',
    ])
    expect((await ann.get(`${node}/pull-requests`)).body.total).to.equal(1)
    expect((await importAs(folder)).stdout).to.contain('\n0 created, 0 updated, 4 unchanged\n')
  })

  it.deep('reads again if a file is moved between listing and reading', async () => {
    const folder = await folderOf('Hasty', { 'a.md': prose('A'), 'b.md': '[[a]]\n' })
    const org = orgIn(await importAs(folder))
    const id = (await idsIn(org)).get('a.md')
    // Between the two, git is asked what the patterns leave out.
    const bin = await folderOf('bin', {
      git: `#!/bin/sh\nmv '${folder}/a.md' '${folder}/c.md' 2>/dev/null\nPATH='${process.env.PATH}' exec git "$@"\n`,
    })
    await chmod(join(bin, 'git'), 0o755)
    const again = start(['import', folder, '--as', 'ann@example.org', '--exclude', 'x'], {
      PATH: `${bin}:${process.env.PATH}`,
    })
    expect(await again.done).to.include({ code: 0 })
    expect((await idsIn(org)).get('c.md')).to.equal(id)
  })

  describe('of files that are gone', () => {
    it.deep(
      'says how many nodes they leave and which command removes them; that does, and restore-node undoes it',
      async () => {
        const folder = await folderOf("It's gone", { ...vault, 'c.md': 'C' })
        const org = orgIn(await importAs(folder))
        const zebra = (await idsIn(org)).get('zebra.md') ?? ''
        await ann.post(`/orgs/${org}/nodes`, { title: 'By hand' }).then(expecting(201))
        for (const path of ['zebra.md', 'c.md']) await rm(join(folder, path))
        const told = await importAs(folder)
        const command = `import '${folder.replaceAll("'", "'\\''")}' --as ann@example.org --org ${org} --prune`
        expect(told.stdout).to.contain(`kept, although its file is gone: c.md (C)
kept, although its file is gone: zebra.md (Zebra)
2 nodes were kept, although their files are gone. To move them to the trash, from which grove restore-node brings them back, run:
  grove ${command}
`)
        expect((await nodesOf(org)).size).to.equal(7)
        const pruned = await run('import', folder, ...(command.split("' ")[1]?.split(' ') ?? []))
        expect(pruned.stdout).to.contain('\n0 created, 0 updated, 2 removed, 4 unchanged\n').and.not.contain('kept')
        expect([...(await nodesOf(org)).keys()])
          .to.include('By hand')
          .and.not.include('Zebra')
        expect((await run('restore-node', `${org}/${zebra}`)).code).to.equal(0)
        await writeFile(join(folder, 'zebra.md'), vault['zebra.md'] ?? '')
        expect((await importAs(folder)).stdout).to.contain('\n0 created, 0 updated, 5 unchanged\n')
      },
    )

    it('removes nothing where not all of the folder can be read, nor what is excluded', async () => {
      const folder = await folderOf('Unread', { 'a.md': 'A', 'b.md': 'B', 'x/c.md': 'C' })
      const org = orgIn(await importAs(folder))
      const excluded = await importAs(folder, '--exclude', '/b.md', '--exclude', 'x/', '--prune')
      expect(excluded.stdout).to.contain('\n0 created, 0 updated, 2 unchanged\n').and.not.contain('kept')
      await rm(join(folder, 'a.md'))
      // A name that is not UTF-8 cannot be read by anyone.
      const odd = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from('caf\xe9', 'latin1')])
      await mkdir(odd)
      const unread = await importAs(folder, '--prune')
      expect(unread.code).to.equal(1)
      expect(unread.stdout).to.contain(
        '1 node was kept, although its file is gone, because a part of the folder could not be read\n',
      )
      expect((await nodesOf(org)).size).to.equal(5)
    })
  })

  it.deep('tells in a dry run what it then does, and changes nothing before', async () => {
    const folder = await folderOf('Dry', {
      'a.md': prose('A'),
      'b.md': prose('B'),
      'c.md': prose('C'),
      'd.md': prose('D'),
    })
    const said = async (...more: string[]) => {
      const dry = await importAs(folder, '--dry-run', ...more)
      const done = await importAs(folder, ...more)
      const lines = dry.stdout.split('\n')
      expect(lines.shift()).to.equal('Dry run: nothing was changed')
      const told = lines.filter((line) => !/^ {2}(created|updated|renamed|removed): /.test(line))
      const org = orgIn(done)
      expect(told.join('\n').replace('a new organisation', org)).to.equal(done.stdout.replace(/^removed: .*\n/m, ''))
      return { org, lines: lines.filter((line) => !told.includes(line)) }
    }
    const before = (await ann.get('/orgs?limit=200')).body.total
    expect((await importAs(folder, '--dry-run')).stdout).to.contain('Dry (a new organisation): 5 nodes')
    expect([(await ann.get('/orgs?limit=200')).body.total, (await readdir(folder)).length]).to.deep.equal([before, 4])
    const { org, lines } = await said()
    expect(lines).to.deep.equal(['.', 'a.md', 'b.md', 'c.md', 'd.md'].map((path) => `  created: ${path}`))
    await writeFile(join(folder, 'a.md'), 'Changed. [[Nowhere]]\n')
    await rename(join(folder, 'b.md'), join(folder, 'e.md'))
    await rm(join(folder, 'c.md'))
    await writeFile(join(folder, 'f.md'), prose('F'))
    const heads = await nodesOf(org)
    await importAs(folder, '--dry-run', '--prune')
    expect(await nodesOf(org)).to.deep.equal(heads)
    expect((await said('--prune')).lines).to.deep.equal([
      '  created: f.md',
      '  updated: a.md',
      '  renamed: b.md → e.md',
      '  removed: c.md',
    ])
    expect((await said()).lines).to.deep.equal([])
  })

  describe('leaves out', () => {
    it('what --exclude and .groveignore name', async () => {
      const files = ['a.md', 'b.md', 'x/a.md', 'x/keep.md', 'y/z/d.md', ':(top)e.md', '*.md']
      const folder = await folderOf('Excluded', {
        ...Object.fromEntries(files.map((path) => [path, `Text of ${path}`])),
        '.groveignore': '# comment\n/x/*\n!/x/keep.md\nz/\n',
        '.gitignore': '*',
      })
      const org = orgIn(await importAs(folder, '--exclude', '/a.md', '--exclude', '\\*.md'))
      expect(await pathsIn(org)).to.deep.equal(['.', ':(top)e.md', 'b.md', 'x', 'x/keep.md'])
    })

    it('what git ignores in its work tree, also below it', async () => {
      const outer = await folderOf('Tree', {
        'docs/a.md': 'A',
        'docs/b.md': 'B',
        'docs/tracked.md': 'T',
        'docs/x/c.md': 'C',
        'docs/x/.gitignore': 'c.md\n',
        '.gitignore': '/docs/b.md\ntracked.md\n',
      })
      const git = (...args: string[]) => execFileSync('git', ['-C', outer, ...args])
      git('init', '-q')
      git('add', '-f', 'docs/tracked.md')
      git('config', 'core.fsmonitor', 'touch ran')
      const org = orgIn(await importAs(join(outer, 'docs')))
      expect(await pathsIn(org)).to.deep.equal(['.', 'a.md', 'tracked.md'])
      expect(await readdir(join(outer, 'docs'))).to.not.include('ran')
      await rm(join(outer, '.git/objects'), { recursive: true })
      const broken = await importAs(join(outer, 'docs'))
      expect([broken.code, broken.stdout]).to.deep.equal([2, ''])
      expect(broken.stderr).to.match(
        /^grove: Git cannot list the files that it ignores in .*: fatal: not a git repository/,
      )
    })

    it('unfinished files of editors', async () => {
      const names = ['a.md~', '#a.md#', '~$a.docx', 'a.md.tmp', '.a.md.swp', 'b.pdf.crdownload']
      const folder = await folderOf('Unfinished', Object.fromEntries(['a.md', ...names].map((name) => [name, 'x'])))
      const done = await importAs(folder)
      expect(done.stdout).to.contain(': 2 nodes, 1 parent edge, 0 connections, 0 attachments\n')
    })
  })

  describe('of a site', () => {
    const pages = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [`guide/${name}.md`, `# ${name}\n`])
    const links = pages.map(([path = '']) => `[x](/en/${path.replace('.md', '/')})`).join(' ')

    it('finds automatically what its paths begin with, and says so', async () => {
      const folder = await folderOf('Site', { ...Object.fromEntries(pages), 'a.md': `${links} [no](/fr/x)` })
      const done = await importAs(folder)
      expect(done.stdout).to.contain(', 6 connections,')
      expect(done.stdout).to.contain('\nNote: links from the root of the site were resolved with --base /en/\n')
      expect(done.stdout).to.contain('\n1 link has no target here:\n  1 from the root of a site\n    a.md: /fr/x\n')
    })

    it('takes --base', async () => {
      const folder = await folderOf('Based', { 'guide/a.md': '# A\n', 'b.md': '[x](/en/guide/a/#top)\n' })
      expect((await importAs(folder)).stdout).to.contain(', 0 connections,')
      expect((await importAs(folder, '--base', '/en')).stdout).to.contain(', 1 connection,')
      expect((await importAs(folder, '--base', 'en')).code).to.equal(2)
    })
  })

  describe('of two vaults', () => {
    it('makes two organisations of one name; each folder is known again, also under another name', async () => {
      const [one, other] = [await folderOf('en', { 'a.md': 'One' }), await folderOf('en', { 'a.md': 'Other' })]
      const [first, second] = [orgIn(await importAs(one)), orgIn(await importAs(other))]
      const { orgs } = (await ann.get('/orgs?limit=200')).body
      const named = (id: string) => orgs.find((org: { id: string }) => org.id === id)
      expect([named(first).name, named(second).name]).to.deep.equal(['en', 'en (2)'])
      expect(named(first).vault_id)
        .to.match(/^[0-9a-f-]{36}$/)
        .and.not.equal(named(second).vault_id)
      await rename(one, `${one} again`)
      expect(orgIn(await importAs(`${one} again`))).to.equal(first)
      expect(orgIn(await importAs(other))).to.equal(second)
      const named3 = await importAs(await folderOf('en', { 'a.md': 'Third' }), '--name', 'English')
      expect(named3.stdout).to.match(/^English \(/)
    })

    it('keeps them apart in one organisation, where --org says so', async () => {
      const one = await folderOf('Shared', { 'a.md': 'One', 'b.md': 'B' })
      const other = await folderOf('Guest', { 'a.md': 'Other', 'c.md': 'C' })
      const org = orgIn(await importAs(one))
      const guest = await importAs(other, '--org', org)
      expect(guest.stdout).to.contain('\nNote: it belongs to another vault, whose nodes are not changed\n3 created,')
      expect((await importAs(other, '--org', org, '--prune')).stdout).to.contain(
        '\n0 created, 0 updated, 3 unchanged\n',
      )
      expect((await importAs(one, '--prune')).stdout).to.contain('\n0 created, 0 updated, 3 unchanged\n')
      expect(await pathsIn(org)).to.have.length(6)
      await rm(join(other, 'c.md'))
      expect((await importAs(other, '--org', org, '--prune')).stdout).to.contain(', 1 removed, 2 unchanged\n')
      expect(await pathsIn(org)).to.deep.equal(['.', '.', 'a.md', 'a.md', 'b.md'])
    })

    it('adopts an organisation of earlier imports if most of its nodes are of the folder', async () => {
      const old = async (name: string, ...paths: string[]) => {
        const { id } = (await ann.post('/orgs', { name }).then(expecting(201))).body
        for (const source_path of paths)
          await ann.post(`/orgs/${id}/nodes`, { title: 'x', properties: { source_path } }).then(expecting(201))
        return id
      }
      const mine = await old('Early', '.', 'a.md', 'x/b.md', 'gone.md')
      const folder = await folderOf('Early', { 'a.md': 'A', 'x/b.md': 'B' })
      const first = await importAs(folder)
      expect(orgIn(first)).to.equal(mine)
      expect(first.stdout)
        .to.contain('Note: most of its nodes come from files of this folder')
        .and.contain('1 created, 3 updated')
      const theirs = await old('Late', 'q.md', 'r.md', 'a.md')
      const late = await folderOf('Late', { 'a.md': 'A' })
      const made = await importAs(late)
      expect(orgIn(made)).to.not.equal(theirs)
      expect(made.stdout).to.match(
        /^Late \(2\) \(.*\nNote: another organisation is called Late; use --org to import into it\n/,
      )
    })

    it('is shown only to members which vault it is', async () => {
      const org = orgIn(await importAs(await folderOf('Told', { 'a.md': 'A' })))
      await ann.patch(`/orgs/${org}`, { published: true }).then(expecting(200))
      expect((await ann.get(`/orgs/${org}`)).body).to.have.property('vault_id')
      expect((await client(grove).get(`/orgs/${org}`)).body).to.not.have.property('vault_id')
      expect(
        (await (await signUp(grove, `Bob${randomUUID().slice(0, 4)}`)).get(`/orgs/${org}`)).body,
      ).to.not.have.property('vault_id')
    })
  })

  it('of a folder that cannot have an id knows it by its name, and says so', async () => {
    // Root may write to a read-only folder, so a file stands where the folder of the id would be.
    const folder = await folderOf('Fixed', { 'a.md': 'A', '.grove': 'a file' })
    const first = await importAs(folder)
    expect(first.stdout).to.contain('Note: .grove/vault.json cannot be written (.grove is not a folder); ')
    expect(orgIn(await importAs(folder))).to.equal(orgIn(first))
  })

  it('of a folder whose .grove/vault.json says nothing ends with 2', async () => {
    for (const content of ['{', '{"id": 1}', 'x'.repeat(70_000)]) {
      const folder = await folderOf('Damaged', { 'a.md': 'A', '.grove/vault.json': content })
      const { code, stderr } = await importAs(folder)
      expect([code, stderr]).to.deep.include(2)
      expect(stderr).to.match(/^grove: \.grove\/vault\.json .*; repair it, or remove it/)
    }
  })
})
