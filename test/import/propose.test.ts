/** `grove import --propose`: a folder becomes items of change sets. */

import { appendFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'
import { ann, folderOf, grove, importAs, nodesOf, orgIn, run, useService } from './command.ts'

describe('import that proposes', () => {
  useService()

  let cy: PersonClient
  before(async () => {
    cy = await signUp(grove, 'Cy')
  })

  const propose = (folder: string, ...options: string[]) =>
    run('import', folder, '--as', cy.user.email, '--propose', ...options)

  /** Imports the folder, and lets Cy contribute. A rule guards all pages. */
  async function anOrg(folder: string): Promise<string> {
    const org = orgIn(await importAs(folder))
    await ann.put(`/orgs/${org}/members/${cy.user.email}`, { role: 'contributor' }).then(expecting(200))
    await ann.patch(`/orgs/${org}`, { rules: [{ branches: ['main'] }] }).then(expecting(200))
    return org
  }

  const setsOf = async (org: string): Promise<Answer['body'][]> =>
    (await ann.get(`/orgs/${org}/change-sets?status=all&limit=100`).then(expecting(200))).body.change_sets

  it('opens a set with the new pages', async () => {
    const folder = await folderOf('Coast', { 'a.md': '# A\n' })
    const { stdout } = await run('import', folder, '--as', 'ann@example.org', '--propose')
    const org = orgIn({ code: 0, stdout, stderr: '' })
    expect(stdout).to.contain(`\nProposed: 2 created, 0 updated, 0 unchanged\n2 pages: /o/${org}/proposals/1\n`)
    expect((await setsOf(org)).map(({ title, num_items }) => [title, num_items])).to.deep.equal([['Import Coast', 2]])
  })

  it.deep('proposes what differs, also of contributors and with deletions, and nothing twice', async () => {
    const folder = await folderOf('Sea', { 'whale.md': '# Whale\n', 'old.md': '# Old\n', 'a/b.md': '# B\n' })
    const org = await anOrg(folder)
    await appendFile(join(folder, 'whale.md'), 'It eats [krill](krill.md).\n')
    await writeFile(join(folder, 'krill.md'), '---\ntags: [small]\n---\n# Krill\n')
    await rm(join(folder, 'old.md'))
    const dry = await propose(folder, '--prune', '--dry-run')
    expect(dry.stdout).to.contain('\n1 created, 1 updated, 1 removed, 3 unchanged\n')
    expect(await setsOf(org)).to.deep.equal([])
    const { code, stdout, stderr } = await propose(folder, '--prune')
    expect(code, stdout + stderr).to.equal(0)
    expect(stdout).to.contain('\nProposed: 1 created, 1 updated, 1 removed, 3 unchanged\n')
    expect(stdout).to.contain(`\n3 pages: /o/${org}/proposals/1\n`)
    expect((await nodesOf(org)).has('Krill')).to.equal(false)
    const set = (await ann.get(`/orgs/${org}/change-sets/1`).then(expecting(200))).body.change_set
    expect(set).to.deep.include({ title: 'Import Sea', author: 'Cy', can_merge: true })
    expect(set.items.map(({ act, title }: Answer['body']) => [act, title])).to.deep.equal([
      ['delete', 'Old'],
      ['create', 'Krill'],
      ['change', 'Whale'],
    ])
    expect((await propose(folder)).stdout).to.contain('\nProposed: 0 created, 0 updated, 5 unchanged\n')
    await ann.post(`/orgs/${org}/change-sets/1/merge`).then(expecting(200))
    expect((await nodesOf(org)).has('Krill')).to.equal(true)
    expect((await importAs(folder)).stdout).to.contain('\n0 created, 0 updated, 5 unchanged\n')
  })

  it.deep('names the set that has a page with other content, and proposes the others', async () => {
    const folder = await folderOf('Busy', { 'a.md': '# A\n', 'b.md': '# B\n' })
    const org = await anOrg(folder)
    await appendFile(join(folder, 'a.md'), 'One.\n')
    await writeFile(join(folder, 'new.md'), '# New\n')
    await propose(folder)
    await appendFile(join(folder, 'a.md'), 'Two.\n')
    await appendFile(join(folder, 'new.md'), 'Two.\n')
    await appendFile(join(folder, 'b.md'), 'Two. See [New](new.md).\n')
    const { code, stdout } = await propose(folder)
    expect(code).to.equal(1)
    for (const path of ['a.md', 'new.md'])
      expect(stdout).to.contain(`  ${path}: change set 1 has this page with other content; merge or close it first\n`)
    expect((await setsOf(org)).map(({ num_items }) => num_items)).to.deep.equal([1, 2])
    const { body } = await ann.get(`/orgs/${org}/change-sets/2`)
    expect(body.change_set.merge_reason, 'its page links to one of the first').to.equal('invalid_content')
    await ann.patch(`/orgs/${org}/change-sets/1`, { status: 'closed' }).then(expecting(200))
    expect((await propose(folder)).stdout).to.contain('new.md: a closed change set proposes this page; reopen it first')
  })

  it.deep('cuts a large folder into sets, which merge one after the other', async () => {
    const folder = await folderOf('Large', { 'start.md': '# Start\n' })
    const org = await anOrg(folder)
    for (let n = 0; n < 60; n++)
      await writeFile(join(folder, `note-${n}.md`), `# Note ${n}\n\nSee [next](note-${(n + 1) % 60}.md).\n`)
    const { stdout } = await propose(folder)
    expect(stdout).to.contain(`\n50 pages: /o/${org}/proposals/1\n10 pages: /o/${org}/proposals/2\nMerge these`)
    const [second, first] = await setsOf(org)
    expect([first.title, second.title]).to.deep.equal(['Import Large (1 of 2)', 'Import Large (2 of 2)'])
    for (const number of [1, 2]) await ann.post(`/orgs/${org}/change-sets/${number}/merge`).then(expecting(200))
    expect(stdout).to.match(/\nNote: edges to new nodes of later proposals are left out: \d+\. Import again/)
    expect((await propose(folder)).stdout).to.match(/\nProposed: 0 created, \d+ updated, /)
    await ann.post(`/orgs/${org}/change-sets/3/merge`).then(expecting(200))
    expect((await propose(folder)).stdout).to.contain('\nProposed: 0 created, 0 updated, 62 unchanged\n')
  })

  it.deep('is refused with what it cannot be combined with', async () => {
    const folder = await folderOf('Both', { 'a.md': '# A\n' })
    for (const option of ['--watch', '--with-history', '--override=x'])
      expect((await propose(folder, option)).stderr).to.contain('--propose can be combined with neither')
  })
})
