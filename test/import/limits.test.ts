/** An import of a folder that is not a vault: pipes, endless files, names and links that are no notes. */
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { readRegular } from '../../gitstore/regular-files.ts'
import { listFolder, readListed } from '../../server/features/vault/read/folder.ts'
import { grove as command, type Finished } from '../support/command.ts'
import { useWorld } from '../support/world.ts'
import { planOf } from './garden.ts'

const org = '8f14e45f-ceea-467f-a1d3-0c6f9b1f2a11'

describe('import of what is no vault', () => {
  let scratch: string
  const { grove } = useWorld({ ann: 'owner' })

  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'grove-odd-'))
  })
  after(() => rm(scratch, { recursive: true, force: true }))

  it('reads no more of a file than the limit, for any size that the file system reports', async () => {
    expect((await stat('/proc/self/maps')).size).to.equal(0)
    expect(await readRegular('/proc/self/maps', 1_024)).to.match(/^is larger than /)
    expect(await readRegular('/proc/self/maps', 10 * 1_048_576)).to.be.instanceOf(Buffer)
  })

  it('imports nothing that the kernel makes up, and ends with 1', async () => {
    const { code, stdout } = await importOf('/proc/self/net')
    expect(code).to.equal(1)
    expect(stdout).to.contain('  .: in the kernel file system proc: skipped\n')
    expect(stdout).to.contain(': 1 node, 0 parent edges, 0 connections, 0 attachments\n')
  })

  it('opens neither a pipe nor a socket nor a device, and waits for none', async () => {
    const folder = await mkdtemp(join(scratch, 'Odd-'))
    execFileSync('mkfifo', [join(folder, 'pipe.md')])
    await writeFile(join(folder, 'a.md'), '# A\n')
    const { code, stdout } = await importOf(folder)
    expect(code).to.equal(0)
    expect(stdout).to.contain('  pipe.md: not a regular file\n')
    expect(await readListed(folder, 'pipe.md')).to.equal('is a named pipe')
    expect(await readListed('/dev', 'zero')).to.equal('is a device')
  })

  it('says of a name that is not UTF-8 that it is not, and takes the others', async () => {
    const folder = Buffer.from(await mkdtemp(join(scratch, 'Names-')))
    const name = (text: string) => Buffer.concat([folder, Buffer.from(`/${text}`, 'latin1')])
    await writeFile(name('caf\xe9.md'), '# Café\n')
    await mkdir(name('caf\xe9s'))
    await writeFile(name('caf\xe9s/a.md'), '# A\n')
    await writeFile(name('b.md'), '# B\n')
    const { code, stdout } = await importOf(folder.toString())
    expect(code).to.equal(1)
    expect(stdout).to.contain(`2 problems found:
  caf\ufffd.md: its name is not UTF-8; rename it
  caf\ufffds: its name is not UTF-8; rename it
`)
    expect(stdout).to.contain('2 created')
  })

  it('counts unresolved links by kind, with three of each', async () => {
    const folder = await mkdtemp(join(scratch, 'Links-'))
    const links = Array.from({ length: 1_000 }, (_, n) => `[[Nowhere ${n}]]`)
    await writeFile(join(folder, 'a.md'), `${links.join(' ')} [x]({{< ref "/b" >}}) [x](../../c) [x](/e) [x](same.md)`)
    await writeFile(join(folder, 'b.md'), `[[${'x'.repeat(500)}]] [x](g)`)
    for (const name of ['c', 'd']) {
      await mkdir(join(folder, name))
      await writeFile(join(folder, name, 'same.md'), `# ${name}`)
    }
    const { code, stdout } = await importOf(folder)
    expect(code).to.equal(0)
    expect(stdout.slice(stdout.indexOf('1,006 links'))).to.equal(`1,006 links have no target here:
  1001 to a missing file
    a.md: [[Nowhere 0]]
    a.md: [[Nowhere 1]]
    a.md: [[Nowhere 2]]
  1 outside the folder
    a.md: ../../c
  1 with an ambiguous name
    a.md: same.md
  1 from the root of a site
    a.md: /e
  2 with a Hugo reference
    a.md: /b
    b.md: g
`)
  })

  it('says in words that YAML is nested too deep', async () => {
    const folder = await mkdtemp(join(scratch, 'Deep-'))
    await writeFile(join(folder, 'a.md'), `---\na: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n---\n# A\n`)
    const { problems } = await planOf(folder, org)
    expect(problems).to.deep.equal([
      { path: 'a.md', reason: 'front matter left in the text: it is nested deeper than 64' },
    ])
  })

  it.deep('leaves out and names what is more than it can hold, and ends with 1', async () => {
    const folder = await mkdtemp(join(scratch, 'Large-'))
    for (const name of ['a.md', 'b.md', 'a.bin', 'b.bin']) {
      await writeFile(join(folder, name), '')
      await truncate(join(folder, name), 1_048_576)
    }
    const limits = { markdownBytes: 1_048_576, attachmentBytes: 1_048_576 }
    const { problems, left, counts } = await planOf(folder, org, { limits })
    const reason = 'skipped: an import reads at most 1 MiB of this kind; import the folder in parts'
    expect(problems).to.deep.equal(['b.bin', 'b.md'].map((path) => ({ path, reason })))
    expect([left, counts.attachments, counts.nodes]).to.deep.equal([2, 1, 2])
    await truncate(join(folder, 'a.bin'), 10 * 1_048_576 + 1)
    expect((await importOf(folder)).code).to.equal(1)
  })

  it('lists files by names that it can open', async () => {
    const folder = await mkdtemp(join(scratch, 'Listed-'))
    await writeFile(join(folder, 'ü.md'), '')
    expect((await listFolder(folder)).files).to.deep.equal(['ü.md'])
  })

  function importOf(folder: string): Promise<Finished> {
    return command(grove.dataDir, 'import', folder, '--as', 'ann@example.org')
  }
})
