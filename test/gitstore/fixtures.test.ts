/** The commits and branches that tests write without Git are those of native Git. */

import { expect } from 'chai'
import fc from 'fast-check'
import { commitByGit, type Git, gitIn } from '../support/git.ts'
import { commitPlainly, type HandCommit } from '../support/plain-commits.ts'
import { runs } from '../support/seed.ts'
import { folder, useFolder } from './bare-repo.ts'

const name = fc.constantFrom('a', 'b', 'a.b', 'a-b', 'é', '\u{1f333}', '\uff5e')
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'))
const oid = fc.stringMatching(/^[0-9a-f]{40}$/)
const file = fc.oneof(
  fc.constantFrom('', 'one', 'two\n', null, null, Buffer.of(0, 255)),
  fc.record({ mode: fc.constantFrom('100755', '120000'), content: fc.constantFrom('one', 'three') }),
  fc.record({ mode: fc.constantFrom('100644', '160000'), oid }),
)
const commits = fc.record(
  {
    files: fc.dictionary(path, file, { maxKeys: 6 }),
    message: fc.string({ unit: fc.constantFrom('a', 'é', '\n', '\r', ' ', '#', '\u{1f333}'), maxLength: 12 }),
    at: fc.integer({ min: 100_000_000, max: 4_000_000_000 }),
    author: fc.constantFrom('Ann', 'Änn von B-C', '李'),
  },
  { requiredKeys: [] },
)

/** Runs one random sequence. It is not shrunk, because a repository keeps what earlier steps did. */
function tryOnce<T>(steps: fc.Arbitrary<T>, run: (steps: T) => void): void {
  fc.assert(fc.property(steps, run), { numRuns: runs(1), endOnFailure: true })
}

const times = (length: number) => ({ minLength: length, maxLength: length })

function outcome<T>(work: () => T): T | 'refused' {
  try {
    return work()
  } catch {
    return 'refused'
  }
}

describe('fixtures', () => {
  useFolder()

  const newRepo = (node: string): Git => {
    const git = gitIn({ dataDir: folder }, '.', node)
    git.run(['init', '-q', '--bare', '--template='])
    return git
  }

  it.deep('are the commits of Git, also on packed parents', () => {
    const [ours, theirs] = [newRepo('ours'), newRepo('theirs')]
    const made: string[] = []
    const steps = fc.array(fc.tuple(commits, fc.array(fc.nat({ max: 3 }), { maxLength: 3 })), times(35))
    const plainly = (commit: HandCommit) => commitPlainly(ours.dir, commit) ?? 'left to Git'
    tryOnce(steps, (all) => {
      for (const [n, [commit, picked]] of all.entries()) {
        if (n === 20) ours.run(['-c', 'pack.window=0', 'repack', '-adq', '--keep-unreachable'])
        if (n === 30) ours.run(['repack', '-adfq', '--keep-unreachable'])
        const parents = [...new Set(picked.flatMap((back) => made.at(-1 - (back % made.length)) ?? []))]
        const whole = { ...commit, parents }
        made.push(commitByGit(theirs.run, whole))
        // Git reads trees that are deltas.
        const written = n < 30 ? plainly(whole) : ours.commit(whole)
        expect(written, JSON.stringify(whole)).to.equal(made.at(-1))
      }
    })
  })

  it('leave to Git what it changes or refuses', () => {
    const git = newRepo('odd')
    const tree = git.say('mktree')
    const odd: HandCommit[] = [
      { author: ' Ann. ' },
      { author: 'A <b>' },
      { at: 12 },
      { message: '\uffff' },
      { files: { 'a//b': 'x' } },
      { files: { '../b': 'x' } },
      { files: { 'a/.GIT/config': 'x' } },
      { files: { a: { mode: '40000', oid: tree } } },
      { parents: ['1'.repeat(40)] },
      { parents: [tree] },
    ]
    for (const commit of odd) expect(commitPlainly(git.dir, commit), JSON.stringify(commit)).to.equal(undefined)
  })

  it.deep('are the branches of Git, also next to packed ones', () => {
    const [ours, theirs] = [newRepo('our-branches'), newRepo('their-branches')]
    const [one = '', two = ''] = ['1', '2'].map((message) => [ours, theirs].map((git) => git.commit({ message }))[0])
    const branch = fc.constantFrom('a', 'a/b', 'a/b/c', 'd', 'd/e')
    const value = fc.constantFrom(one, one, two, two, null, '1'.repeat(40), 'pack')
    tryOnce(fc.array(fc.tuple(branch, value), times(60)), (all) => {
      for (const [at, to] of all) {
        const ref = `refs/heads/${at}`
        const byGit = (...words: string[]) => outcome(() => theirs.say(...words))
        if (to === 'pack') for (const git of [ours, theirs]) git.say('pack-refs', '--all')
        else {
          const expected = byGit('update-ref', ...(to === null ? ['-d', ref] : [ref, to])) || undefined
          expect(outcome(() => ours.point(at, to))).to.equal(expected)
        }
        expect(outcome(() => ours.head(at))).to.equal(byGit('rev-parse', '--verify', ref))
      }
      expect(ours.lines('for-each-ref')).to.deep.equal(theirs.lines('for-each-ref'))
    })
  })
})
