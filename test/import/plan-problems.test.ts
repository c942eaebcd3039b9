/** The plan of an import: whatever lies in a folder. */

import { chmod, rm, symlink } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { runs } from '../support/seed.ts'
import { attachments, connections, garden, nodeJson, org, plan, planOf, useGardens } from './garden.ts'

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

  describe('what cannot be taken', () => {
    it('above 10 MiB is named, Markdown or not', async () => {
      const large = Buffer.alloc(10 * 1_048_576 + 1, 'x')
      const planned = await plan({ 'large.md': large, 'large.bin': large })
      expect(planned.problems).to.deep.equal([
        { path: 'large.bin', reason: 'is larger than 10 MiB (10.0 MiB)' },
        { path: 'large.md', reason: 'is larger than 10 MiB (10.0 MiB)' },
      ])
      expect(planned.nodes.map(({ path }) => path)).to.deep.equal(['.'])
    })

    it('of a title or of tags is named, and stays in the note', async () => {
      const tags = Array.from({ length: 150 }, (_, at) => `t${at}`)
      const planned = await plan({
        'a.md': `---\ntitle: ${'x'.repeat(700)}\ntags: [${tags.join(', ')}]\n---\nText #inline\n`,
        'b.md': `# ${'y'.repeat(600)}\n`,
        'c.md': `---\ntags: [fits, ${'z'.repeat(120)}]\n---\n`,
      })
      expect(planned.problems).to.deep.equal([
        { path: 'a.md', reason: 'its title is cut to 500 of 700 characters' },
        {
          path: 'a.md',
          reason:
            '51 of its tags are left out, because a node has at most 100 tags of 100 characters: t100, t101, t102, …',
        },
        { path: 'b.md', reason: 'its title is cut to 500 of 600 characters' },
        {
          path: 'c.md',
          reason: `1 of its tags is left out, because a node has at most 100 tags of 100 characters: ${'z'.repeat(100)}`,
        },
      ])
      expect(
        JSON.parse(
          planned.nodes
            .find(({ path }) => path === 'a.md')
            ?.files.get('node.json')
            ?.toString() ?? '',
        ).properties,
      ).to.deep.include({ title: 'x'.repeat(700), tags })
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
          reason: 'symbolic link to a file that is not imported: skipped',
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
        'longer than 2 MiB: the whole text is kept, but headings, links and tags are only those of its beginning',
      ])
    })
  })

  it('plans a graph that the rules accept for any folder, and loses no file', async () => {
    await fc.assert(fc.asyncProperty(gardens(), acceptable), { numRuns: runs(80) })
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
