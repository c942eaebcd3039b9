/** `grove import`: what it tells of edits, of removals, and of the organisation that it chooses. */

import { appendFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { ann, folderOf, grove, importAs, nodesOf, orgIn, run, start, useService } from './command.ts'

describe('import tells', () => {
  useService()

  it('which edits in Grove gave way to the files, and keeps them in the history', async () => {
    const folder = await folderOf('Edited', { 'a.md': '# A\n', 'b.md': '# B\n', 'c.md': '# C\n' })
    const org = orgIn(await importAs(folder))
    const [a, b] = [(await nodesOf(org)).get('A')?.id, (await nodesOf(org)).get('B')?.id]
    await ann.patch(`/orgs/${org}/nodes/${a}`, { text_content: '# A\n\nBy hand.\n' }).then(expecting(200))
    await appendFile(join(folder, 'b.md'), 'More.\n')
    const line = 'edited in Grove since the last import; the file replaced the edit, which stays in the history: a.md\n'
    for (const option of ['--dry-run', '--prune']) {
      const { stdout } = await importAs(folder, option)
      expect(stdout).to.contain('\n0 created, 2 updated, 2 unchanged\n').and.contain(`\n${line}`)
      expect(stdout.split('edited in Grove')).to.have.length(2)
    }
    const { history } = (await ann.get(`/orgs/${org}/nodes/${a}/tree/main/commits`)).body
    expect(history).to.have.length(3)
    expect((await ann.get(`/orgs/${org}/nodes/${b}`)).body.text_content).to.equal('# B\nMore.\n')
    expect((await importAs(folder)).stdout).not.to.contain('edited')
  })

  it.deep('the same of a Grove elsewhere', async () => {
    const folder = await folderOf('Far', { 'a.md': '# A\n' })
    const { body } = await client(grove)
      .post('/auth/login', { email: 'ann@example.org', password })
      .then(expecting(200))
    const tokens = await folderOf('tokens', { token: `${body.accessToken}\n` })
    const args = ['import', folder, '--to', grove.url, '--token-file', join(tokens, 'token')]
    const org = orgIn(await start(args).done)
    const a = (await nodesOf(org)).get('A')?.id
    await ann.patch(`/orgs/${org}/nodes/${a}`, { title: 'By hand' }).then(expecting(200))
    expect((await start(args).done).stdout).to.match(/\nedited in Grove since the last import; .*: a\.md\n/)
    expect((await start(args).done).stdout).not.to.contain('edited')
  })

  it('one node of a file whose node has lost the path that an import gave it', async () => {
    const folder = await folderOf('Unmarked', { 'a.md': '# A\n', 'x/b.md': '# B\n' })
    const org = orgIn(await importAs(folder))
    const before = await nodesOf(org)
    for (const title of ['A', 'B', 'x'])
      await ann.patch(`/orgs/${org}/nodes/${before.get(title)?.id}`, { properties: { mine: 1 } }).then(expecting(200))
    const { stdout } = await importAs(folder)
    expect(stdout).to.contain('\n0 created, 3 updated, 1 unchanged\n').and.contain(': x/b.md\n')
    expect([...(await nodesOf(org)).values()].map(({ id }) => id)).to.have.members(
      [...before.values()].map(({ id }) => id),
    )
  })

  it('what it has removed, and the command that brings each back', async () => {
    const folder = await folderOf('Pruned', { 'a.md': '# A\n', 'b.md': '# B\n' })
    const org = orgIn(await importAs(folder))
    await rm(join(folder, 'b.md'))
    const { stdout } = await importAs(folder, '--prune')
    const [, words = ''] = /^removed: b\.md; to restore it, run grove (restore-node \S+)$/m.exec(stdout) ?? []
    expect((await run(...words.split(' '))).code).to.equal(0)
    expect([...(await nodesOf(org)).keys()]).to.include('B')
  })

  it('a reader or contributor of the organisation that it would be another one, and makes none', async () => {
    const folder = await folderOf('Read', { 'a.md': '# A\n' })
    const org = orgIn(await importAs(folder))
    const bob = await signUp(grove, 'Bob')
    for (const [role, may, way] of [
      ['reader', 'read', ''],
      ['contributor', 'propose changes to', ' use --propose,'],
    ] as const) {
      expect((await run('member', 'add', org, 'bob@example.org', role)).code).to.equal(0)
      const before = (await bob.get('/orgs')).body.total
      const refused = await run('import', folder, '--as', 'bob@example.org')
      expect(refused).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: `grove: You may only ${may} the organisation of this folder, Read (${org}). Ask one of its owners for the editor role,${way} or use --name to create another organisation\n`,
      })
      expect((await bob.get('/orgs')).body.total).to.equal(before)
    }
    const own = await run('import', folder, '--as', 'bob@example.org', '--name', 'Mine')
    expect(own.code).to.equal(0)
    expect(orgIn(own)).not.to.equal(org)
  })

  it('remembers the organisation that --org chose, and prefers the own one', async () => {
    const one = await folderOf('Host', { 'a.md': 'One' })
    const other = await folderOf('Visitor', { 'b.md': 'Other' })
    const host = orgIn(await importAs(one))
    expect(orgIn(await importAs(other, '--org', host))).to.equal(host)
    const again = await importAs(other)
    expect(orgIn(again)).to.equal(host)
    expect(again.stdout).to.contain(
      '\nNote: it belongs to another vault, whose nodes are not changed; it was chosen earlier with --org\n0 created, 0 updated, 2 unchanged\n',
    )
    const own = orgIn(await importAs(other, '--name', 'Own'))
    expect(own).not.to.equal(host)
    expect(orgIn(await importAs(other))).to.equal(own)
  })

  it('an organisation that was made here and exported from its export, by its id', async () => {
    const org = (await ann.post('/orgs', { name: 'Born' }).then(expecting(201))).body.id
    await ann.post(`/orgs/${org}/nodes`, { title: 'One', text_content: 'Here.\n' }).then(expecting(201))
    const before = await nodesOf(org)
    const folder = join(await folderOf('out', { 'beside.txt': '' }), 'Born')
    expect((await run('export', org, folder)).code).to.equal(0)
    await appendFile(join(folder, 'One.md'), 'And there.\n')
    const back = await importAs(folder)
    expect(orgIn(back)).to.equal(org)
    const one = (await nodesOf(org)).get('One')
    expect(one?.id).to.equal(before.get('One')?.id)
    expect((await ann.get(`/orgs/${org}/nodes/${one?.id}`)).body.text_content).to.equal('Here.\nAnd there.\n')
    expect((await importAs(folder)).stdout).to.contain('0 created, 0 updated')
  })
})
