/** The plan of an import: links that become connections. */

import { expect } from 'chai'
import { at, connections, plan, unresolved, useGardens } from './garden.ts'

/** Returns the connections of one note with the text `content`, among these others. */
async function links(content: string, ...others: string[]): Promise<string[]> {
  return connections(
    await plan({ ...Object.fromEntries(others.map((path) => [path, ''])), 'note.md': content }),
    'note.md',
  )
}

describe('import: the plan', () => {
  useGardens()

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
        expect([connections(planned, 'a/note.md'), planned.unresolved]).to.deep.equal([
          [`links_to ${target} "here"`],
          [],
        ])
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
      expect([connections(planned, 'note.md'), planned.unresolved]).to.deep.equal([[], []])
    })

    it('do not leave the folder', async () => {
      const planned = await plan({ 'note.md': '[x](../../etc/passwd) [y](../Garden/note.md)' })
      expect(unresolved(planned)).to.deep.equal([
        'note.md: outside ../../etc/passwd',
        'note.md: outside ../Garden/note.md',
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
      expect([connections(planned, 'note.md'), planned.unresolved]).to.deep.equal([[], []])
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
    expect(unresolved(planned)).to.deep.equal([
      'note.md: missing [[Gone]]',
      'note.md: missing gone.md',
      'note.md: missing gone.png',
      'note.md: missing .env',
    ])
  })
})
