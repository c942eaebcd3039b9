/** Organisations with many members: a change of one writes what changed. */

import { randomUUID } from 'node:crypto'
import { statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { filesBelow } from '../support/data-folder.ts'
import { type Git, gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('an organisation with many members', () => {
  const { grove, ann } = useWorld({ ann: 'owner', bob: 'stranger' })

  /** An organisation with Ann and as many more, whose files were put there by git. */
  async function orgWith(count: number): Promise<{ at: string; git: Git }> {
    const { id } = (await ann.post('/orgs', { name: 'Many' }).then(expecting(201))).body
    const git = gitIn(grove, id, 'org')
    const created_at = new Date(0).toISOString()
    const files = Array.from({ length: count }, (_, n) => {
      const text = JSON.stringify({ email: `m${n}@example.org`, name: `M ${n}`, role: 'reader', created_at })
      return `M 100644 inline members/${randomUUID()}.json\ndata ${text.length}\n${text}\n`
    })
    const head = 'commit refs/heads/main\ncommitter A <a@x.org> 1700000000 +0000\ndata 1\nx\nfrom refs/heads/main^0\n'
    git.run(['fast-import', '--quiet'], { input: `${head}${files.join('')}\n` })
    return { at: `/orgs/${id}`, git }
  }

  const role = (at: string, name: string) =>
    ann.put(`${at}/members/bob@example.org`, { role: name }).then(expecting(200))

  it('writes one file for a change of one role, and leaves all others alone', async () => {
    const { at, git } = await orgWith(150)
    await role(at, 'reader')
    const past = new Date('2020-01-01T00:00:00Z')
    const objects = await filesBelow(join(git.dir, 'objects'))
    for (const path of objects) utimesSync(path, past, past)
    await role(at, 'editor')
    const touched = (await filesBelow(join(git.dir, 'objects'))).filter((path) => statSync(path).mtimeMs > +past)
    // The file, the folder, the root and the commit.
    expect(touched).to.have.length(4)
    expect(git.lines('diff', '--stat', 'main^', 'main')).to.have.length(2)
    const { members, total } = (await ann.get(`${at}/members?limit=200`)).body
    expect(total).to.equal(152)
    expect(members.find((one: { email: string }) => one.email === 'bob@example.org')).to.include({ role: 'editor' })
    await ann.delete(`${at}/members/bob@example.org`).then(expecting(204))
    expect((await ann.get(`${at}/members`)).body.total).to.equal(151)
    git.fsck()
  })

  it('has at most 10,000, and says so; all of them are listed', async () => {
    const { at } = await orgWith(9_999)
    await ann.patch(at, { name: 'Very many' }).then(expecting(200))
    expect(await ann.put(`${at}/members/bob@example.org`, { role: 'reader' })).to.deep.equal({
      status: 409,
      body: {
        code: 'too_many_members',
        detail: 'An organisation has at most 10000 members; remove some first',
      },
    })
    const { members, total } = (await ann.get(`${at}/members?limit=200&offset=9900`)).body
    expect([members.length, total]).to.deep.equal([100, 10_000])
    await ann.delete(`${at}/members/m5@example.org`).then(expecting(204))
    await role(at, 'reader')
  })
})
