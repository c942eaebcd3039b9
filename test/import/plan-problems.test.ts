/** The plan of an import: attachments, and whatever lies in a folder. */

import { chmod, rm, symlink } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { at, attachments, connections, garden, nodeJson, org, plan, planOf, unresolved, useGardens } from './garden.ts'

/** Root may read everything, so it steps down for a while. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  const root = process.getuid?.() === 0
  if (root) process.seteuid?.(65_534)
  try {
    return await work()
  } finally {
    if (root) process.seteuid?.(0)
  }
}

describe('import: the plan', () => {
  useGardens()

  describe('attachments', () => {
    it('go to every node that shows or links to them, else to their folder', async () => {
      const planned = await plan({
        'a.md': '![[map.png|200]]',
        'b/b.md': '[the map](../img/map.png) <img src="../img/pin.svg">',
        'img/map.png': 'map',
        'img/pin.svg': 'pin',
        'img/alone.png': 'alone',
        'b/data.csv': '1,2',
      })
      expect(Object.fromEntries(planned.nodes.map(({ path }) => [path, attachments(planned, path)]))).to.deep.equal({
        '.': ['attachments/img/alone.png'],
        'a.md': ['attachments/img/map.png'],
        'b/b.md': ['attachments/b/data.csv', 'attachments/img/map.png', 'attachments/img/pin.svg'],
      })
      expect(at(planned, 'a.md').files.get('attachments/img/map.png')?.toString()).to.equal('map')
      expect(planned.counts.attachments).to.equal(4)
    })

    for (const [link, file, path] of [
      ['![](attachments/x.png)', 'n/attachments/x.png', 'attachments/x.png'],
      ['![](./img/x.png)', 'n/img/x.png', 'img/x.png'],
      ['![](img%20a.png)', 'n/img a.png', 'img a.png'],
      ['![](/static/x.png)', 'static/x.png', 'static/x.png'],
      ['![](x.png)', 'far/x.png', 'x.png'],
      ['![](img/../y/x.png#part)', 'n/y/x.png', 'y/x.png'],
      ['![](../img/x.png)', 'img/x.png', 'attachments/img/x.png'],
      ['![[x.png]]', 'img/x.png', 'attachments/img/x.png'],
      ['![[x.png]] ![](img/x.png)', 'n/img/x.png', 'img/x.png'],
      ['![](parents/x.png)', 'n/parents/x.png', 'attachments/n/parents/x.png'],
      ['![](Connections/x)', 'n/Connections/x', 'attachments/n/Connections/x'],
      ['[x](content.md)', 'n/content.md', 'attachments/n/content.md'],
      ['[x](NODE.json)', 'n/NODE.json', 'attachments/n/NODE.json'],
    ] as const)
      it(`lie where the text of n/note.md names them: ${link} of ${file} at ${path}`, async () => {
        const planned = await plan({ 'n/note.md': link, [file]: Buffer.from([0xff]) })
        expect([attachments(planned, 'n/note.md'), planned.unresolved]).to.deep.equal([[path], []])
      })

    it('keep to one spelling of the folder for those that no path is named for', async () => {
      const planned = await plan({
        'index.md': '![](Attachments/a.png) ![](x.png)',
        'Attachments/a.png': 'a',
        'Attachments/b.png': 'b',
        'y/x.png': 'x',
        'z.png': 'z',
      })
      expect(attachments(planned, 'index.md')).to.deep.equal([
        'Attachments/a.png',
        'Attachments/Attachments/b.png',
        'x.png',
        'Attachments/z.png',
      ])
      expect(planned.problems).to.deep.equal([])
    })

    it('that no repository can hold are named', async () => {
      const planned = await plan({ 'back\\slash.png': '', 'tab\t.png': '', 'git~1': '' })
      expect(planned.problems.map(({ path }) => path)).to.deep.equal(['back\\slash.png', 'git~1', 'tab\t.png'])
      expect(attachments(planned, '.')).to.deep.equal([])
    })

    it('whose names differ in case alone lie apart, in one node as well', async () => {
      const planned = await plan({
        'a.md': '![](IMG/x.png) ![](img/y.png)',
        'b.md': '![](img/y.png)',
        'IMG/x.png': '',
        'img/y.png': '',
      })
      expect([attachments(planned, 'a.md'), attachments(planned, 'b.md'), planned.problems]).to.deep.equal([
        ['IMG/x.png', 'attachments/img/y.png'],
        ['img/y.png'],
        [],
      ])
    })

    it('are named where a node has no room for the second of two such names', async () => {
      const planned = await plan({ 'a.md': '![[X.png]] ![[Y.png]]', 'IMG/X.png': '', 'img/Y.png': '' })
      expect(planned.problems).to.deep.equal([
        { path: 'img/Y.png', reason: 'not attached to a.md: but for case, IMG there has its name' },
      ])
    })
  })

  describe('a canvas', () => {
    const card = (id: string, file: string) => ({ id, type: 'file', file, x: 0, y: 0, width: 1, height: 1 })
    const canvas = JSON.stringify({
      nodes: [
        card('1', 'x/a.md'),
        card('2', 'b.md'),
        card('3', 'gone.md'),
        card('4', 'p.png'),
        { id: '5', type: 'text', text: '[[b]]' },
      ],
      edges: [
        { id: 'e', fromNode: '1', toNode: '2', label: 'leads to' },
        { id: 'f', fromNode: '2', toNode: '3' },
        { id: 'g', fromNode: '2', toNode: '4' },
        { id: 'h', fromNode: '5', toNode: '2' },
        { id: 'i', fromNode: '1', toNode: '2' },
        { id: 'j', fromNode: '1', toNode: '1' },
      ],
    })

    it('is a file of its folder; its edges connect the nodes of its cards', async () => {
      const planned = await plan({
        'x/a.md': '',
        'b.md': '',
        'p.png': '',
        'x/Map.canvas': canvas,
        'x/Table.base': 'views: []',
      })
      expect(connections(planned, 'x/a.md')).to.deep.equal(['canvas b.md "leads to"'])
      expect(connections(planned, 'b.md')).to.deep.equal([])
      expect(attachments(planned, 'x')).to.deep.equal(['attachments/x/Map.canvas', 'attachments/x/Table.base'])
      expect(unresolved(planned)).to.deep.equal(['x/Map.canvas: missing gone.md'])
    })

    it('that is none is kept and named; an empty one is one', async () => {
      const files = {
        'a.canvas': '{',
        'b.canvas': '[]',
        'c.canvas': '',
        'd.canvas': '{"edges": [{}]}',
        'e.canvas': '{}',
      }
      const { problems, counts } = await plan(files)
      const reason = 'is no canvas: kept as a file alone'
      expect(problems).to.deep.equal(['a', 'b', 'd'].map((name) => ({ path: `${name}.canvas`, reason })))
      expect(counts.attachments).to.equal(5)
    })
  })

  describe('what cannot be taken', () => {
    it('above 10 MiB is named, Markdown or not', async () => {
      const large = Buffer.alloc(10 * 1_048_576 + 1, 'x')
      const planned = await plan({ 'large.md': large, 'large.bin': large })
      expect(planned.problems).to.deep.equal([
        { path: 'large.bin', reason: 'larger than 10 MiB (10.0 MiB)' },
        { path: 'large.md', reason: 'larger than 10 MiB (10.0 MiB)' },
      ])
      expect(planned.nodes.map(({ path }) => path)).to.deep.equal(['.'])
    })

    it('as text, not being UTF-8, is named and kept as an attachment', async () => {
      const planned = await plan({ 'latin.md': Buffer.from([0x63, 0x61, 0x66, 0xe9]), 'note.md': '[x](latin.md)' })
      expect(planned.problems).to.deep.equal([{ path: 'latin.md', reason: 'not UTF-8: kept as an attachment' }])
      expect(attachments(planned, 'note.md')).to.deep.equal(['latin.md'])
    })

    it('belongs to tools: dot names and node_modules', async () => {
      const planned = await plan({
        '.obsidian/app.json': '',
        '.git/x.md': '',
        'node_modules/p/README.md': '',
        '.env': '',
        'a.md': '',
      })
      expect([planned.nodes.length, planned.counts.files, planned.problems]).to.deep.equal([2, 1, []])
    })

    it('lies behind a symbolic link; one to an imported file is another name of it', async () => {
      const folder = await garden({ 'README.md': '', 'docs/note.md': '[x](index.md)' })
      await symlink('../README.md', join(folder, 'docs/index.md'))
      await symlink('/etc/hostname', join(folder, 'outside.md'))
      await symlink('..', join(folder, 'docs/loop'))
      await symlink('nowhere', join(folder, 'broken.md'))
      const planned = await planOf(folder, org)
      expect(connections(planned, 'docs/note.md')).to.deep.equal(['links_to README.md "x"'])
      expect(planned.problems).to.deep.equal(
        ['broken.md', 'docs/loop', 'outside.md'].map((path) => ({
          path,
          reason: 'a symbolic link to no imported file: not followed',
        })),
      )
    })

    it('is unreadable', async () => {
      const folder = await garden({ 'a.md': '', 'b/c.md': '' })
      await chmod(dirname(folder), 0o755)
      await chmod(join(folder, 'a.md'), 0)
      await chmod(join(folder, 'b'), 0)
      const { problems } = await asNobody(() => planOf(folder, org))
      await chmod(join(folder, 'b'), 0o700)
      expect(problems).to.deep.equal(
        ['a.md', 'b/'].map((path) => ({ path, reason: 'cannot be read: EACCES: permission denied' })),
      )
    })

    it('of a very long text is the links behind its first 2 MiB', async () => {
      const planned = await plan({ 'a.md': '', 'note.md': `[[a]]\n\n${'word '.repeat(500_000)}\n\n[[gone]]` })
      expect(connections(planned, 'note.md')).to.deep.equal(['links_to a.md'])
      expect(planned.problems.map(({ reason }) => reason)).to.deep.equal([
        'longer than 2 MiB: kept whole, but headings, links and tags are of its beginning',
      ])
    })
  })

  it('plans, whatever lies in the folder, a graph that the rules accept, and loses no file', async () => {
    await fc.assert(fc.asyncProperty(gardens(), acceptable), { numRuns: 150 })
  })
})

/** Small folders in which names, cases and links collide. */
function gardens(): fc.Arbitrary<Record<string, string>> {
  const name = fc.constantFrom(
    'a',
    'A',
    'b',
    'index',
    'README',
    'x y',
    'é',
    'e\u0301',
    'node_modules',
    '.dot',
    'a.md',
    'ß',
    'SS',
  )
  const ending = fc.constantFrom('.md', '.md', '.mdx', '.MD', '.png', '')
  const path = fc
    .tuple(fc.array(name, { maxLength: 3 }), name, ending)
    .map(([folders, file, end]) => [...folders, file + end].join('/'))
  const word = fc.oneof(
    fc.constantFrom(
      '---\n',
      'title: t\n',
      'tags: [a, A]\n',
      'aliases: b\n',
      '# H\n',
      '\n\n',
      '```\n',
      '#tag ',
      '<!-- ',
      '-->',
    ),
    path.map((target) => `[[${target}]] `),
    path.map((target) => `![[${target}|w]] `),
    path.map((target) => `[w](<../${target}>) `),
    fc.string(),
  )
  return fc
    .dictionary(
      path,
      fc.array(word, { maxLength: 8 }).map((words) => words.join('')),
      { maxKeys: 12 },
    )
    .map(writable)
}

/** Without files that stand where others need a folder. */
function writable(files: Record<string, string>): Record<string, string> {
  const paths = Object.keys(files)
  return Object.fromEntries(
    Object.entries(files).filter(([path]) => !paths.some((other) => other.startsWith(`${path}/`))),
  )
}

async function acceptable(files: Record<string, string>): Promise<void> {
  const folder = await garden(files)
  const planned = await planOf(folder, org)
  expect(await planOf(folder, org)).to.deep.equal(planned)
  const known = new Set<string>()
  const ids = new Set(planned.nodes.map((node) => node.id))
  expect(ids.size).to.equal(planned.nodes.length)
  for (const node of planned.nodes) {
    // Parents come before, so there is no cycle.
    for (const parent of node.parents) expect(known.has(parent)).to.equal(true)
    known.add(node.id)
    const { title, tags } = nodeJson(node)
    expect(title).to.equal(node.title).and.match(/\S/)
    expect(tags).to.have.length.at.most(100)
    for (const [path, bytes] of node.files) {
      if (!path.startsWith('connections/')) continue
      const { target, type } = JSON.parse(bytes.toString())
      expect(path).to.match(/^connections\/[A-Za-z0-9_-]{1,64}\.json$/)
      expect([ids.has(target), target === node.id, ['links_to', 'embeds'].includes(type)]).to.deep.equal([
        true,
        false,
        true,
      ])
    }
  }
  const taken = new Set([
    ...planned.nodes.map((node) => node.path),
    ...planned.nodes.flatMap((node) => [...node.files.keys()].map((path) => path.replace('attachments/', ''))),
    ...planned.nodes.flatMap(({ path, files }) =>
      [...files.keys()].map((name) => posix.join(posix.dirname(path), name)),
    ),
    ...planned.problems.map(({ path }) => path),
  ])
  const lost = Object.keys(files).filter((path) => !/(^|\/)(\.|node_modules($|\/))/.test(path) && !taken.has(path))
  expect(lost).to.deep.equal([])
  await rm(folder, { recursive: true })
}
