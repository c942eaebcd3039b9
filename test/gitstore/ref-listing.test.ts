/** Listings of refs are kept while nothing moves, and never after something has. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { listRefs, listRefsWith } from '../../gitstore/refs/refs.ts'
import type { Repo } from '../../gitstore/repo.ts'
import { environment } from '../support/git.ts'
import { until } from '../support/until.ts'

describe('gitstore: the refs of a repository', () => {
  let repo: Repo
  let commits: string[]

  const git = (...args: string[]) =>
    execFileSync('git', args, { env: environment(repo.dir), stdio: ['ignore', 'pipe', 'pipe'] })
      .toString()
      .trim()
  const list = () => listRefs(repo, 'refs/heads/')
  /** Until a listing is relied on; then it is the same map each time. */
  async function settled() {
    let before = list()
    await until(async () => {
      // Longer than a tick of the file system's clock, before which no listing is relied on.
      await sleep(150)
      const known = before
      before = list()
      return before === known
    })
    return list()
  }

  beforeEach(() => {
    repo = { dir: join(mkdtempSync(join(tmpdir(), 'grove-refs-')), 'a.git') }
    execFileSync('git', ['init', '-q', '--bare', repo.dir])
    const tree = git('mktree', '--missing', '-z')
    commits = ['one', 'two', 'three'].map((message) => git('commit-tree', tree, '-m', message))
    for (const name of ['main', 'a', 'deep/b', 'deep/er/c']) git('update-ref', `refs/heads/${name}`, commits[0] ?? '')
  })
  afterEach(() => rmSync(join(repo.dir, '..'), { recursive: true, force: true }))

  it('are the same map as long as none has moved', async () => {
    const known = await settled()
    expect([...known.keys()]).to.deep.equal(['main', 'a', 'deep/b', 'deep/er/c'].map((n) => `refs/heads/${n}`).sort())
    for (let n = 0; n < 5; n++) expect(list()).to.equal(known)
    git('pack-refs', '--all', '--prune')
    const packed = await settled()
    expect([...packed]).to.deep.equal([...known])
    expect(list()).to.equal(packed)
  })

  const moves: Record<string, () => unknown> = {
    'a branch moves': () => git('update-ref', 'refs/heads/a', commits[1] ?? ''),
    'a branch in a folder of a folder moves': () => git('update-ref', 'refs/heads/deep/er/c', commits[1] ?? ''),
    'a branch appears': () => git('update-ref', 'refs/heads/new', commits[1] ?? ''),
    'a branch appears in a new folder': () => git('update-ref', 'refs/heads/x/y/z', commits[1] ?? ''),
    'a branch goes': () => git('update-ref', '-d', 'refs/heads/deep/b'),
    'a branch goes and its folder with it': () => git('update-ref', '-d', 'refs/heads/deep/er/c'),
    'a packed branch goes': () => {
      git('pack-refs', '--all', '--prune')
      list()
      git('update-ref', '-d', 'refs/heads/a')
    },
    'packed branches get one that is loose': () => {
      git('pack-refs', '--all', '--prune')
      list()
      git('update-ref', 'refs/heads/a', commits[2] ?? '')
    },
    'a folder of branches takes the place of another': () => {
      mkdirSync(join(repo.dir, 'aside'))
      writeFileSync(join(repo.dir, 'aside', 'b'), `${commits[1]}\n`)
      mkdirSync(join(repo.dir, 'aside', 'er'))
      renameSync(join(repo.dir, 'refs/heads/deep'), join(repo.dir, 'gone'))
      renameSync(join(repo.dir, 'aside'), join(repo.dir, 'refs/heads/deep'))
    },
  }
  for (const [what, move] of Object.entries(moves)) {
    it(`are read again where ${what}`, async () => {
      await settled()
      move()
      const refs = git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads').split('\n').sort()
      expect([...list()].map((ref) => ref.join(' '))).to.deep.equal(refs)
    })
  }

  it.deep('are right at once, however often they move within a tick of the clock', async () => {
    await settled()
    const path = join(repo.dir, 'refs/heads/a')
    for (let n = 0; n < 2_000; n++) {
      const oid = commits[n % 3] ?? ''
      writeFileSync(join(repo.dir, 'value'), `${oid}\n`)
      renameSync(join(repo.dir, 'value'), path)
      expect(list().get('refs/heads/a'), `the ${n}th move`).to.equal(oid)
      // Now and then long enough that the listing may be relied on.
      if (n % 250 === 0) await sleep(150)
    }
  })

  it('are not relied on so soon after a move that another might have left the same time', async () => {
    await settled()
    const path = join(repo.dir, 'refs/heads/a')
    git('update-ref', 'refs/heads/a', commits[1] ?? '')
    expect(list().get('refs/heads/a')).to.equal(commits[1])
    // In place: it leaves the times of folders as a move within the same tick would.
    writeFileSync(path, `${commits[2]}\n`)
    expect(list().get('refs/heads/a')).to.equal(commits[2])
  })

  it('of which one is read each time show a write in place of that one', async () => {
    const known = await settled()
    expect(listRefsWith(repo, 'refs/heads/', 'refs/heads/a')).to.equal(known)
    writeFileSync(join(repo.dir, 'refs/heads/a'), `${commits[1]}\n`)
    expect(listRefsWith(repo, 'refs/heads/', 'refs/heads/a').get('refs/heads/a')).to.equal(commits[1])
    git('update-ref', '-d', 'refs/heads/a')
    expect(listRefsWith(repo, 'refs/heads/', 'refs/heads/a').has('refs/heads/a')).to.equal(false)
    expect(listRefsWith(repo, 'refs/heads/', 'refs/heads/none').size).to.equal(3)
  })

  it('written in place, which git never does, are seen by who reads afresh', async () => {
    await settled()
    writeFileSync(join(repo.dir, 'refs/heads/a'), `${commits[2]}\n`)
    expect(listRefs(repo, 'refs/heads/', 'afresh').get('refs/heads/a')).to.equal(commits[2])
  })
})
