/** `grove import --with-history`: nodes get the commits of their files. Native git in the source is the oracle. */

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { gitIn } from '../support/git.ts'
import { ann, folderOf, grove, importAs, nodesOf, orgIn, useService } from './command.ts'

const format = '--format=%an|%ae|%at|%ct|%B%x00'
const follow = ['log', '--follow', '--no-merges', format, '--']

describe('import with the history of a Git work tree', () => {
  useService()
  let folder: string
  let at = 1_500_000_000

  const git = (...args: string[]) => execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' })
  const write = async (path: string, content: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  const commit = (message: string, author = 'Zoë Ünal <zoe@example.org>') => {
    at += 1_000
    const env = { ...process.env, GIT_COMMITTER_DATE: `${at} +0200`, GIT_AUTHOR_DATE: `${at - 500} -0700` }
    const person = { ...env, GIT_COMMITTER_NAME: 'Sam', GIT_COMMITTER_EMAIL: 'sam@example.org' }
    execFileSync('git', ['-C', folder, 'add', '-A'])
    execFileSync('git', ['-C', folder, 'commit', '-qm', message, `--author=${author}`, '--allow-empty'], {
      env: person,
    })
  }
  const lines = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name} ${n}.`).join('\n\n')

  /** A garden with renames, a merge, a deletion, and changes of front matter only. */
  beforeEach(async () => {
    folder = await folderOf('Garden', { 'rose.md': `---\ntags: [a]\n---\n# Rose\n\n${lines('Red', 20)}\n` })
    git('init', '-q', '-b', 'main')
    git('config', 'user.name', 'Sam')
    git('config', 'user.email', 'sam@example.org')
    commit('Plant a rose\n\nWith a body.\n\n* and a list')
    await write('rose.md', `---\ntags: [a, b]\n---\n# Rose\n\n${lines('Red', 20)}\n`)
    commit('Only tags', 'Bob <bob@example.org>')
    await mkdir(join(folder, 'plants'))
    await rename(join(folder, 'rose.md'), join(folder, 'plants/rose.md'))
    await write('plants/rose.md', `---\ntags: [a, b]\n---\n# Rose\n\n${lines('Red', 20)}\n\nLate. See [[thorn]].\n`)
    commit('Move and change', 'Bob <bob@example.org>')
    await write('thorn.md', `${lines('Sharp', 9)}\n`)
    commit('Thorns')
    await rm(join(folder, 'thorn.md'))
    commit('No thorns')
    await write('thorn.md', `${lines('Sharper', 9)}\n`)
    commit('Thorns again')
    await write('moss.md', `# Old moss\n\n${lines('Green', 12)}\n`)
    commit('Moss')
    await rename(join(folder, 'moss.md'), join(folder, 'plants/moss.md'))
    commit('Move moss')
    await write('moss.md', `# New moss\n\n${lines('Something quite unlike it', 12)}\n`)
    commit('Another moss by the old name')
    git('checkout', '-qb', 'side')
    await write('side.md', '# Side\n')
    commit('On the side')
    git('checkout', '-q', 'main')
    await write('thorn.md', `${lines('Sharper', 10)}\n`)
    commit('On main')
    git('merge', '-q', '--no-edit', 'side')
    await write('new.md', '# Not committed\n')
  })

  const nodeGit = async (org: string, title: string) => {
    const node = (await nodesOf(org)).get(title)
    return gitIn(grove, org, node?.id ?? '')
  }

  it('has authors, dates and messages as `git log --follow` shows them, and blame', async () => {
    const done = await importAs(folder, '--with-history')
    expect(done.code, done.stderr).to.equal(0)
    expect(done.stdout).to.include('created').and.to.include('0 updated')
    const org = orgIn(done)
    const mosses = { 'Old moss': 'plants/moss.md', 'New moss': 'moss.md' }
    const sources = { Rose: 'plants/rose.md', Thorn: 'thorn.md', Side: 'side.md', ...mosses }
    for (const [title, path] of Object.entries(sources)) {
      const own = await nodeGit(org, title)
      expect(own.say('log', '--skip=1', format, 'main'), title).to.equal(git(...follow, path).trimEnd())
      expect(
        own
          .say('log', '--format=%cn|%ce', 'main')
          .split('\n')
          .every((one) => one === 'Ann|ann@example.org'),
      ).to.equal(true)
      expect(own.say('log', '-1', '--format=%an|%s', 'main')).to.equal(`Ann|Import ${path}`)
      const text = git('show', `HEAD:${path}`).replace(/^---\n.*?---\n/s, '')
      expect(own.say('show', 'main:content.md')).to.equal(text.trimEnd())
      const blamed = (output: string) => output.split('\n').filter((line) => /^author(-mail|-time)? /.test(line))
      const theirs = blamed(git('blame', '--line-porcelain', path)).slice(-3 * text.split('\n').length + 3)
      expect(blamed(own.say('blame', '--line-porcelain', 'main', '--', 'content.md'))).to.deep.equal(theirs)
      own.say('fsck', '--full', '--strict')
    }
    expect((await nodeGit(org, 'Not committed')).log()).to.have.length(1)
    const { id } = (await nodesOf(org)).get('Rose') ?? { id: '' }
    const { history } = (await ann.get(`/orgs/${org}/nodes/${id}/tree/main/commits`)).body
    expect(history.map((one: { author: string }) => one.author)).to.have.length(4)
    expect((await ann.get(`/orgs/${org}/nodes/${id}`)).body.connections).to.have.length(1)
  })

  it('ends with the content of an import without history, so that another import changes nothing', async () => {
    const copy = join(await folderOf('Copy', {}), 'Garden')
    await cp(folder, copy, { recursive: true })
    const org = orgIn(await importAs(folder, '--with-history'))
    const plain = orgIn(await importAs(copy))
    for (const title of ['Rose', 'Thorn', 'Side', 'Not committed']) {
      const [one, other] = [await nodeGit(org, title), await nodeGit(plain, title)]
      expect(one.say('show', 'main:content.md')).to.equal(other.say('show', 'main:content.md'))
    }
    for (const options of [[], ['--with-history']])
      expect((await importAs(folder, '--org', org, ...options)).stdout).to.include('0 created, 0 updated')
  })

  it('runs nothing that the repository names', async () => {
    const trap = join(folder, '..', 'trap')
    const sprung = `${trap}.sprung`
    await writeFile(trap, `#!/bin/sh\ntouch ${sprung}\ncat\n`)
    await chmod(trap, 0o755)
    await write('.gitattributes', '*.md diff=trap filter=trap\n')
    commit('A trap')
    const names = ['core.fsmonitor', 'diff.external', 'diff.trap.textconv', 'diff.trap.command', 'filter.trap.smudge']
    for (const name of [...names, 'filter.trap.clean', 'core.pager', 'pager.log', 'gpg.program', 'core.sshCommand'])
      git('config', name, trap)
    git('config', 'log.showSignature', 'true')
    git('config', 'core.hooksPath', dirname(trap))
    const done = await importAs(folder, '--with-history')
    expect([done.code, existsSync(sprung)], done.stderr).to.deep.equal([0, false])
  })

  it('is refused if there is no history, and in combination with --to', async () => {
    const bare = await folderOf('Bare', { 'a.md': '# A\n' })
    const missing = await importAs(bare, '--with-history')
    expect([missing.code, missing.stderr]).to.satisfy(
      ([code, says]: [number, string]) => code !== 0 && /no Git work tree/.test(says),
    )
    const org = (await ann.post('/orgs', { name: 'Strict' })).body.id
    await ann.patch(`/orgs/${org}`, { require_pull_requests: true })
    expect((await importAs(folder, '--org', org, '--with-history')).stderr).to.include('only by pull requests')
    expect((await nodesOf(org)).size).to.equal(0)
    git('checkout', '-q', '--orphan', 'empty')
    expect((await importAs(folder, '--with-history')).stderr).to.include('cannot read the history')
  })
})
