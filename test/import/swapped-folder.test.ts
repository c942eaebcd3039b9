/** `grove import` of a folder that another program swaps with a link to a folder outside. */

import { mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { gitLines } from '../support/data-folder.ts'
import { swappedDuring } from '../support/swapped-folder.ts'
import { folderOf, grove, importAs, nodesOf, orgIn, start, useService } from './command.ts'

const inside = {
  'index.md': '# Shared\n\n![](sub/data.txt) ![](sub/map.canvas)\n',
  'sub/note.md': '# Note\n',
  'sub/data.txt': 'inside\n',
  'sub/map.canvas': '{"nodes": [], "edges": []}\n',
}
const secret = 'outside-4f1c'
const reason = 'was moved in the meantime, or a folder above it became a link'

describe('import of a folder that is swapped with a link', () => {
  useService()

  for (const hasPlaces of [true, false])
    it.deep(
      `takes nothing from outside while it opens files${hasPlaces ? '' : ', on a system without /proc'}`,
      async () => {
        const [folder, outside] = [await folderOf('Shared', inside), await outsideOf(Object.keys(inside))]
        const swap = swappedDuring('files', { folder: join(folder, 'sub'), outside }, hasPlaces)
        const done = await imported(folder, swap)
        expect(done.code).to.equal(1)
        for (const name of ['note.md', 'data.txt']) expect(done.stdout).to.contain(`  sub/${name}: ${reason}\n`)
        await expectNothingOutside(orgIn(done))
      },
    )

  it.deep('takes no name from outside while it lists folders', async () => {
    const [folder, outside] = [await folderOf('Listed', inside), await outsideOf([`sub/${secret}/${secret}.md`])]
    const done = await imported(folder, swappedDuring('listing', { folder: join(folder, 'sub'), outside }))
    expect(done.code).to.equal(1)
    expect(done.stdout).to.contain(`  sub/: ${reason}\n`).and.not.contain(secret)
    await expectNothingOutside(orgIn(done))
  })

  it.deep('imports the folder once it is left alone', async () => {
    const [folder, outside] = [await folderOf('Again', inside), await outsideOf(Object.keys(inside))]
    const org = orgIn(await imported(folder, swappedDuring('files', { folder: join(folder, 'sub'), outside })))
    const { code, stdout } = await importAs(folder)
    expect(code).to.equal(0)
    expect(stdout).to.contain(org)
    expect([...(await nodesOf(org)).keys()]).to.include('Note')
  })

  it('neither reads nor writes the vault file through a link', async () => {
    const [folder, outside] = [await folderOf('Vault', inside), await folderOf('outside', {})]
    await mkdir(outside, { recursive: true })
    await symlink(outside, join(folder, '.grove'))
    expect((await importAs(folder)).stdout).to.contain('.grove/vault.json cannot be written')
    expect(await readdir(outside)).to.deep.equal([])
    await writeFile(join(outside, 'vault.json'), '{"id": "8f14e45f-ceea-467f-a1d3-0c6f9b1f2a11"}\n')
    const { code, stderr } = await importAs(folder)
    expect(code).to.equal(2)
    expect(stderr).to.contain(`grove: .grove/vault.json ${reason}; repair it`)
  })

  it('takes a folder that was moved away for one that is gone', async () => {
    const folder = await folderOf('Moved', inside)
    await importAs(folder)
    await rename(join(folder, 'sub'), join(folder, 'elsewhere'))
    expect((await importAs(folder)).code).to.equal(0)
  })

  /** The same names with other bytes. */
  async function outsideOf(names: readonly string[]): Promise<string> {
    const files = Object.fromEntries(names.map((name) => [name, `# ${secret}\n`]))
    return join(await folderOf('outside', files), 'sub')
  }

  function imported(folder: string, environment: Record<string, string>) {
    return start(['import', folder, '--as', 'ann@example.org'], environment).done
  }

  async function expectNothingOutside(org: string): Promise<void> {
    const nodes = await nodesOf(org)
    for (const [title, { id }] of nodes) {
      expect(title).not.to.contain(secret)
      const repo = join(grove.dataDir, org, `${id}.git`)
      for (const path of await gitLines(repo, 'ls-tree', '-r', '--name-only', 'main')) {
        expect(path).not.to.contain(secret)
        expect(await gitLines(repo, 'show', `main:${path}`), path).not.to.include(`# ${secret}`)
      }
    }
  }
})
