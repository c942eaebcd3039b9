/** Merging trees in this process, against `git merge-tree`. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { mergeTrees } from '../../gitstore/history/tree-merge.ts'
import { newObjectBatch } from '../../gitstore/objects/object-batch.ts'
import type { Repo } from '../../gitstore/repo.ts'
import { environment } from '../support/git.ts'

/** Text that is long enough for git to see a rename, by its number. */
const contentOf = (n: number) => `${Array.from({ length: 12 }, (_, line) => `content ${n}, line ${line}`).join('\n')}\n`

type Files = Readonly<Record<string, number>>

/** The changes of one side: writes a file, removes one, moves one or a folder. */
interface Edit {
  readonly kind: 'write' | 'remove' | 'move' | 'move folder'
  readonly path: string
  readonly to: string
  readonly content: number
}

const pathArbitrary = fc.constantFrom('a', 'b', 'c', 'd/a', 'd/b', 'd/e/a', 'd/e/b', 'f/a', 'f/g/a', 'h/a')
const folderArbitrary = fc.constantFrom('d', 'd/e', 'f', 'f/g', 'h')
const filesArbitrary: fc.Arbitrary<Files> = fc
  .dictionary(pathArbitrary, fc.nat(9), { minKeys: 3, maxKeys: 9, noNullPrototype: true })
  .map((files) => ({ keep: 99, ...files }))
const editArbitrary: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('write', 'write', 'remove', 'move'),
    path: pathArbitrary,
    to: pathArbitrary,
    content: fc.nat(19),
  }),
  fc.record({
    kind: fc.constant('move folder' as const),
    path: folderArbitrary,
    to: folderArbitrary,
    content: fc.nat(19),
  }),
)
const caseArbitrary = fc.record({
  base: filesArbitrary,
  ours: fc.array(editArbitrary, { minLength: 1, maxLength: 3 }),
  theirs: fc.array(editArbitrary, { minLength: 1, maxLength: 3 }),
})

const cases = 600

describe('gitstore: a merge of trees in this process', () => {
  let dir: string
  let repo: Repo

  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'grove-trees-'))
    repo = { dir: join(dir, 'a.git') }
    execFileSync('git', ['init', '-q', '--bare', repo.dir])
  })
  after(() => rmSync(dir, { recursive: true, force: true }))

  const git = (args: readonly string[], input = '') =>
    execFileSync('git', args, { env: environment(repo.dir), input, stdio: ['pipe', 'pipe', 'pipe'], maxBuffer: 1e8 })

  it.deep('makes what git makes, or leaves it to git; it never takes a conflict for a merge', async () => {
    const tried = fc.sample(caseArbitrary, { numRuns: cases, seed: 7 }).map(({ base, ours, theirs }) => ({
      base,
      ours: ours.reduce(edited, base),
      theirs: theirs.reduce(edited, base),
    }))
    const commits = tried.flatMap(({ base, ours, theirs }, n) => [
      commitOf(`refs/t/${n}/base`, 3 * n + 1, base),
      commitOf(`refs/t/${n}/ours`, 3 * n + 2, ours, 3 * n + 1),
      commitOf(`refs/t/${n}/theirs`, 3 * n + 3, theirs, 3 * n + 1),
    ])
    git(['fast-import', '--quiet'], commits.join(''))
    const trees = linesOf(git(['for-each-ref', '--format=%(refname) %(tree) %(objectname)', 'refs/t']))
    const treeOf = new Map(trees.map((line) => [line.split(' ')[0], line.split(' ')[1] ?? '']))
    const commitAt = new Map(trees.map((line) => [line.split(' ')[0], line.split(' ')[2] ?? '']))
    const pairs = tried.map((_, n) => `${commitAt.get(`refs/t/${n}/ours`)} ${commitAt.get(`refs/t/${n}/theirs`)}\n`)
    const answers = git(['merge-tree', '--write-tree', '--name-only', '--stdin'], pairs.join(''))
    const byGit = parseAnswers(answers.toString())
    expect(byGit).to.have.length(cases)

    let merged = 0
    for (const [n, native] of byGit.entries()) {
      const [base = '', ours = '', theirs = ''] = ['base', 'ours', 'theirs'].map((side) =>
        treeOf.get(`refs/t/${n}/${side}`),
      )
      const tree = await mergeTrees(newObjectBatch(repo), { base, ours, theirs }, { entries: 1_000 })
      if (tree === undefined) continue
      merged++
      expect(native, `${n}: ${JSON.stringify(tried[n])}`).to.deep.equal({ clean: true, tree })
    }
    // Enough of both kinds that the comparison says something.
    expect(merged).to.be.within(cases / 10, (9 * cases) / 10)
    expect(byGit.filter(({ clean }) => !clean)).to.have.length.greaterThan(cases / 10)
  })

  it('ends where trees have more entries than it may read', async () => {
    const draft = newObjectBatch(repo)
    const blob = await draft.blob(Buffer.from('x'))
    const treeOf = (...names: string[]) =>
      draft.tree(names.map((name) => ({ name, mode: '100644' as const, oid: blob })))
    const [base, ours, theirs] = [await treeOf('a', 'b'), await treeOf('a', 'b', 'c'), await treeOf('a', 'b', 'd')]
    expect(await mergeTrees(draft, { base, ours, theirs }, { entries: 12 })).to.equal(await treeOf('a', 'b', 'c', 'd'))
    const refused = await mergeTrees(draft, { base, ours, theirs }, { entries: 11 }).catch((error) => error.code)
    expect(refused).to.equal('limit_exceeded')
  })
})

/** Where the edit makes no sense, the files as they are. */
function edited(files: Files, { kind, path, to, content }: Edit): Files {
  if (kind === 'write') return written(files, path, content)
  const { [path]: moved, ...rest } = files
  if (kind === 'remove') return rest
  if (kind === 'move') return moved === undefined ? files : written(rest, to, moved)
  if (to === path || to.startsWith(`${path}/`)) return files
  let after = files
  for (const [name, number] of Object.entries(files)) {
    if (!name.startsWith(`${path}/`)) continue
    const { [name]: _, ...others } = after
    after = written(others, `${to}${name.slice(path.length)}`, number)
  }
  return after
}

/** Without what cannot be beside it: a file in the place of one of its folders. */
function written(files: Files, path: string, content: number): Files {
  const kept = Object.entries(files).filter(([name]) => !name.startsWith(`${path}/`) && !path.startsWith(`${name}/`))
  return { ...Object.fromEntries(kept), [path]: content }
}

function commitOf(ref: string, mark: number, files: Files, parent?: number): string {
  const lines = Object.entries(files).map(([path, n]) => {
    const text = contentOf(n)
    return `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}`
  })
  const from = parent === undefined ? '' : `from :${parent}\n`
  return `commit ${ref}\nmark :${mark}\ncommitter A <a@x.org> 1700000000 +0000\ndata 0\n${from}deleteall\n${lines.join('')}\n`
}

/** `<clean>\0<tree>\0<conflicted paths…>\0\0<messages…>\0` for each pair. */
function parseAnswers(text: string): { clean: boolean; tree: string }[] {
  const found = text.matchAll(/(?:^|\0)([01])\0([0-9a-f]{40})\0/g)
  return [...found].map(([, clean, tree]) => ({ clean: clean === '1', tree: tree ?? '' }))
}

function linesOf(output: Buffer): string[] {
  return output.toString().split('\n').filter(Boolean)
}
