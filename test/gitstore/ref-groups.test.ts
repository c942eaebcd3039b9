/** Transactions of many refs: what is durable when, and what a crash anywhere in one leaves. */

import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { expect } from 'chai'
import { GitError } from '../../gitstore/errors.ts'
import { encodeOwner } from '../../gitstore/refs/ref-lock.ts'
import { type Move, recoverAll, type Store, updateRefs } from '../../gitstore/refs/ref-transaction.ts'
import { endRemovals, listUnindexed, markIndexed } from '../../gitstore/refs/unindexed-moves.ts'
import type { Repo } from '../../gitstore/repo.ts'
import { traced } from '../bench/traced.ts'
import { failing } from '../support/failing.ts'
import { type Git, gitIn } from '../support/git.ts'

const ledger = 'refs/grove/ledger'

describe('gitstore: a transaction of many refs', () => {
  let root: string
  let repo: Repo
  let store: Store
  let git: Git
  let before: string
  let after: string

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'grove-groups-'))
    git = gitIn({ dataDir: root }, 'org', 'node')
    repo = { dir: git.dir }
    mkdirSync(repo.dir, { recursive: true })
    git.run(['init', '-q', '--bare', repo.dir])
    before = git.commit({ files: { 'a.txt': 'a' } })
    after = git.commit({ files: { 'b.txt': 'b' }, parents: [before] })
    for (const name of ['main', 'gone', 'deep/gone', 'a', 'deep/b']) git.point(name, before)
    git.say('update-ref', ledger, before)
    git.say('pack-refs', '--all', '--prune')
    git.point('deep/gone', before)
    store = storeOf(root, 'one')
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  /** A pin, branches that move, are made and are deleted, and the ledger last. */
  const moves = (): Move[] => [
    { repo, ref: 'refs/grove/pulls/1', to: before },
    { repo, ref: 'refs/heads/a', to: after },
    { repo, ref: 'refs/heads/deep/b', to: after },
    { repo, ref: 'refs/heads/new/er', to: after },
    { repo, ref: 'refs/heads/gone', to: null },
    { repo, ref: 'refs/heads/deep/gone', to: null },
    { repo, ref: 'refs/heads/main', to: after },
    { repo, ref: ledger, to: after },
  ]
  const refs = () => git.lines('for-each-ref', '--format=%(refname) %(objectname)').sort()
  const done = () =>
    moves()
      .flatMap(({ ref, to }) => (to === null ? [] : `${ref} ${to}`))
      .sort()
  const move = () => updateRefs(store, moves(), async () => ({ moves: moves(), value: undefined }))

  it('moves all of them and leaves nothing behind', async () => {
    await move()
    expect(refs()).to.deep.equal(done())
    expect(readdirSync(join(store.run, store.process))).to.have.length(1)
    markIndexed(repo, listUnindexed(repo))
    await endRemovals()
    expect(readdirSync(join(store.run, store.process))).to.deep.equal([])
  })

  it('makes the first durable before the second, and all others before the last, each folder once', async () => {
    const { calls } = await traced(move)
    const path = (text: string) => relative(repo.dir, text)
    const made = moves().map(({ ref, to }) =>
      calls.find(({ call, path: at }) => call === (to === null ? 'none' : 'rename') && path(at) === ref),
    )
    const from = (at: number) => made[at]?.from ?? 0
    const syncs = calls.filter(({ call, path: at }) => call === 'fsync' && path(at).startsWith('refs/'))
    const between = (a: number, b: number) =>
      syncs.filter((sync) => sync.from >= a && sync.to <= b).map((sync) => path(sync.path))
    expect(between(from(0), from(1)).sort()).to.deep.equal(['refs/grove', 'refs/grove/pulls'])
    const last = moves().length - 1
    expect(between(from(1), from(last)).sort()).to.deep.equal(['refs/heads', 'refs/heads/deep', 'refs/heads/new'])
    expect(between(from(last), Number.POSITIVE_INFINITY)).to.deep.equal(['refs/grove'])
  })

  /** The state that a dead process left: the moves `made` of the plan, with all locks held. */
  function leave(made: readonly number[]): string {
    const process = randomUUID()
    const folder = join(store.run, process, '1')
    mkdirSync(folder, { recursive: true })
    const paths = moves().map(({ ref }) => join(repo.dir, `${ref}.lock`))
    const locks = paths.map((path) => relative(root, path)).sort()
    const token = join(folder, 'token')
    writeFileSync(token, encodeOwner({ process, transaction: '1', note: '', locks }))
    for (const path of paths) {
      mkdirSync(dirname(path), { recursive: true })
      linkSync(token, path)
    }
    const plans = moves().map(({ ref, to }) => ({ dir: relative(root, repo.dir), ref, to }))
    writeFileSync(join(folder, 'moves.json'), JSON.stringify(plans))
    for (const at of made) {
      const { ref, to } = moves()[at] ?? { ref: '', to: null }
      writeFileSync(join(repo.dir, ref), `${to}\n`)
    }
    return process
  }

  /** None of the deletions, which crashes leave half made in other ways. */
  const some: readonly (readonly number[])[] = [[0], [0, 1], [0, 2, 3], [0, 1, 2, 3], [0, 6], [0, 1, 2, 3, 6], [0, 7]]
  for (const made of some) {
    it(`is finished if a crash left the moves ${made.join(', ')}, in whatever order the disk took them`, async () => {
      leave(made)
      await recoverAll(store, fail)
      expect(refs()).to.deep.equal(done())
      expect(readdirSync(store.run)).to.deep.equal(['one'])
    })
  }

  it('is undone if a crash left none', async () => {
    const known = refs()
    leave([])
    await recoverAll(store, fail)
    expect(refs()).to.deep.equal(known)
    expect(readdirSync(store.run)).to.deep.equal(['one'])
  })

  it('stays to be finished if its folder cannot be read: files are short', async () => {
    const process = leave([0])
    const home = join(store.run, process)
    const told: unknown[] = []
    await failing('readdir', home, 'EMFILE', () => recoverAll(store, (error) => told.push(error)))
    expect(told.map((error) => error instanceof GitError && error.code)).to.deep.equal(['busy'])
    expect(existsSync(join(home, '1', 'moves.json'))).to.equal(true)
    await recoverAll(store, fail)
    expect(refs()).to.deep.equal(done())
  })

  it('is refused completely if one of its names is a folder of another, and moves nothing', async () => {
    const known = refs()
    const names = ['refs/heads/0', 'refs/heads/x', 'refs/heads/x/y'].map((ref) => ({ repo, ref, to: after }))
    const refused = await updateRefs(store, names, async () => ({ moves: names, value: undefined })).catch((e) => e)
    expect([refused.code, refused.facts]).to.deep.equal(['ref_name_taken', { ref: 'refs/heads/x/y' }])
    expect(refs()).to.deep.equal(known)
    await endRemovals()
    expect(readdirSync(join(store.run, store.process))).to.deep.equal([])
  })

  it('waits for who makes a branch below a name that it is about to make', async () => {
    const below = { repo, ref: 'refs/heads/x/y', to: after }
    const others = storeOf(root, 'two')
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const making = updateRefs(others, [below], async () => {
      await held
      return { moves: [below], value: undefined }
    })
    const names = ['refs/heads/0', 'refs/heads/x'].map((ref) => ({ repo, ref, to: after }))
    const refused = updateRefs(store, names, async () => ({ moves: names, value: undefined })).catch((e) => e)
    // Later than the other has begun to wait, which has no sign.
    setTimeout(release, 100)
    await making
    expect((await refused).code).to.equal('ref_name_taken')
    expect(refs().filter((line) => /heads\/[0x]/.test(line))).to.deep.equal([`refs/heads/x/y ${after}`])
  })

  it('waits for a lock below its name to go, and takes the folder’s place', async () => {
    const lock = join(repo.dir, 'refs/heads/x/y.lock')
    mkdirSync(dirname(lock))
    writeFileSync(lock, '')
    const names = ['refs/heads/0', 'refs/heads/x'].map((ref) => ({ repo, ref, to: after }))
    // Later than the update has begun to wait, which has no sign.
    setTimeout(() => rmSync(lock), 100)
    await updateRefs(store, names, async () => ({ moves: names, value: undefined }))
    expect(refs()).to.include.members(names.map(({ ref }) => `${ref} ${after}`))
  })
})

function storeOf(root: string, process: string): Store {
  const run = join(root, 'run')
  mkdirSync(join(run, process), { recursive: true })
  return {
    root,
    run,
    process,
    claimDeadProcess: () => ({ release: () => {} }),
    onRecovered: async () => undefined,
    indexRepo: async () => undefined,
    onReadOnly: () => undefined,
  }
}

function fail(error: unknown): never {
  throw error
}
