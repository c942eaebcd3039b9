/** `grove export` into a folder that another program swaps with a link to a folder outside. */

import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ann, run, start, useService } from '../import/command.ts'
import { swappedBeforeOpen } from '../support/swapped-folder.ts'

describe('export into a folder that is swapped with a link', () => {
  useService()

  let outer: string
  before(async () => {
    outer = await mkdtemp(join(tmpdir(), 'grove-export-swapped-'))
  })
  after(() => rm(outer, { recursive: true, force: true }))

  it('writes nothing outside, names what it has not written, and ends with 1', async () => {
    const { id } = (await ann.post('/orgs', { name: 'Swapped' })).body
    for (const name of ['a', 'b'])
      await ann.post(`/orgs/${id}/nodes`, {
        title: name,
        text_content: name,
        properties: { source_path: `sub/${name}.md` },
      })
    const [dir, outside] = [join(outer, 'dir'), join(outer, 'outside')]
    await mkdir(outside)
    const swap = swappedBeforeOpen(/\/tmp-\d+$/, { folder: join(dir, 'sub'), outside })
    const { code, stdout } = await start(['export', id, dir], swap).done
    expect(await readdir(outside)).to.deep.equal([])
    expect(code).to.equal(1)
    expect(stdout).to.match(/sub\/[ab]\.md: .*was moved in the meantime, or a folder above it became a link\n/)
    await rm(join(dir, 'sub'))
    expect((await run('export', id, dir)).code).to.equal(0)
    expect(await readdir(join(dir, 'sub'))).to.have.members(['a.md', 'b.md'])
  })
})
