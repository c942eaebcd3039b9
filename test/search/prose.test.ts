/** The part of Markdown that a user reads. */

import { expect } from 'chai'
import fc from 'fast-check'
import { proseOf, sourceOffset } from '../../index/search/text/prose.ts'
import { anyCharacter } from '../support/any-text.ts'
import { expectLinear } from './linear.ts'

const headingsOf = (source: string) => {
  const { text, headings } = proseOf(source)
  return headings.map(({ start, end }) => text.slice(start, end))
}

describe('prose', () => {
  const examples: [what: string, source: string, text: string][] = [
    ['comments', 'a <!-- hidden\n\nstill --> b', 'a  b'],
    ['front matter', '---\ntitle: X\n---\nText', 'Text'],
    ['addresses of links', 'See [the **docs**](https://x.org/a_(b) "Docs") now.', 'See the docs now.'],
    ['addresses of images', '![A cat](cat.png) sits', 'A cat sits'],
    ['badges', '# Grove\n\n[![build](https://x/b.svg)](https://x) text', 'Grove\n\n text'],
    ['brackets of wiki links', 'A [[Rose]], **[[a/b#c]]** and [[ Sea lion ]].', 'A Rose, a/b#c and Sea lion.'],
    ['targets of wiki links with words', 'See [[Rose|the roses]] and [[a#b| c|d ]].', 'See the roses and c|d.'],
    ['marks of empty words and of sizes', '[[Rose|]] ![[cat.png|300x200]] ![[cat.png|A cat]]', 'Rose cat.png A cat'],
    ['brackets of wiki links in links', '[see [[Rose]] here](https://x.org)', 'see Rose here'],
    ['escaped bars of wiki links in tables', '| a |\n|---|\n| [[Rose\\|the roses]] |\n', '  a  \n  the roses  \n'],
    ['addresses after brackets', '[[1]](https://x.org) and [[2]]\n\n[2]: https://x.org\n', '[1] and [[2]]\n\n'],
    ['definitions of links', 'See [docs][1].\n\n[1]: https://x.org "Docs"\n', 'See docs.\n\n'],
    ['brackets of addresses', '<https://x.org/a> and <jane@x.org>', 'https://x.org/a and jane@x.org'],
    ['tags that divide words', 'one<br>two <p class="x">three</p>', 'one two  three '],
    [
      'what is no tag of HTML',
      'A List<String> of <thing>, see <your name>',
      'A List<String> of <thing>, see <your name>',
    ],
    ['tags within words', 'H<sub>2</sub>O', 'H2O'],
    ['marks of headings', '## Two words ##\ntext', 'Two words\ntext'],
    ['lines under headings', 'Title\n=====\ntext', 'Title\ntext'],
    ['rules', 'a\n\n* * *\n\nb', 'a\n\n\nb'],
    ['marks of emphasis', '**bold**, *it* and __so__ ~~on~~', 'bold, it and so on'],
    ['marks of code', 'Call `a <b> *c*` and ``x ` y``.', 'Call a <b> *c* and x ` y.'],
    ['fences of code', '```ts\nconst a = `<b>`\n\n# no heading\n```\nend', 'const a = `<b>`\n\n# no heading\nend'],
    ['lines of tables', '| a | b |\n|---|:-:|\n| 1 | 2 |\n', '  a   b  \n  1   2  \n'],
    ['marks of quotes', '> said\n> > she', 'said\nshe'],
    ['comments of Obsidian', 'a %% hidden\n\nstill %% b', 'a  b'],
    ['marks of marked text', 'a ==b c== d, x == y == z', 'a b c d, x == y == z'],
    ['kinds of callouts', '> [!example]- Title\n> text\n\n> [!note|wide]\n> more', 'Title\ntext\n\n\nmore'],
    ['references to footnotes', 'A[^1] and[^x].^[inline]\n\n[^1]: the note\n', 'A and[^x]. [inline]\n\n the note\n'],
    ['dollars of formulas', 'Let $x_1$ be $a$, for $5 and $6', 'Let x1 be a, for $5 and $6'],
    ['commands of formulas', '$\\mathcal{L}\\{f(\\alpha)\\}$', ' L f( alpha) '],
    ['commands of blocks', '$$\n\\begin{cases}a & \\text{if } b\\end{cases}\n$$', '\n a    if  b \n'],
    ['commands of fences', '```math\n\\frac{a}{b}\n```\n', ' ab\n'],
    ['no dollars of money, of code and of shells', '$5 or `$x$` or $HOME and $', '$5 or $x$ or $HOME and $'],
    ['no brackets that are escaped or code', '\\[[a]] `[[b]]`', '[[a]] [[b]]'],
    ['backslashes of escapes', '1\\. \\*no\\*', '1. *no*'],
  ]
  for (const [what, source, text] of examples) {
    it(`drops ${what}`, () => {
      expect(proseOf(source).text).to.equal(text)
    })
  }

  const plain = [
    'A sentence. Another (one), with [1] and [sic], 2 * 3 * 4, a*b*c and snake_case_names.',
    'p < 0.05 and q > 3; a <- b; x <y; C:\\dir; #tag and #1; a | b; ~5 %; it`s',
    '- item\n- item\n\n1. first\n\n    indented\n',
    'https://x.org/a_b_c?d=[e]&f=(g) and ](x) and ![ and <!-- and ``` here',
    '[[]] [[ | ]] [[^1]] [[a\nb]] [[a [b]] [[a]b]] a[[]]',
    '[note]: this is said of it\n* star',
    '',
    '日本語 *手\ud800',
  ]
  for (const text of plain) {
    it(`leaves as it is: ${JSON.stringify(text).slice(0, 60)}`, () => {
      expect(proseOf(text).text).to.equal(text)
    })
  }

  it('names the headings, but not what looks like one in code or comments', () => {
    expect(headingsOf('# One\nText\n\nTwo\n---\n```\n# no\n```\n<!--\n# no\n-->\n### *Three* #\n#\n')).to.deep.equal([
      'One',
      'Two',
      'Three',
    ])
  })

  const markdown = fc
    .array(
      fc.constantFrom(
        ...['a', 'b c', '# ', '\n', '\n\n', '`', '```\n', '<!--', '-->', '<b>', '<br>', '[', '](', ')', '![', '](x)'],
        ...[
          '*',
          '**',
          '_',
          '|',
          '|-|\n',
          '> ',
          '---\n',
          '\\',
          '<',
          '>',
          '[1]: http://x\n',
          '[[',
          ']]',
          '|',
          '![[',
          ' ',
          'é',
          '$',
          '$$',
          '%%',
          '==',
          '[^1]',
          '^[',
          '[!note]',
          '\\alpha ',
          '\ud83d\ude00',
        ],
      ),
      { maxLength: 60 },
    )
    .map((parts) => parts.join(''))

  it.deep('keeps the order of what it keeps and says where each unit came from, for whatever text', () => {
    fc.assert(
      fc.property(fc.oneof(markdown, fc.string({ unit: anyCharacter })), (source) => {
        const prose = proseOf(source)
        let before = -1
        for (let at = 0; at < prose.text.length; at++) {
          const from = sourceOffset(prose, at)
          if (prose.text[at] !== ' ') expect(source[from]).to.equal(prose.text[at])
          expect(from).to.be.at.least(before).and.at.most(source.length)
          before = from
        }
        let end = 0
        for (const heading of prose.headings) {
          expect(heading.start).to.be.at.least(end)
          expect(heading.end).to.be.within(heading.start + 1, prose.text.length)
          end = heading.end
        }
      }),
      { numRuns: 2_000 },
    )
  })

  const hostile = [
    ...[
      '[',
      '![',
      '](',
      '[](',
      '![](x)',
      '[](a "',
      '<!--',
      '<!-- -->',
      '<',
      '<a ',
      '</',
      '<a b="',
      '<x:',
      '`',
      '` `` ',
      '\\`',
    ],
    ...[
      '*',
      '*a ',
      ' *a',
      '**a* ',
      '_',
      '~~',
      '|',
      '|-\n',
      '# ',
      '#',
      '\n',
      ' ',
      '\t',
      '\n> ',
      '>',
      '---\n',
      '-',
      '=\n',
      'a\n',
    ],
    ...[
      '```\n',
      '~~~',
      '[a]: ',
      '[a]:http://b\n',
      '---\na: b\n',
      '](a(b)',
      '[]( ',
      'a',
      '\u0301',
      '\r\n',
      '[![a](b)](c)',
      '[[',
      '[[a',
      '[[a|b]]',
      '![[',
      ']]',
      '|[[',
      ...[
        '$',
        '$a',
        '$$',
        '$a$',
        '%%',
        '% ',
        '==',
        '==a ',
        '[^1]',
        '[^1]: ',
        '^[',
        '> [!note]',
        '\\$',
        '$`',
        '$\\a',
        '$$\n',
      ],
    ],
  ]
  for (const part of hostile) {
    it(`reads 128 KiB of ${JSON.stringify(part)} in no more than its share of time`, () => {
      expectLinear(proseOf, part, 128 * 1_024)
    })
  }
})
