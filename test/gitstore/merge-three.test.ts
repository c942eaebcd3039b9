/** Merging three trees, with `git merge-tree` as the oracle. */

import { execFileSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { mergeThreeTrees } from '../../gitstore/history/merge-three.ts'
import { runningGits } from '../../gitstore/native.ts'
import { readCommit } from '../../gitstore/objects/commits.ts'
import { readBlob } from '../../gitstore/objects/objects.ts'
import { findEntry, listFiles } from '../../gitstore/objects/trees.ts'
import { until } from '../support/until.ts'
import { bareRepo, commitFiles, refusal, useFolder } from './bare-repo.ts'

const paths = ['a', 'b', 'd/a', 'd/b', 'e']

/** Lines of a file, of which sides replace, remove and move a few. Equal lines are frequent. */
const linesArbitrary = fc.array(fc.constantFrom('x', 'y', 'z', '', '## h'), { minLength: 4, maxLength: 14 })
const filesArbitrary = fc.dictionary(fc.constantFrom(...paths), linesArbitrary, { minKeys: 2, noNullPrototype: true })
interface Edit {
  readonly path: number
  readonly at: number
  readonly remove: number
  readonly insert: readonly string[]
  readonly isDeletion: boolean
}

const editArbitrary: fc.Arbitrary<Edit> = fc.record({
  path: fc.nat(4),
  at: fc.nat(12),
  remove: fc.nat(2),
  insert: fc.array(fc.constantFrom('x', 'new', 'other'), { maxLength: 2 }),
  isDeletion: fc.nat(9).map((n) => n === 0),
})
const sideArbitrary = fc.array(editArbitrary, { minLength: 1, maxLength: 3 })

type Files = Record<string, string[]>

function edited(files: Files, edits: readonly Edit[]): Files {
  const after = structuredClone(files)
  for (const { path, at, remove, insert, isDeletion } of edits) {
    const names = Object.keys(after)
    const name = names[path % names.length]
    if (name === undefined) continue
    if (isDeletion) delete after[name]
    else after[name]?.splice(at, remove, ...insert)
  }
  return after
}

const asText = (files: Files) =>
  Object.fromEntries(Object.entries(files).map(([path, lines]) => [path, lines.map((line) => `${line}\n`).join('')]))

describe('gitstore: a merge of three trees', () => {
  useFolder()

  it.deep('makes what git makes, and saves nothing', async () => {
    const { repo, git, say } = await bareRepo()
    const tried = fc.sample(fc.tuple(filesArbitrary, sideArbitrary, sideArbitrary), { numRuns: 60, seed: 35 })
    const commits = []
    for (const [files, ours, theirs] of tried) {
      const base = await commitFiles(repo, asText(files))
      commits.push({
        base,
        ours: await commitFiles(repo, asText(edited(files, ours)), [base], 'ours'),
        theirs: await commitFiles(repo, asText(edited(files, theirs)), [base], 'theirs'),
      })
    }
    const before = say(['count-objects'])
    const merged = []
    for (const { base, ours, theirs } of commits) {
      const trees = await Promise.all([base, ours, theirs].map(async (oid) => (await readCommit(repo, oid)).tree))
      const [b = '', o = '', t = ''] = trees
      const result = await mergeThreeTrees(repo, { base: b, ours: o, theirs: t })
      const { conflicts, repo: reader } = { conflicts: undefined, repo: undefined, ...result }
      const files = 'tree' in result && reader ? await listFiles(reader, result.tree) : []
      for (const { oid } of files) await readBlob(reader ?? repo, oid)
      merged.push('tree' in result ? { tree: result.tree } : { conflicts })
    }
    expect(say(['count-objects'])).to.equal(before)
    expect((await readdir(repo.dir)).filter((name) => name.startsWith('quarantine'))).to.deep.equal([])

    const options = ['merge-tree', '--write-tree', '--name-only', '--no-messages', '--stdin']
    const answer = git(options, commits.map(({ ours, theirs }) => `${ours} ${theirs}\n`).join('')).toString('utf8')
    const byGit = [...answer.matchAll(/([01])\0([0-9a-f]{40})\0((?:[^\0]+\0)*)\0?/g)].map(([, clean, tree, names]) =>
      clean === '1' ? { tree } : { conflicts: [...new Set(names?.split('\0').filter(Boolean))].sort() },
    )
    expect(merged).to.deep.equal(byGit)
    const clean = byGit.filter((one) => 'tree' in one).length
    expect(clean).to.be.within(10, 50)
  })

  it('has the merged tree and its new files pending', async () => {
    const { repo, say } = await bareRepo()
    const text = (first: string, last: string) => `${first}\n2\n3\n4\n5\n6\n${last}\n`
    const base = await commitFiles(repo, { 'd/a': text('1', '7') })
    const ours = await commitFiles(repo, { 'd/a': text('one', '7') }, [base])
    const theirs = await commitFiles(repo, { 'd/a': text('1', 'seven') }, [base])
    const treeOf = async (oid: string) => (await readCommit(repo, oid)).tree
    const trees = { base: await treeOf(base), ours: await treeOf(ours), theirs: await treeOf(theirs) }
    const merged = await mergeThreeTrees(repo, trees)
    if (!('tree' in merged)) throw new Error('It conflicts')
    const entry = await findEntry(merged.repo, merged.tree, 'd/a')
    expect((await readBlob(merged.repo, entry?.oid ?? '')).toString()).to.equal(text('one', 'seven'))
    expect(await refusal(readBlob(repo, entry?.oid ?? ''))).to.have.property('code', 'object_missing')
    expect(await mergeThreeTrees(repo, { ...trees, ours: trees.theirs })).to.have.property('tree', trees.theirs)
    expect(say(['fsck', '--full', '--strict', '--no-dangling'])).to.equal('')
  })

  it('ends when its caller leaves, and when git takes too long', async () => {
    const { repo, git } = await bareRepo()
    const treeOf = async (text: string) => (await readCommit(repo, await commitFiles(repo, { a: text }))).tree
    const trees = {
      base: await treeOf('1\n2\n3\n'),
      ours: await treeOf('1\n2\n0\n'),
      theirs: await treeOf('0\n2\n3\n'),
    }
    const gone = new Error('gone')
    expect(await mergeThreeTrees(repo, trees, { signal: AbortSignal.abort(gone) }).catch((error) => error)).to.equal(
      gone,
    )

    // Git waits for a writer of its configuration, for ever.
    execFileSync('mkfifo', [join(repo.dir, 'pipe')])
    git(['config', 'include.path', join(repo.dir, 'pipe')])
    const caller = new AbortController()
    const left = mergeThreeTrees(repo, trees, { signal: caller.signal }).catch((error) => error)
    await until(() => runningGits() === 1)
    caller.abort(gone)
    expect(await left).to.equal(gone)
    const slow = await refusal(mergeThreeTrees(repo, trees, { timeoutMs: 100 }))
    expect({ code: slow?.code, timedOut: slow?.facts.timedOut }).to.deep.equal({
      code: 'native_failed',
      timedOut: true,
    })
    expect((await readdir(repo.dir)).filter((name) => name.startsWith('quarantine'))).to.deep.equal([])
  })
})
