/** Where an export puts the notes: names that file systems take, each once, and the same again after an import. */

import { expect } from 'chai'
import fc from 'fast-check'
import { type LaidNode, layOut, TakenPaths } from '../../server/features/vault/write/layout.ts'
import { folded } from '../../server/markdown/note-names.ts'
import { fileOfSource, filePath } from '../../server/markdown/vault-paths.ts'

const title = fc.oneof(
  fc.constantFrom(
    ...[
      'A',
      'a',
      'B',
      'A.md',
      'a/b',
      'CON',
      'com1.txt',
      '.hidden',
      '..',
      '...',
      ' ',
      'index',
      'README',
      '_index',
      'node_modules',
    ],
    ...[
      'git~1',
      '.git',
      'é',
      'e\u0301',
      'ß',
      'SS',
      '👩‍👩‍👧 family',
      'x'.repeat(500),
      '語'.repeat(300),
      'what? *now*',
      'end.',
      'a\\b',
      '[[x]]',
    ],
  ),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
)
const source = fc.oneof(
  fc.constantFrom(
    ...[
      '.',
      'a.md',
      'A.md',
      'a',
      'a/index.md',
      'a/b.md',
      'a/B.md',
      'a.md/c.md',
      'a/README.md',
      '../x.md',
      '/x.md',
      'x//y.md',
      '.git/x.md',
    ],
    ...[
      '.hidden/a.md',
      'a/.b.md',
      'node_modules/a.md',
      'CON.md',
      'aux/a.md',
      'notes.txt',
      'https://example.org',
      '',
      'é.md',
      'e\u0301.md',
    ],
    `${'x'.repeat(300)}.md`,
  ),
  fc.constant(undefined),
)
const nodes = fc
  .array(fc.record({ title, source, parent: fc.option(fc.nat({ max: 14 }), { nil: undefined }) }), { maxLength: 15 })
  .map((list) =>
    list.map(
      ({ parent, ...node }, at): LaidNode => ({
        ...node,
        id: idAt(at),
        // Also of one that comes later, itself, or no node: mirrors hold what no rule allows.
        parent: parent === undefined ? undefined : idAt(parent),
      }),
    ),
  )

function idAt(at: number): string {
  return `01980a60-1f00-7a33-b2d4-${String(at * 7_919).padStart(12, '0')}`
}

describe('the places of exported notes', () => {
  it('are names that any file system takes, no two of them one', async () => {
    await fc.assert(
      fc.asyncProperty(nodes, async (list) => {
        const files = [...(await layOut(list, new TakenPaths())).values()]
        expect(files).to.have.length(list.length)
        expect(new Set(files.map(folded)).size).to.equal(files.length)
        for (const file of files) {
          expect(fileOfSource(file)).to.equal(file)
          for (const other of files) expect(folded(other).startsWith(`${folded(file)}/`)).to.equal(false)
        }
      }),
      { seed: 1, numRuns: 300 },
    )
  })

  it('do not depend on the order of the nodes, and are those of an import of them', async () => {
    await fc.assert(
      fc.asyncProperty(nodes, fc.infiniteStream(fc.nat()), async (list, random) => {
        const files = await layOut(list, new TakenPaths())
        const shuffled = list.map((node) => ({ node, rank: random.next().value })).sort((a, b) => a.rank - b.rank)
        const imported = shuffled.map(({ node }) => ({ ...node, source: files.get(node.id) }))
        expect(
          sorted(
            await layOut(
              shuffled.map(({ node }) => node),
              new TakenPaths(),
            ),
          ),
        ).to.deep.equal(sorted(files))
        expect(sorted(await layOut(imported, new TakenPaths()))).to.deep.equal(sorted(files))
      }),
      { seed: 2, numRuns: 300 },
    )
  })

  it('say what a user expects', async () => {
    const tree = ['The sea', 'Whales: big ones', 'Blue whale', 'Blue whale', 'README']
    const list = tree.map((name, at) => ({
      ...{ id: idAt(at), title: name, source: undefined },
      parent: at === 0 || at === 4 ? undefined : idAt(Math.min(at - 1, 1)),
    }))
    expect([...(await layOut(list, new TakenPaths())).values()].sort()).to.deep.equal([
      'README_.md',
      'The sea.md',
      'The sea/Whales big ones.md',
      'The sea/Whales big ones/Blue whale (00023757).md',
      'The sea/Whales big ones/Blue whale.md',
    ])
  })

  it('keep the names of files, unless an import would leave them out', () => {
    for (const path of ['a b.png', 'x/é.txt', 'LICENSE', 'a.tar.gz']) expect(filePath(path)).to.equal(path)
    expect(filePath('.obsidian/a?.json')).to.equal('_.obsidian/a_.json')
    expect(filePath('node_modules/NUL.txt')).to.equal('_node_modules/_NUL.txt')
  })
})

function sorted(files: ReadonlyMap<string, string>): [string, string][] {
  return [...files].sort()
}
