/** Rebase, with git rebase as the oracle. */

import { readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { rebase } from '../../gitstore/history/rebase.ts'
import { readCommit } from '../../gitstore/objects/commits.ts'
import { listFiles } from '../../gitstore/objects/trees.ts'
import { bareRepo, commitFiles, refusal, useFolder } from './bare-repo.ts'

const ben = { name: 'Ben', email: 'ben@example.org', timestamp: 1_700_000_100, timezoneOffset: 0 }

describe('gitstore: rebase', () => {
  useFolder()

  const text = (...changed: string[]) =>
    Array.from({ length: 30 }, (_, i) => changed.find((line) => line.startsWith(`${i} `)) ?? `${i}`).join('\n')

  it('puts commits on another head as git rebase does, keeping author and message', async () => {
    const { repo, git, say } = await bareRepo()
    const base = await commitFiles(repo, { 'dir/a': text(), old: text(), same: 'same' })
    const main = await commitFiles(
      repo,
      { 'dir/a': text('2 main'), old: text('20 main'), both: 'both', same: 'same' },
      [base],
    )
    const one = await commitFiles(repo, { 'dir/a': text('20 one'), old: text(), same: 'same' }, [base], 'One\n\nbody')
    const two = await commitFiles(
      repo,
      { 'dir/a': text('20 one'), old: text(), same: 'same', both: 'both' },
      [one],
      'Two',
    )
    const merge = await commitFiles(repo, { 'dir/a': text('20 one'), old: text(), same: 'same', both: 'both' }, [
      two,
      base,
    ])
    const three = await commitFiles(
      repo,
      { 'dir/a': text('20 one'), new: text('3 three'), same: 'same', both: 'both' },
      [merge],
      'Three',
    )
    const empty = say(['commit-tree', `${three}^{tree}`, '-p', three, '-m', 'Empty'])

    const commits = [one, two, merge, three, empty]
    const head = await rebase(repo, { commits, onto: main, committer: ben })

    git(['update-ref', 'refs/heads/main', head])
    expect(say(['log', '--format=%s|%an|%cn|%ct', head])).to.equal(
      `${[
        'Empty|Git|Ben|1700000100',
        'Three|Änn|Ben|1700000100',
        'One|Änn|Ben|1700000100',
        'A change|Änn|Änn|1700000000',
      ].join('\n')}\nA change|Änn|Änn|1700000000`,
    )
    expect((await listFiles(repo, (await readCommit(repo, head)).tree)).map(({ path }) => path)).to.deep.equal([
      'both',
      'dir/a',
      'new',
      'same',
    ])
    expect(say(['show', `${head}:dir/a`])).to.equal(text('2 main', '20 one'))
    expect(say(['show', `${head}:new`])).to.equal(text('3 three', '20 main'))
    expect(say(['fsck', '--full', '--strict', '--no-dangling'])).to.equal('')
    expect(await readdir(repo.dir)).to.deep.equal([
      'HEAD',
      'branches',
      'config',
      'description',
      'hooks',
      'info',
      'objects',
      'refs',
    ])
    expect(await rebase(repo, { commits: [two], onto: main, committer: ben })).to.equal(main)
  })

  it('names the paths that conflict and leaves nothing behind', async () => {
    const { repo, say } = await bareRepo()
    const base = await commitFiles(repo, { b: 'x', 'a/é': 'x', c: 'x' })
    const main = await commitFiles(repo, { b: 'main', 'a/é': 'main', c: 'x' }, [base])
    const source = await commitFiles(repo, { b: 'source', 'a/é': 'source', c: 'source' }, [base])
    const before = say(['count-objects'])
    expect(await refusal(rebase(repo, { commits: [source], onto: main, committer: ben }))).to.deep.equal({
      code: 'merge_conflict',
      facts: { paths: ['a/é', 'b'], commit: source },
    })
    expect(say(['count-objects'])).to.equal(before)
    expect((await readdir(repo.dir)).filter((name) => name.startsWith('quarantine'))).to.deep.equal([])
  })

  it('rebases a root commit of another history', async () => {
    const { repo, say } = await bareRepo()
    const main = await commitFiles(repo, { a: 'a' })
    const other = await commitFiles(repo, { b: 'b' })
    const head = await rebase(repo, { commits: [other], onto: main, committer: ben })
    expect(say(['ls-tree', '--name-only', head])).to.equal('a\nb')
    expect((await readCommit(repo, head)).parents).to.deep.equal([main])
  })

  describe('with decided contents', () => {
    const decided = (files: Readonly<Record<string, string | null>>) => ({
      decided: new Map(
        Object.entries(files).map(([path, text]) => [path, text === null ? null : Buffer.from(text)] as const),
      ),
    })

    /** Both sides write `a`. The source does so in its second commit, and again in its third. */
    const conflict = async () => {
      const { repo, git, say } = await bareRepo()
      const base = await commitFiles(repo, { a: 'x', b: 'x' })
      const main = await commitFiles(repo, { a: 'main', b: 'x' }, [base])
      const one = await commitFiles(repo, { a: 'x', b: 'one' }, [base], 'One')
      const two = await commitFiles(repo, { a: 'two', b: 'one' }, [one], 'Two')
      const three = await commitFiles(repo, { a: 'three', b: 'one', c: 'c' }, [two], 'Three')
      const run = (files: Readonly<Record<string, string | null>>) =>
        rebase(repo, { commits: [one, two, three], onto: main, committer: ben, ...decided(files) })
      return { repo, git, say, main, run }
    }

    it('gives a path its content from the first commit on that changes it, and keeps all commits', async () => {
      const { git, say, main, run } = await conflict()
      const head = await run({ a: 'both' })
      git(['update-ref', 'refs/heads/main', head])
      const commits = say(['rev-list', '--reverse', `${main}..${head}`]).split('\n')
      expect(commits.map((commit) => say(['log', '-1', '--format=%s %an %cn', commit]))).to.deep.equal([
        'One Änn Ben',
        'Two Änn Ben',
        'Three Änn Ben',
      ])
      expect(commits.map((commit) => say(['show', `${commit}:a`]))).to.deep.equal(['main', 'both', 'both'])
      expect(say(['ls-tree', '--name-only', head])).to.equal('a\nb\nc')
      expect(say(['fsck', '--full', '--strict', '--no-dangling'])).to.equal('')
    })

    it('can remove a file, and keep a commit that then changes nothing', async () => {
      const { say, main, run } = await conflict()
      const head = await run({ a: null, c: null })
      expect(say(['ls-tree', '--name-only', head])).to.equal('b')
      expect(say(['log', '--format=%s', `${main}..${head}`])).to.equal('Three\nTwo\nOne')
    })

    it('has no commit left if all of them together change nothing', async () => {
      const { main, run } = await conflict()
      expect(await run({ a: 'main', b: 'x', c: null })).to.equal(main)
    })

    it('refuses a path that no commit changes, and a conflict at another path', async () => {
      const { run } = await conflict()
      expect(await refusal(run({ a: 'both', d: 'd' }))).to.deep.include({ code: 'path_conflict', facts: { path: 'd' } })
      expect(await refusal(run({ b: 'b' }))).to.deep.include({ code: 'merge_conflict' })
    })
  })
})
