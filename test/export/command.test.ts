/** `grove export`: into a new folder, into the same again, and what it never touches. */

import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { writeFolder } from '../../server/features/vault/write/exported-folder.ts'
import { ann, folderOf, grove, importAs, orgIn, run, useService, vault } from '../import/command.ts'
import { filesIn } from './folders.ts'

describe('the command export', () => {
  useService()

  let outer: string
  before(async () => {
    outer = await mkdtemp(join(tmpdir(), 'grove-export-'))
  })
  after(() => rm(outer, { recursive: true, force: true }))

  /** An organisation with a node `Sea` and, below it, a node `Whale` with a picture. */
  const newOrg = async (name: string) => {
    const org = (await ann.post('/orgs', { name })).body.id
    const sea = (await ann.post(`/orgs/${org}/nodes`, { title: 'Sea', text_content: 'Salt.\n' })).body.id
    const whale = (await ann.post(`/orgs/${org}/nodes`, { title: 'Whale', parents: [sea] })).body.id
    const changes = [{ action: 'put', path: 'img/whale.svg', content: '<svg/>' }]
    await ann.post(`/orgs/${org}/nodes/${whale}/tree/main/commits`, { message: 'A picture', changes })
    return { org, sea, whale, dir: join(outer, name) }
  }
  const firstLine = ({ stdout }: { stdout: string }) => stdout.split('\n')[0]

  it('writes what the tar holds; again, only what has changed, and removes what is gone', async () => {
    const { org, sea, whale, dir } = await newOrg('Ocean')
    expect(firstLine(await run('export', 'Ocean', dir))).to.equal(
      `Ocean (${org}) in ${dir}: 3 files written, 0 unchanged, 0 removed`,
    )
    const first = await filesIn(dir)
    expect([...first.keys()]).to.deep.equal(['Sea.md', 'Sea/Whale.md', 'Sea/img/whale.svg'])
    expect(first.get('Sea.md')?.toString().split('---\n')[2]).to.equal('Salt.\n')
    await ann.patch(`/orgs/${org}/nodes/${sea}`, { text_content: 'Salt and water.\n' })
    expect(await run('export', org, dir)).to.deep.include({
      code: 0,
      stdout: `Ocean (${org}) in ${dir}: 1 file written, 2 unchanged, 0 removed\n`,
    })
    await writeFile(join(dir, 'Sea', 'mine.txt'), 'mine')
    await ann.delete(`/orgs/${org}/nodes/${whale}`)
    expect(firstLine(await run('export', org, dir))).to.equal(
      `Ocean (${org}) in ${dir}: 0 files written, 1 unchanged, 2 removed`,
    )
    expect([...(await filesIn(dir)).keys()]).to.deep.equal(['Sea.md', 'Sea/mine.txt'])
  })

  it('keeps what something else wrote, names it and ends with 1', async () => {
    const { org, sea, whale, dir } = await newOrg('Edited')
    await run('export', org, dir)
    await writeFile(join(dir, 'Sea.md'), 'mine')
    await writeFile(join(dir, 'Sea', 'img', 'whale.svg'), 'mine')
    await writeFile(join(dir, 'Krill.md'), 'mine')
    await ann.patch(`/orgs/${org}/nodes/${sea}`, { text_content: 'Changed here, too.\n' })
    await ann.delete(`/orgs/${org}/nodes/${whale}`)
    await ann.post(`/orgs/${org}/nodes`, { title: 'Krill' })
    const first = await run('export', org, dir)
    expect(first.code).to.equal(1)
    const notWritten = [
      '  Krill.md: not written: the existing file was changed, or was not written by an export',
      '  Sea.md: not written: the existing file was changed, or was not written by an export',
    ]
    expect(first.stdout.split('\n').slice(1, -1)).to.deep.equal([
      '3 problems found:',
      ...notWritten,
      '  Sea/img/whale.svg: kept: it is no longer exported, but was changed since the last export',
    ])
    const again = await run('export', org, dir)
    expect(again.stdout.split('\n').slice(1, -1)).to.deep.equal(['2 problems found:', ...notWritten])
    expect([...(await filesIn(dir)).values()].map(String)).to.deep.equal(['mine', 'mine', 'mine'])
  })

  it.deep(
    'writes no file a second time that was moved since, and follows the move once the folder was imported',
    async () => {
      const { org, dir } = await newOrg('Moved')
      await run('export', org, dir)
      await rename(join(dir, 'Sea', 'Whale.md'), join(dir, 'Orca.md'))
      await rename(join(dir, 'Sea', 'img'), join(dir, 'img'))
      const before = await filesIn(dir)
      for (const _ of [1, 2]) {
        const { code, stdout } = await run('export', org, dir)
        expect([code, ...stdout.split('\n').slice(0, -1)]).to.deep.equal([
          1,
          `Moved (${org}) in ${dir}: 0 files written, 1 unchanged, 0 removed`,
          '2 problems found:',
          '  Sea/Whale.md: not written again, because it was moved to Orca.md; import the folder, or move it back',
          '  Sea/img/whale.svg: not written again, because it was moved to img/whale.svg; import the folder, or move it back',
        ])
        expect(await filesIn(dir)).to.deep.equal(before)
      }
      await rename(join(dir, 'img'), join(dir, 'Sea', 'img'))
      expect((await importAs(dir)).stdout).to.contain('\n0 created, 0 updated, 1 renamed, 1 unchanged\n')
      expect((await run('export', org, dir)).code).to.equal(0)
      expect((await run('export', org, dir)).stdout).to.contain(': 0 files written')
      const notes = [...(await filesIn(dir)).keys()].filter((path) => path.endsWith('.md'))
      expect(notes).to.deep.equal(['Orca.md', 'Sea.md'])
    },
  )

  it('says in a sentence that the disk is full, and leaves nothing of the file that did not fit', async () => {
    const dir = join(outer, 'Half')
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    const file = {
      ...{ path: 'a.md', size: 10, time: 0 },
      async *read() {
        yield Buffer.from('half')
        throw full
      },
    }
    const files = async function* () {
      yield file
    }
    const thrown = await writeFolder(dir, randomUUID(), undefined, files(), () => false).catch(
      (error: unknown) => error,
    )
    expect(thrown).to.include({
      code: 'storage_full',
      message: `The export into ${dir} is incomplete: The disk is full. All files that were written are complete. Run the same command to continue`,
    })
    expect(await readdir(dir, { recursive: true })).to.have.members(['.grove', '.grove/export-open.jsonl'])
  })

  it('follows no symbolic link', async () => {
    const { org, whale, dir } = await newOrg('Linked')
    await run('export', org, dir)
    const elsewhere = join(outer, 'elsewhere')
    await rename(join(dir, 'Sea'), elsewhere)
    await symlink(elsewhere, join(dir, 'Sea'))
    await rm(join(dir, 'Sea.md'))
    await symlink(join(outer, 'nothing'), join(dir, 'Sea.md'))
    const before = await filesIn(elsewhere)
    await ann.delete(`/orgs/${org}/nodes/${whale}`)
    await ann.post(`/orgs/${org}/nodes`, { title: 'Krill', properties: { source_path: 'Sea/krill.md' } })
    const { code, stdout } = await run('export', org, dir)
    expect(code).to.equal(1)
    expect(stdout)
      .to.include('Sea.md: the existing file is a symbolic link')
      .and.to.include('Sea/krill.md: Sea is not a folder')
    expect(await filesIn(elsewhere)).to.deep.equal(before)
    expect(await readlink(join(dir, 'Sea.md'))).to.equal(join(outer, 'nothing'))
  })

  it.deep('is imported again into the organisation of its vault, which changes nothing', async () => {
    const folder = await folderOf('Vault', vault)
    const org = orgIn(await importAs(folder))
    const dir = join(outer, 'Elsewhere')
    expect(await run('export', org, dir)).to.deep.include({ code: 0 })
    const before = await filesIn(dir)
    const again = await importAs(dir)
    expect([orgIn(again), again.code]).to.deep.equal([org, 0])
    expect(again.stdout).to.include('0 created')
    expect((await ann.get(`/orgs/${org}/nodes?limit=200`)).body.total).to.equal(5)
    expect((await run('export', org, dir)).stdout).to.include('0 files written')
    expect(await filesIn(dir)).to.deep.equal(before)
  })

  it('continues if an export did not end', async () => {
    const { org, sea, dir } = await newOrg('Halved')
    await run('export', org, dir)
    const lines = (await readFile(join(dir, '.grove', 'export.jsonl'), 'utf8')).split('\n')
    await rm(join(dir, '.grove', 'export.jsonl'))
    await writeFile(join(dir, '.grove', 'export-open.jsonl'), `${lines.slice(0, 2).join('\n')}\n["Sea/Wha`)
    await ann.patch(`/orgs/${org}/nodes/${sea}`, { text_content: 'Later.\n' })
    expect(await run('export', org, dir)).to.deep.include({
      code: 0,
      stdout: `Halved (${org}) in ${dir}: 1 file written, 2 unchanged, 0 removed\n`,
    })
  })

  it('refuses a folder with anything else in it, and one that overlaps the data folder', async () => {
    const { org, dir } = await newOrg('One')
    const other = await newOrg('Other')
    await mkdir(dir)
    await writeFile(join(dir, 'mine.txt'), 'mine')
    const said = async (...args: string[]) => {
      const { code, stderr } = await run('export', ...args)
      expect(code).to.equal(2)
      return stderr
    }
    expect(await said(org, dir)).to.include(`${dir} is not empty, and it is not an export; use an empty folder`)
    expect(await run('export', other.org, other.dir)).to.include({ code: 0 })
    expect(await said(org, other.dir)).to.include(`an export of the organisation ${other.org}`)
    expect(await said(org, join(grove.dataDir, 'export'))).to.include('must not contain each other')
    expect(await said('Nowhere', join(outer, 'new'))).to.include('There is no organisation Nowhere')
    await ann.post('/orgs', { name: 'One' })
    expect(await said('One', join(outer, 'new'))).to.include('Several organisations are called One')
  })
})
