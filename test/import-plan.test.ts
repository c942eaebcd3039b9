import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { type Plan, type PlannedNode, planImport } from '../server/import/plan.ts'
import { progressOn } from '../server/import/progress.ts'

const org = '8f14e45f-ceea-467f-a1d3-0c6f9b1f2a11'
const folders: string[] = []

/** A folder `Garden` with these files. */
async function garden(files: Record<string, string | Buffer>): Promise<string> {
  const temporary = await mkdtemp(join(tmpdir(), 'grove-import-'))
  folders.push(temporary)
  const folder = join(temporary, 'Garden')
  await mkdir(folder)
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  return folder
}

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

async function plan(files: Record<string, string | Buffer>): Promise<Plan> {
  return planImport(await garden(files), org)
}

function at({ nodes }: Plan, path: string): PlannedNode {
  const node = nodes.find((one) => one.path === path)
  if (!node) throw new Error(`no node ${path} among ${nodes.map((one) => one.path).join(', ')}`)
  return node
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the node says
function nodeJson(node: PlannedNode): any {
  return JSON.parse(node.files.get('node.json')?.toString() ?? '')
}

/** `type path "label"` of each connection, in order of the target's path. */
function connections(plan: Plan, path: string): string[] {
  const files = [...at(plan, path).files].filter(([name]) => name.startsWith('connections/'))
  return files
    .map(([, bytes]) => JSON.parse(bytes.toString()))
    .map(({ target, type, label }) => ({
      type,
      label,
      path: plan.nodes.find((node) => node.id === target)?.path ?? '?',
    }))
    .map(({ type, label, path }) => [type, path, ...(label === undefined ? [] : [JSON.stringify(label)])].join(' '))
    .sort((a, b) => a.localeCompare(b))
}

function parentOf(plan: Plan, path: string): string | undefined {
  return plan.nodes.find((node) => node.id === at(plan, path).parents[0])?.path
}

function attachments(plan: Plan, path: string): string[] {
  return [...at(plan, path).files.keys()].filter((name) => name.startsWith('attachments/'))
}

async function titleOf(content: string, path = 'note.md'): Promise<string> {
  return at(await plan({ [path]: content }), path).title
}

/** What one note that says `content` is connected to, among these others. */
async function links(content: string, ...others: string[]): Promise<string[]> {
  return connections(
    await plan({ ...Object.fromEntries(others.map((path) => [path, ''])), 'note.md': content }),
    'note.md',
  )
}

describe('import: the plan', () => {
  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
  })

  describe('folders give parents', () => {
    it('plans a node for each Markdown file and each folder that holds one', async () => {
      const planned = await plan({ 'a/b/deep.md': '', 'top.md': '', 'c/picture.png': '' })
      expect(planned.nodes.map(({ path, title }) => [path, title, parentOf(planned, path)])).to.deep.equal([
        ['.', 'Garden', undefined],
        ['a', 'A', '.'],
        ['a/b', 'B', 'a'],
        ['a/b/deep.md', 'Deep', 'a/b'],
        ['top.md', 'Top', '.'],
      ])
      expect(planned.counts).to.deep.equal({
        files: 3,
        nodes: 5,
        parents: 4,
        connections: 0,
        attachments: 1,
        unresolvedLinks: 0,
      })
    })

    for (const index of ['index.md', 'README.md', '_index.md', 'guide.md', 'Index.MD', 'readme.mdx'])
      it(`takes ${index} in a folder for the folder`, async () => {
        const planned = await plan({ [`guide/${index}`]: '', 'guide/part.md': '' })
        expect(planned.nodes.map(({ path }) => [path, parentOf(planned, path)])).to.deep.equal([
          ['.', undefined],
          [`guide/${index}`, '.'],
          ['guide/part.md', `guide/${index}`],
        ])
      })

    it('takes a note beside a folder of its name for the folder, even of attachments alone', async () => {
      const planned = await plan({ 'guide.md': '', 'guide/part.md': '', 'trip.md': '', 'trip/map.png': '' })
      expect(planned.nodes.map(({ path }) => [path, parentOf(planned, path)])).to.deep.equal([
        ['.', undefined],
        ['guide.md', '.'],
        ['trip.md', '.'],
        ['guide/part.md', 'guide.md'],
      ])
      expect(attachments(planned, 'trip.md')).to.deep.equal(['attachments/trip/map.png'])
    })

    it('prefers index to README, which is then a page like others', async () => {
      const planned = await plan({ 'guide/index.md': '', 'guide/README.md': '' })
      expect(parentOf(planned, 'guide/README.md')).to.equal('guide/index.md')
      expect([at(planned, 'guide/index.md').title, at(planned, 'guide/README.md').title]).to.deep.equal([
        'Guide',
        'README',
      ])
    })

    it('does not make a note its own parent where folders repeat its name', async () => {
      const planned = await plan({ 'a/a.md': '', 'a/a/a.md': '', 'index.md': '', 'index/page.md': '' })
      expect(planned.nodes.map(({ path }) => [path, parentOf(planned, path)])).to.deep.equal([
        ['index.md', undefined],
        ['a/a.md', 'index.md'],
        ['a/a/a.md', 'a/a.md'],
        ['index', 'index.md'],
        ['index/page.md', 'index'],
      ])
    })

    it('plans one node for an empty folder', async () => {
      expect((await plan({})).nodes.map(({ path, title }) => [path, title])).to.deep.equal([['.', 'Garden']])
    })
  })

  describe('a second run', () => {
    it('gives the same bytes', async () => {
      const folder = await garden({
        'a.md': '---\ntags: [x]\n---\n[[b]] #y',
        'b/index.md': '![](p.png)',
        'b/p.png': 'png',
      })
      expect(await planImport(folder, org)).to.deep.equal(await planImport(folder, org))
    })

    it('finds a folder again that has got an index, and a note that has got a folder', async () => {
      const before = await plan({ 'guide/part.md': '', 'trip.md': '' })
      const after = await plan({ 'guide/part.md': '', 'guide/README.md': '', 'trip.md': '', 'trip/day.md': '' })
      expect(at(after, 'guide/README.md').id).to.equal(at(before, 'guide').id)
      expect(at(after, 'trip.md').id).to.equal(at(before, 'trip.md').id)
    })

    it('gives another organisation other nodes', async () => {
      const folder = await garden({ 'a.md': '' })
      const other = await planImport(folder, '3c59dc04-8e88-4024-bbe8-079a5c74d079')
      expect(at(other, 'a.md').id).not.to.equal(at(await planImport(folder, org), 'a.md').id)
    })

    it('keeps apart files whose names differ in ending alone', async () => {
      const planned = await plan({ 'a.md': '', 'a.mdx': '', 'a.markdown': '', 'a/index.md': '' })
      expect(new Set(planned.nodes.map((node) => node.id)).size).to.equal(5)
      const before = await plan({ 'a.md': '', 'a.mdx': '' })
      expect(at(planned, 'a.mdx').id).to.equal(at(before, 'a.mdx').id)
    })
  })

  describe('titles', () => {
    it('come from front matter first', async () => {
      expect(await titleOf('---\ntitle: Front\n---\n# Heading')).to.equal('Front')
      expect(await titleOf('---\ntitle: 1.10\n---\n# Heading')).to.equal('1.10')
    })

    for (const [form, text] of Object.entries({
      'an ATX heading': '## Before\n\n# The *big* `thing` {#big}\n\n# Second',
      'a setext heading': 'The *big* `thing`\n===',
      'an HTML heading': '<h1 align="center">\n  <img src="x.png">\n  The big <b>thing</b>\n</h1>',
      'a heading of a link': '# [The big thing](https://example.org)',
      'a heading with a badge': '# The big thing [![build](b.svg)](https://example.org)',
      'a heading that is a picture': '# ![The big thing](logo.svg)',
    }))
      it(`come from ${form}`, async () => {
        expect(await titleOf(text)).to.equal('The big thing')
      })

    it('do not come from code or a quotation', async () => {
      expect(await titleOf('```\n# code\n```\n> # quoted\n\n<!-- <h1>hidden</h1> -->')).to.equal('Note')
    })

    for (const [path, title] of Object.entries({
      'getting-started.md': 'Getting started',
      'api_v2.md': 'Api v2',
      'My idea - draft.md': 'My idea - draft',
      'Zwei-Faktor.md': 'Zwei-Faktor',
      '2024-01-05.md': '2024-01-05',
      'v1.2.md': 'v1.2',
      'guide/README.md': 'Guide',
    }))
      it(`come from the name: ${path} is '${title}'`, async () => {
        expect(await titleOf('no heading', path)).to.equal(title)
      })

    it('are one line of at most 500 characters, the whole kept as a property', async () => {
      const long = `${'🌳'.repeat(300)}`
      const node = at(await plan({ 'note.md': `---\ntitle: ${long}\n---\n` }), 'note.md')
      expect(node.title).to.equal('🌳'.repeat(250))
      expect(nodeJson(node).properties.title).to.equal(long)
    })
  })

  describe('front matter', () => {
    it('becomes properties, dates as they are written; the text follows without it', async () => {
      const yaml =
        'title: T\ndate: 2024-01-05\nat: 2024-01-05T10:00:00Z\nbig: 12345678901234567890\nn: 1.5\nok: true\nlist: [a, {b: null}]'
      const node = at(await plan({ 'note.md': `---\n${yaml}\n---\nText\n` }), 'note.md')
      expect(node.files.get('node.json')?.toString()).to.equal(`{
  "title": "T",
  "tags": [],
  "properties": {
    "date": "2024-01-05",
    "at": "2024-01-05T10:00:00Z",
    "big": "12345678901234567890",
    "n": 1.5,
    "ok": true,
    "list": [
      "a",
      {
        "b": null
      }
    ],
    "source_path": "note.md"
  }
}
`)
      expect(node.files.get('content.md')?.toString()).to.equal('Text\n')
    })

    for (const [form, yaml] of Object.entries({
      'a list': 'tags: ["#one", two, Two, 3]',
      'words with commas': 'tags: one, two, 3',
      'words with spaces': 'tags: one two 3',
      'the older key': 'tag: [one, two, 3]',
    }))
      it(`gives tags from ${form}`, async () => {
        expect(nodeJson(at(await plan({ 'note.md': `---\n${yaml}\n---\n` }), 'note.md'))).to.deep.include({
          tags: ['one', 'two', '3'],
          properties: { source_path: 'note.md' },
        })
      })

    it('keeps tags that do not fit as a property too', async () => {
      const tags = ['x'.repeat(101), 'fits']
      const { tags: placed, properties } = nodeJson(
        at(await plan({ 'note.md': `---\ntags: [${tags}]\n---\n` }), 'note.md'),
      )
      expect([placed, properties.tags]).to.deep.equal([['fits'], tags])
    })

    it('that has __proto__ pollutes nothing and is kept', async () => {
      const node = at(await plan({ 'note.md': '---\n__proto__:\n  polluted: 1\n---\n' }), 'note.md')
      expect(node.files.get('node.json')?.toString()).to.include('"__proto__": {\n      "polluted": 1')
      expect({}).not.to.have.property('polluted')
    })

    for (const [form, head, reason] of [
      ['malformed YAML', '---\na: [1\n---\n', /left in the text: .* line 3/],
      ['a list', '---\n- a\n---\n', /it is not a mapping/],
      ['a tag that JSON has no word for', '---\na: !secret x\n---\n', /left in the text/],
      ['a bomb of aliases', `---\na: &a [x,x]\nb: &b [*a,*a]\n${bomb()}---\n`, /alias/],
      ['an alias of itself', '---\na: &a [*a]\n---\n', /left in the text/],
      ['what is nested too deeply', `---\na: ${'['.repeat(5_000)}${']'.repeat(5_000)}\n---\n`, /left in the text/],
      ['half a character', '---\na: "\\ud800"\n---\n', /half a character/],
      ['TOML', '+++\ntitle = "x"\n+++\n', /TOML/],
    ] as const)
      it(`stays in the text, and is named, if it is ${form}`, async () => {
        const planned = await plan({ 'note.md': `${head}# Heading\n` })
        expect(planned.problems.map(({ path }) => path)).to.deep.equal(['note.md'])
        expect(planned.problems[0]?.reason).to.match(reason)
        expect(at(planned, 'note.md').files.get('content.md')?.toString()).to.equal(`${head}# Heading\n`)
      })

    it('is not what stands between two rules', async () => {
      const planned = await plan({ 'note.md': '---\n\nIt was night.\n' })
      expect(planned.problems).to.deep.equal([])
      expect(at(planned, 'note.md').files.get('content.md')?.toString()).to.equal('---\n\nIt was night.\n')
    })

    it('may have CRLF and a byte order mark', async () => {
      const node = at(await plan({ 'note.md': '\ufeff---\r\ntitle: T\r\n---\r\nText\r\n' }), 'note.md')
      expect([node.title, node.files.get('content.md')?.toString()]).to.deep.equal(['T', 'Text\r\n'])
    })
  })

  it('takes inline tags as Obsidian does, outside code, links and addresses', async () => {
    const text =
      '#one and (#no) #two/three, a#no `#no` #2024 #-no #y2024. [#no](https://example.org/#no) \\#no\n\n```\n#no\n```\n\n#ONE #día'
    expect(nodeJson(at(await plan({ 'note.md': text }), 'note.md')).tags).to.deep.equal([
      'one',
      'two/three',
      'y2024',
      'día',
    ])
  })

  describe('relative links', () => {
    for (const [link, target] of [
      ['b.md', 'a/b.md'],
      ['b', 'a/b.md'],
      ['./b.md#part', 'a/b.md'],
      ['b.html', 'a/b.md'],
      ['../top.md?x=1', 'top.md'],
      ['/top.md', 'top.md'],
      ['/', '.'],
      ['./', 'a'],
      ['../guide/', 'guide/README.md'],
      ['../guide/index.html', 'guide/README.md'],
      ['../guide', 'guide/README.md'],
      ['with%20space.md', 'a/with space.md'],
      ['<with space.md>', 'a/with space.md'],
      ['100%.md', 'a/100%.md'],
      ['..\\top.md', 'top.md'],
      ['../TOP.md', 'top.md'],
      ['../other.md', 'other.mdx'],
      ['../b/', 'a/b.md'],
      ['unique.md', 'far/away/unique.md'],
      ['far/away/unique.md', 'far/away/unique.md'],
    ] as const)
      it(`lead from a/note.md by ${link} to ${target}`, async () => {
        const others = [
          'a/b.md',
          'a/with space.md',
          'a/100%.md',
          'top.md',
          'guide/README.md',
          'other.mdx',
          'far/away/unique.md',
        ]
        const planned = await plan({
          ...Object.fromEntries(others.map((path) => [path, ''])),
          'a/note.md': `[here](${link})`,
        })
        expect([connections(planned, 'a/note.md'), planned.problems]).to.deep.equal([[`links_to ${target} "here"`], []])
      })

    it('count in references, HTML and footnotes; an image is an embed', async () => {
      const text = '[one][1]\n\n<a href="b.md">two</a> ![three](c.md) x[^1]\n\n[^1]: [four](d.md)\n\n[1]: a.md'
      expect(await links(text, 'a.md', 'b.md', 'c.md', 'd.md')).to.deep.equal([
        'embeds c.md "three"',
        'links_to a.md "one"',
        'links_to b.md',
        'links_to d.md "four"',
      ])
    })

    it('do not count to elsewhere, to the page itself, in code or in comments', async () => {
      const text =
        '[a](https://a.md) [b](//a.md) [c](mailto:a.md) [d](#a) [e](note.md#x) `[f](a.md)` <!-- [g](a.md) <a href="a.md"> -->\n\n    [h](a.md)\n\n~~~\n[[a]]\n~~~\n\n<!--\n\n[[a]]\n\n-->\n\n<pre><a href="a.md"></pre>'
      const planned = await plan({ 'a.md': '', 'note.md': text })
      expect([connections(planned, 'note.md'), planned.problems]).to.deep.equal([[], []])
    })

    it('do not leave the folder', async () => {
      const planned = await plan({ 'note.md': '[x](../../etc/passwd) [y](../Garden/note.md)' })
      expect(planned.problems.map(({ reason }) => reason)).to.deep.equal([
        'unresolved link: ../../etc/passwd',
        'unresolved link: ../Garden/note.md',
      ])
    })
  })

  describe('wikilinks', () => {
    for (const [link, connection] of [
      ['[[Idea]]', 'links_to x/Idea.md'],
      ['[[idea]]', 'links_to x/Idea.md'],
      ['[[Idea.md]]', 'links_to x/Idea.md'],
      ['[[Idea|my words]]', 'links_to x/Idea.md "my words"'],
      ['[[Idea#Part|my words]]', 'links_to x/Idea.md "my words"'],
      ['[[Idea#^block]]', 'links_to x/Idea.md'],
      ['[[x/Idea]]', 'links_to x/Idea.md'],
      ['[[/x/Idea]]', 'links_to x/Idea.md'],
      ['[[./x/Idea]]', 'links_to x/Idea.md'],
      ['[[y/Deep]]', 'links_to x/y/Deep.md'],
      ['![[Idea]]', 'embeds x/Idea.md'],
      ['| a |\n|---|\n| [[Idea\\|words]] |', 'links_to x/Idea.md "words"'],
      ['[[x]]', 'links_to x'],
      ['---\nup: "[[Idea]]"\n---\n', 'links_to x/Idea.md'],
    ] as const)
      it(`resolve ${JSON.stringify(link)}`, async () => {
        expect(await links(link, 'x/Idea.md', 'x/y/Deep.md')).to.deep.equal([connection])
      })

    it('resolve a name with a colon', async () => {
      expect(await links('[[Re: this]]', 'Re: this.md')).to.deep.equal(['links_to Re: this.md'])
    })

    it('resolve an alias', async () => {
      const planned = await plan({ 'a.md': '---\naliases: [Other name]\n---\n', 'note.md': '[[other NAME]]' })
      expect(connections(planned, 'note.md')).to.deep.equal(['links_to a.md'])
    })

    for (const [from, target] of [
      ['a/note.md', 'Same.md'],
      ['note.md', 'Same.md'],
    ] as const)
      it(`of several prefer the exact path: from ${from} to ${target}`, async () => {
        const planned = await plan({ 'Same.md': '', 'b/Same.md': '', [from]: '[[Same]]' })
        expect(connections(planned, from)).to.deep.equal([`links_to ${target}`])
      })

    for (const [why, from, target, others] of [
      ['its own folder', 'zz/note.md', 'zz/Same.md', ['a/Same.md', 'zz/Same.md']],
      ['the shortest path', 'note.md', 'zz/Same.md', ['aaaa/Same.md', 'zz/Same.md']],
      ['the nearest of equals', 'b/deep/note.md', 'b/Same.md', ['a/Same.md', 'b/Same.md']],
      ['the one spelled alike', 'note.md', 'a/same.md', ['a/Same.md', 'a/same.md']],
      ['the first', 'note.md', 'a/Same.md', ['b/Same.md', 'a/Same.md']],
    ] as const)
      it(`of several prefer ${why}`, async () => {
        const link = why === 'the one spelled alike' ? '[[same]]' : '[[Same]]'
        const planned = await plan({ ...Object.fromEntries(others.map((path) => [path, ''])), [from]: link })
        expect(connections(planned, from)).to.deep.equal([`links_to ${target}`])
      })

    it('in brackets that Markdown has a meaning for are links', async () => {
      const planned = await plan({
        '1.md': '',
        '2.md': '',
        'note.md': '[[2]](https://example.org) and [[1]]\n\n[1]: https://example.org',
      })
      expect([connections(planned, 'note.md'), planned.problems]).to.deep.equal([[], []])
    })
  })

  it('makes one connection for a target and a type, with the words of the first unless they are its title', async () => {
    expect(await links('[A](a.md) [again](a.md) [[a|third]] ![[a]]', 'a.md')).to.deep.equal([
      'embeds a.md',
      'links_to a.md',
    ])
  })

  it('names connections by what they lead to, the same in each run', async () => {
    const planned = await plan({ 'Ünïted näme.md': '', '日本.md': '', 'note.md': '[[Ünïted näme]] [[日本]]' })
    const names = [...at(planned, 'note.md').files.keys()].filter((name) => name.startsWith('connections/'))
    expect(names[0]).to.match(/^connections\/united-name-[0-9a-f]{10}\.json$/)
    expect(names[1]).to.match(/^connections\/[0-9a-f]{10}\.json$/)
  })

  it('names each link that leads nowhere once', async () => {
    const planned = await plan({
      'note.md': '[[Gone]] [[Gone|again]] [x](gone.md) ![](gone.png) [dot](.env)',
      '.env': 'SECRET',
    })
    expect(planned.problems).to.deep.equal([
      { path: 'note.md', reason: 'unresolved link: [[Gone]]' },
      { path: 'note.md', reason: 'unresolved link: gone.md' },
      { path: 'note.md', reason: 'unresolved link: gone.png' },
      { path: 'note.md', reason: 'unresolved link: .env' },
    ])
    expect(planned.counts.unresolvedLinks).to.equal(4)
  })

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

    it('that no repository can hold are named', async () => {
      const planned = await plan({ 'back\\slash.png': '', 'tab\t.png': '', 'git~1': '' })
      expect(planned.problems.map(({ path }) => path)).to.deep.equal(['back\\slash.png', 'git~1', 'tab\t.png'])
      expect(attachments(planned, '.')).to.deep.equal([])
    })

    it('whose names differ in case alone stay in different nodes; in one, the second is named', async () => {
      const planned = await plan({
        'a.md': '![](IMG/x.png) ![](img/y.png)',
        'b.md': '![](img/y.png)',
        'IMG/x.png': '',
        'img/y.png': '',
      })
      expect([attachments(planned, 'a.md'), attachments(planned, 'b.md')]).to.deep.equal([
        ['attachments/IMG/x.png'],
        ['attachments/img/y.png'],
      ])
      expect(planned.problems).to.deep.equal([
        { path: 'img/y.png', reason: 'not attached to a.md: but for case, IMG there has its name' },
      ])
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
      expect(attachments(planned, 'note.md')).to.deep.equal(['attachments/latin.md'])
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
      const planned = await planImport(folder, org)
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
      const { problems } = await asNobody(() => planImport(folder, org))
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

  it('says how far it is, up to the last file', async () => {
    const folder = await garden({ 'a.md': '', 'b.md': Buffer.from([0xff]), 'c.png': '', 'd.md': '' })
    const seen: [number, number][] = []
    await planImport(folder, org, (done, total) => seen.push([done, total]))
    expect(seen).to.deep.equal([1, 2, 3, 4].map((done) => [done, 4]))
  })

  it('fails with the reason if the folder is not there', async () => {
    const error = await planImport('/nowhere/at/all', org).catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(Error).with.property('code', 'ENOENT')
  })

  it('plans, whatever lies in the folder, a graph that the rules accept, and loses no file', async () => {
    await fc.assert(fc.asyncProperty(gardens(), acceptable), { numRuns: 150 })
  }).timeout(120_000)
})

describe('import: the progress', () => {
  it('draws a bar over itself on a terminal, ten times a second at most', () => {
    const { output, text } = screen({ isTTY: true, columns: 80 })
    let now = 0
    const progress = progressOn(output, 'Reading', () => now)
    for (; now <= 200; now += 20) progress.at(now / 20, 10)
    progress.end()
    expect(text()).to.deep.equal([
      `\r\x1b[KReading ${'░'.repeat(40)}   0 % 0/10`,
      `\r\x1b[KReading ${'█'.repeat(20)}${'░'.repeat(20)}  50 % 5/10`,
      `\r\x1b[KReading ${'█'.repeat(40)} 100 % 10/10`,
      '\n',
    ])
  })

  it('writes a line elsewhere, every 2 s and 10 % at most', () => {
    const { output, text } = screen({})
    let now = 0
    const progress = progressOn(output, 'Reading', () => now)
    for (let done = 0; done <= 1_000; done++, now += 10) progress.at(done, 1_000)
    progress.end()
    expect(text()).to.deep.equal(
      ['10', '30', '50', '70', '90', '100'].map((part) => `Reading ${part} % ${part}0/1000\n`),
    )
  })
})

function screen(terminal: { isTTY?: boolean; columns?: number }) {
  const written: string[] = []
  return { output: { ...terminal, write: (text: string) => written.push(text) }, text: () => written }
}

function bomb(): string {
  return Array.from(
    { length: 20 },
    (_, step) => `c${step}: &c${step} [*${step === 0 ? 'b' : `c${step - 1}`},*b,*b]\n`,
  ).join('')
}

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
  const planned = await planImport(folder, org)
  expect(await planImport(folder, org)).to.deep.equal(planned)
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
    ...planned.problems.map(({ path }) => path),
  ])
  const lost = Object.keys(files).filter((path) => !/(^|\/)(\.|node_modules($|\/))/.test(path) && !taken.has(path))
  expect(lost).to.deep.equal([])
  await rm(folder, { recursive: true })
}
