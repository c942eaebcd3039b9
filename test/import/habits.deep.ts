/** `grove import` of what vaults are made of: names of every kind, deep folders, long notes, loops, pipes; and again, moved. */

import { execFileSync } from 'node:child_process'
import { mkdir, readdir, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { ann, folderOf, importAs, orgIn, useService } from './command.ts'

const deep = Array.from({ length: 30 }, (_, at) => `d${at}`).join('/')

const notes: Record<string, string> = {
  'Caf\u00e9.md': 'In one normal form.\n',
  'Cafe\u0301.md': 'In the other normal form.\n',
  'Note.md': 'In one case. [[note]]\n',
  'note.md': 'In the other case.\n',
  '\u{1f33f} Garden/\u{1f339} Rose.md': '# Rose \u{1f339}\n\n#flower/\u{1f339}\n',
  '\u{1f33f} Garden/Thorn & co (1), 100%.md': '[[\u{1f339} Rose]]\n',
  "Ann's [notes]/a+b=c; d.md": '[[Thorn & co (1), 100%]]\n',
  [`${deep}/bottom.md`]: '[[Note]] at the bottom\n',
  'long.md': `# Long\n\n${'A line of a long note, as a log has them.\n'.repeat(50_000)}`,
  'broken.md': '---\ntitle: [a\n---\nBroken head\n',
  '2024-01-05.md': 'A day\n',
  'empty.md': '',
}

describe('import: the habits of vaults', () => {
  useService()

  it('import whole, commit nothing the second time, and keep each id when all of it moves', async () => {
    const folder = await folderOf('Habits', notes)
    await symlink('.', join(folder, 'loop'))
    await symlink('..', join(folder, "Ann's [notes]/up"))
    await symlink('nowhere', join(folder, 'broken-link.md'))
    execFileSync('mkfifo', [join(folder, 'pipe.md')])
    const first = await importAs(folder)
    const org = orgIn(first)
    const idsIn = async () => {
      const { body } = await ann.get(`/orgs/${org}/nodes?limit=200`)
      return new Map<string, string>(
        body.nodes.map((one: { id: string; properties: { source_path: string } }) => [
          one.properties.source_path,
          one.id,
        ]),
      )
    }
    const before = await idsIn()
    expect(first.code).to.equal(0)
    expect([...before.keys()]).to.include.members(Object.keys(notes))
    const again = await importAs(folder)
    expect(again.stdout).to.contain(`\n0 created, 0 updated, ${before.size} unchanged\n`)

    await mkdir(join(folder, 'Old'))
    for (const name of await readdir(folder))
      if (!/^(Old|\.grove)$/.test(name)) await rename(join(folder, name), join(folder, 'Old', name))
    const moved = await importAs(folder)
    expect(moved.stdout).to.contain(`\n1 created, 0 updated, ${before.size - 1} renamed, 1 unchanged\n`)
    const after = await idsIn()
    for (const [path, id] of before) if (path !== '.') expect(after.get(`Old/${path}`), path).to.equal(id)
  })
})
