/** The search reads `[[…]]` and front matter by a grammar of its own: the layers keep it apart from that of vaults and pages. */

import { expect } from 'chai'
import { proseOf } from '../../index/search/text/prose.ts'
import { headEnd, withoutHead, yamlLines } from '../../server/markdown/front-matter-lines.ts'
import { wikilinkAt, wikilinkParts } from '../../server/markdown/wikilinks.ts'

/** The text between brackets. */
const inners = [
  ...['Note', ' Note ', 'folder/Note', 'Note#Heading', '#Heading', 'Note#^block', 'Größe 漢字 😀', 'a (b)'],
  ...['Note|words', 'Note| words ', 'Note|', 'Note| ', '|words', '|', '', ' ', 'a|b|c', 'a\\|b', 'a\\|'],
  ...['a]b', 'a[b', '[a', 'a]', 'a\nb', 'a\rb', 'a\r\nb', 'a\u2028b', 'x'.repeat(1_000), 'x'.repeat(1_001)],
]
const surroundings = [
  ...['x [[_]] y', 'x ![[_]] y', '[[_]]', 'x [[_]]y', '([[_]])', '[[_]][[_]]', 'x [[_]] (y)', 'x [[_]](y) z'],
  ...['x \\[[_]] y', 'x [_] y', 'x [[_] y', 'x [_]] y', 'x [[[_]]] y', '- [[_]]', '> [[_]]', '# [[_]]'],
]

/** The text with the words of its wiki links in their places, as the grammar of vaults and pages finds them. */
function linksRead(text: string): { shown: string; links: number } {
  let [shown, links] = ['', 0]
  for (let at = 0; at < text.length; ) {
    const isEscape = text[at] === '\\'
    const link = isEscape ? undefined : wikilinkAt(text, at)
    const { target, words } = wikilinkParts(link?.inner ?? '')
    const length = link && (words || target) ? link.length : isEscape ? 2 : 1
    shown += link && (words || target) ? words || target : text.slice(at, at + length)
    if (link && (words || target)) links++
    at += length
  }
  return { shown, links }
}

describe('the grammar of the search', () => {
  it('finds the links in double brackets that pages and imports find, and shows their words', () => {
    let linked = 0
    for (const surrounding of surroundings)
      for (const inner of inners) {
        const text = surrounding.replaceAll('_', () => inner)
        const { shown, links } = linksRead(text)
        // The rest has marks for other rules.
        expect(proseOf(text).text, JSON.stringify(text)).to.equal(proseOf(shown).text)
        linked += links
      }
    expect(linked).to.be.above(200)
  })

  it('differs in footnotes, in sizes of pictures and in a backslash that no bar follows', () => {
    const shownBy = (inner: string) => {
      const { target, words } = wikilinkParts(wikilinkAt(`[[${inner}]]`, 0)?.inner ?? '')
      return words || target
    }
    expect([proseOf('[[^1]]').text, shownBy('^1')]).to.deep.equal(['[[^1]]', '^1'])
    expect([proseOf('![[a.png|300]]').text, shownBy('a.png|300')]).to.deep.equal(['a.png', '300'])
    expect([proseOf('[[a\\]]').text, shownBy('a\\')]).to.deep.equal(['a\\', 'a'])
  })

  const heads: [what: string, head: string, body: string][] = [
    ['a key', '---\ntitle: A\n---\n', 'Text\n'],
    ['a comment', '---\n# c\n---\n', 'Text\n'],
    ['dots at its end', '---\na: 1\n...\n', 'Text\n'],
    ['ends of lines of DOS', '---\r\na: 1\r\n---\r\n', 'Text\r\n'],
    ['white space behind its lines', '--- \t\na : 1\n--- \n', 'Text\n'],
    ['no text behind it', '---\na: 1\n---', ''],
    ['blank lines in it', '---\na: 1\n\nb: 2\n---\n', 'Text\n'],
    ['a rule behind it', '---\na: 1\n---\n', '---\nText\n'],
    ['no key', '', '---\ntext\n---\nText\n'],
    ['nothing in it', '', '---\n---\nText\n'],
    ['no end', '', '---\na: 1\n'],
    ['something before it', '', '\n---\na: 1\n---\n'],
    ['a byte order mark before it', '', '\ufeff---\na: 1\n---\n'],
    ['four hyphens', '', '----\na: 1\n---\n'],
    ['white space before the key', '', '---\n  a: 1\n---\n'],
  ]
  for (const [what, head, body] of heads)
    it(`ends front matter where pages and links end it: with ${what}`, () => {
      const text = head + body
      expect(headEnd(text)).to.equal(head.length)
      expect(withoutHead(text)).to.equal(body)
      expect(proseOf(text).text).to.equal(proseOf(`\n${body}`).text.slice(1))
      if (head !== '') expect(yamlLines(text, text.length)?.body).to.equal(head.length)
    })

  it('differs in how far it looks for the end of front matter, and in lines that only begin as its end', () => {
    const [found, missed] = [true, false]
    // Links, pages, the search.
    const ends = (text: string) => [headEnd(text) > 0, withoutHead(text) !== text, !proseOf(text).text.includes('a: 1')]
    expect(ends('---\na: 1\n---x\nb: 1\n---\n')).to.deep.equal([found, missed, found])
    expect(ends(`---\na: 1\n${'b: 1\n'.repeat(2_001)}---\n`)).to.deep.equal([found, missed, found])
    expect(ends(`---\na: 1\n#${'b'.repeat(65_536)}\n---\n`)).to.deep.equal([missed, found, found])
    expect(ends('+++\na: 1\n+++\n')).to.deep.equal([found, missed, missed])
  })
})
