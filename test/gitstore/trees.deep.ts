/** Trees: differences and changes, with native git as the oracle. */

import { expect } from 'chai'
import fc from 'fast-check'
import { diffTrees, type TreeChange } from '../../gitstore/objects/diff.ts'
import { newObjectBatch } from '../../gitstore/objects/object-batch.ts'
import { applyChanges } from '../../gitstore/objects/tree-changes.ts'
import { comparePaths } from '../../gitstore/objects/tree-names.ts'
import { emptyTree, findEntry, listFiles, readTree, type TreeEntry } from '../../gitstore/objects/trees.ts'
import type { Oid } from '../../gitstore/repo.ts'
import { runs } from '../support/seed.ts'
import { bareRepo, latin, name, refusal, useFolder } from './bare-repo.ts'

const leaf = fc.record({
  mode: fc.constantFrom('100644', '100755', '120000', '160000'),
  content: fc.constantFrom('1', '2', '3'),
})

type Node = { mode: string; content: string } | { [name: string]: Node }

const { tree: anyTree } = fc.letrec<{ tree: { [name: string]: Node }; node: Node }>((tie) => ({
  tree: fc.dictionary(name, tie('node'), { maxKeys: 5 }),
  node: fc.oneof({ depthSize: 'small' }, leaf, tie('tree')),
}))

async function storeNode(draft: ReturnType<typeof newObjectBatch>, node: { [name: string]: Node }): Promise<Oid> {
  const entries: TreeEntry[] = []
  for (const [name, child] of Object.entries(node)) {
    if (typeof child.mode === 'string') {
      const blob = await draft.blob(Buffer.from(String(child.content)))
      entries.push({ name, mode: child.mode as TreeEntry['mode'], oid: blob })
    } else {
      const oid = await storeNode(draft, child as { [name: string]: Node })
      if (oid !== emptyTree) entries.push({ name, mode: '040000', oid })
    }
  }
  return draft.tree(entries)
}

describe('gitstore: trees', () => {
  useFolder()

  it('diffs any two trees as git diff-tree does', async () => {
    const { repo, git } = await bareRepo()
    await fc.assert(
      fc.asyncProperty(anyTree, anyTree, async (a, b) => {
        const draft = newObjectBatch(repo)
        const [from, to] = [await storeNode(draft, a), await storeNode(draft, b)]
        await draft.save()
        const raw = git(['diff-tree', '-r', '--raw', '-z', '--no-renames', '--full-index', from, to]).toString('latin1')
        expect((await diffTrees(repo, from, to)).map(rawLine).join('')).to.equal(raw)
        expect(await diffTrees(repo, null, to)).to.deep.equal(await diffTrees(repo, emptyTree, to))
        const listed = git(['ls-tree', '-r', '-z', to]).toString('latin1')
        const files = await listFiles(repo, to)
        expect(
          files.map((file) => `${file.mode} ${kindOf(file.mode)} ${file.oid}\t${latin(file.path)}\0`).join(''),
        ).to.equal(listed)
      }),
      { numRuns: runs(60) },
    )
  })

  it('applies changes as git builds a tree from its index', async () => {
    const { repo, git, say } = await bareRepo()
    const path = fc
      .array(fc.constantFrom('a', 'b', 'c.md', 'é'), { minLength: 1, maxLength: 3 })
      .map((names) => names.join('/'))
    const change = fc.record({ path, text: fc.option(fc.constantFrom('1', '2')) })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(change, { maxLength: 8 }), { maxLength: 4 }), async (rounds) => {
        let tree: Oid | null = null
        for (const round of rounds) {
          const draft = newObjectBatch(repo)
          const changes = []
          for (const { path, text } of round) {
            changes.push({ path, blob: text === null ? null : await draft.blob(Buffer.from(text)) })
          }
          const last = new Map(changes.map(({ path, blob }) => [path, blob]))
          const before: string[] = tree === null ? [] : (await listFiles(repo, tree)).map((file) => file.path)
          const after = [...new Set([...before, ...last.keys()])].filter((path) =>
            last.has(path) ? last.get(path) !== null : before.includes(path),
          )
          if (after.some((path) => after.some((other) => other.startsWith(`${path}/`)))) {
            expect(await refusal(applyChanges(draft, tree, changes))).to.have.property('code', 'path_conflict')
            continue
          }
          const result: Oid = await applyChanges(draft, tree, changes)
          await draft.save()
          git(['read-tree', tree ?? emptyTree])
          const lines = [...last].map(([path, blob]) => `${blob ? '100644' : '0'} ${blob ?? '0'.repeat(40)}\t${path}\0`)
          git(['update-index', '-z', '--index-info'], lines.sort((a, b) => a.localeCompare(b)).join(''))
          expect(result).to.equal(say(['write-tree']))
          tree = result
        }
      }),
      { numRuns: runs(40) },
    )
  })

  it('keeps an executable file executable and names of other bytes as they are', async () => {
    const { repo } = await bareRepo()
    const draft = newObjectBatch(repo)
    const [one, two] = [await draft.blob(Buffer.from('1')), await draft.blob(Buffer.from('2'))]
    const tree = await draft.tree([
      { name: 'run', mode: '100755', oid: one },
      { name: 'link', mode: '120000', oid: one },
      { name: '\udce9', mode: '100644', oid: one },
    ])
    const changes = ['run', 'link'].map((path) => ({ path, blob: two }))
    expect(await readTree(draft.repo, await applyChanges(draft, tree, changes))).to.deep.equal([
      { name: 'link', mode: '100644', oid: two },
      { name: 'run', mode: '100755', oid: two },
      { name: '\udce9', mode: '100644', oid: one },
    ])
    expect(await applyChanges(draft, tree, [])).to.equal(tree)
    expect(await applyChanges(draft, null, [{ path: 'no/such', blob: null }])).to.equal(emptyTree)
    expect(await refusal(applyChanges(draft, tree, [{ path: 'run/x', blob: one }]))).to.deep.equal({
      code: 'path_conflict',
      facts: { path: 'run' },
    })
    expect(await findEntry(draft.repo, tree, 'run/x')).to.equal(undefined)
  })

  it('refuses a dozen objects that stand for ten thousand million paths, with or without files', async () => {
    const { repo } = await bareRepo()
    const draft = newObjectBatch(repo)
    for (const seed of [[{ name: 'f', mode: '100644', oid: await draft.blob(Buffer.from('')) }], []] as TreeEntry[][]) {
      let tree = await draft.tree(seed)
      for (let i = 0; i < 10; i++) {
        const copies = Array.from({ length: 10 }, (_, n): TreeEntry => ({ name: String(n), mode: '040000', oid: tree }))
        tree = await draft.tree(copies)
      }
      expect(await refusal(listFiles(draft.repo, tree))).to.have.property('code', 'limit_exceeded')
      expect(await refusal(diffTrees(draft.repo, null, tree))).to.have.property('code', 'limit_exceeded')
    }
    let deep = await draft.tree([])
    for (let i = 0; i < 200; i++) deep = await draft.tree([{ name: 'd', mode: '040000', oid: deep }])
    expect(await refusal(listFiles(draft.repo, deep))).to.have.property('code', 'limit_exceeded')
    expect(await refusal(diffTrees(draft.repo, null, deep))).to.have.property('code', 'limit_exceeded')
  })

  it('orders paths by their bytes', () => {
    const paths = ['a', 'a/b', 'a.b', '\uff5e', '\u{1f333}', '\udcff', '\udc80', 'é']
    const bytes = (path: string) => Buffer.from(latin(path), 'latin1')
    expect([...paths].sort(comparePaths)).to.deep.equal([...paths].sort((a, b) => Buffer.compare(bytes(a), bytes(b))))
  })
})
function kindOf(mode: string) {
  return mode === '160000' ? 'commit' : 'blob'
}

function rawLine({ path, old, new: now }: TreeChange) {
  const none = { mode: '000000', oid: '0'.repeat(40) }
  const [a, b] = [old ?? none, now ?? none]
  const status = !old ? 'A' : !now ? 'D' : a.mode.slice(0, 2) === b.mode.slice(0, 2) ? 'M' : 'T'
  return `:${a.mode} ${b.mode} ${a.oid} ${b.oid} ${status}\0${latin(path)}\0`
}
