/** The plan of an import: nodes, parents and titles, the first time and the second. */

import { expect } from 'chai'
import type { Plan } from '../../server/features/vault/plan/plan.ts'
import { at, attachments, garden, nodeJson, org, plan, planOf, useGardens } from './garden.ts'

function parentOf(plan: Plan, path: string): string | undefined {
  return plan.nodes.find((node) => node.id === at(plan, path).parents[0])?.path
}

async function titleOf(content: string, path = 'note.md'): Promise<string> {
  return at(await plan({ [path]: content }), path).title
}

describe('import: the plan', () => {
  useGardens()

  describe('folders give parents', () => {
    it('plans a node for each Markdown file and each folder that holds one', async () => {
      const planned = await plan({ 'a/b/deep.md': '', 'top.md': '', 'c/picture.png': '' })
      expect(planned.nodes.map(({ path, title }) => [path, title, parentOf(planned, path)])).to.deep.equal([
        ['.', 'Garden', undefined],
        ['a', 'a', '.'],
        ['a/b', 'b', 'a'],
        ['a/b/deep.md', 'Deep', 'a/b'],
        ['top.md', 'Top', '.'],
      ])
      expect(planned.counts).to.deep.equal({
        files: 3,
        nodes: 5,
        parents: 4,
        connections: 0,
        attachments: 1,
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
        'guide',
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
      expect(await planOf(folder, org)).to.deep.equal(await planOf(folder, org))
    })

    it('finds a folder again that has got an index, and a note that has got a folder', async () => {
      const before = await plan({ 'guide/part.md': '', 'trip.md': '' })
      const after = await plan({ 'guide/part.md': '', 'guide/README.md': '', 'trip.md': '', 'trip/day.md': '' })
      expect(at(after, 'guide/README.md').id).to.equal(at(before, 'guide').id)
      expect(at(after, 'trip.md').id).to.equal(at(before, 'trip.md').id)
    })

    it('gives another organisation other nodes', async () => {
      const folder = await garden({ 'a.md': '' })
      const other = await planOf(folder, '3c59dc04-8e88-4024-bbe8-079a5c74d079')
      expect(at(other, 'a.md').id).not.to.equal(at(await planOf(folder, org), 'a.md').id)
    })

    it('keeps apart files whose names differ only in the ending', async () => {
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
      'an ATX heading': '# The *big* `thing` {#big}\n\n# Second',
      'a heading behind a comment': '<!-- lint -->\n\n# The big thing',
      'a setext heading': 'The *big* `thing`\n===',
      'an HTML heading': '<h1 align="center">\n  <img src="x.png">\n  The big <b>thing</b>\n</h1>',
      'a heading of a link': '# [The big thing](https://example.org)',
      'a heading with a badge': '# The big thing [![build](b.svg)](https://example.org)',
      'a heading that is a picture': '# ![The big thing](logo.svg)',
    }))
      it(`come from ${form}`, async () => {
        expect(await titleOf(text)).to.equal('The big thing')
      })

    for (const before of ['## Before', 'Words', '---', '```\n```', '- item', '<br>'])
      it(`do not come from a heading behind ${JSON.stringify(before)}`, async () => {
        expect(await titleOf(`${before}\n\n# Heading\n\n<h1>HTML</h1>`)).to.equal('Note')
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
      'guide/README.md': 'guide',
      'my-guide_v2/index.md': 'my-guide_v2',
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

  it('says how far it is, up to the last file', async () => {
    const folder = await garden({ 'a.md': '', 'b.md': Buffer.from([0xff]), 'c.png': '', 'd.md': '' })
    const seen: [number, number][] = []
    await planOf(folder, org, { onProgress: (done, total) => seen.push([done, total]) })
    expect(seen).to.deep.equal([1, 2, 3, 4].map((done) => [done, 4]))
  })

  it('fails with the reason if the folder is not there', async () => {
    const error = await planOf('/nowhere/at/all', org).catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(Error).with.property('code', 'ENOENT')
  })
})
