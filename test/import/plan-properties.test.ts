/** The plan of an import: front matter and tags. */

import { expect } from 'chai'
import { at, nodeJson, plan, useGardens } from './garden.ts'

describe('import: the plan', () => {
  useGardens()

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
      ['half a character', '---\na: "\\ud800"\n---\n', /unpaired surrogate/],
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
})

function bomb(): string {
  return Array.from(
    { length: 20 },
    (_, step) => `c${step}: &c${step} [*${step === 0 ? 'b' : `c${step - 1}`},*b,*b]\n`,
  ).join('')
}
