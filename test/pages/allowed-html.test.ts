/** Whatever an author writes, a page has only elements and attributes of this list, and leaves none open. */

import { expect } from 'chai'
import fc from 'fast-check'
import { type Tools, toolsFor } from '../../server/pages/text/drawing.ts'
import type { Resolve } from '../../server/pages/text/markdown.ts'
import { renderText } from '../../server/pages/text/rendering.ts'
import { anyCharacter } from '../support/any-text.ts'
import { runs } from '../support/seed.ts'
import { expectBalanced } from './balanced.ts'

const resolve: Resolve = (href) =>
  /^https:/.test(href)
    ? { href, kind: 'outside', name: href }
    : href === 'a.png'
      ? { href, kind: 'file', name: href }
      : undefined

const elements: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    [
      ...[
        'p',
        'br',
        'hr',
        'em',
        'strong',
        's',
        'u',
        'b',
        'i',
        'q',
        'del',
        'ins',
        'kbd',
        'sub',
        'mark',
        'small',
        'cite',
      ],
      ...['dfn', 'samp', 'var', 'blockquote', 'ul', 'table', 'thead', 'tbody', 'tr', 'summary', 'code', 'path'],
    ].map((name) => [name, []]),
  ),
  ...{ p: ['class', 'id'], code: ['class', 'title'], summary: ['class', 'id'], sup: ['class'], abbr: ['title'] },
  ...{ details: ['class', 'open'], blockquote: ['id'], li: ['class', 'id'], ol: ['start'], pre: ['tabindex', 'class'] },
  ...{
    a: ['class', 'href', 'id', 'rel', 'role', 'aria-label', 'title'],
    img: ['src', 'alt', 'width', 'height', 'loading'],
  },
  ...{ span: ['class', 'title'], div: ['class', 'tabindex', 'role', 'aria-label'], th: ['class'], td: ['class'] },
  ...{ input: ['type', 'disabled', 'checked', 'aria-label'], button: ['type', 'class', 'data-copy', 'hidden'] },
  ...{ section: ['class', 'role', 'aria-label'], svg: ['class', 'viewBox', 'aria-hidden'], path: ['d'] },
  ...Object.fromEntries(['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((name) => [name, ['id']])),
}
/** Blocks whose text decides on their direction. */
const blocks = new Set(['ul', 'ol', 'blockquote', 'div', 'details', 'section'])
const ofMath = /^(m[a-z]+|semantics|annotation|none)$/

const parts = fc.oneof(
  fc.constantFrom(
    ...[
      'a',
      ' b ',
      '\n',
      '\n\n',
      '# ',
      '## ',
      '> ',
      '- ',
      '1. ',
      '    ',
      '| a | b |\n|---|:-:|\n',
      '|',
      '```',
      '```js\n',
      '~~~',
    ],
    ...['*', '**', '_', '~~', '==', '`', '[', ']', '](https://x.example)', '![', '](a.png)', '[[x]]', '![[a.png|30]]'],
    ...[
      '$',
      '$$',
      '$$\n',
      '\\frac{a}{b}',
      '\\color{red}',
      '\\{',
      '}',
      '\\bad',
      '^[',
      '[^1]',
      '\n[^1]: ',
      '\n    ',
      '^id',
    ],
    ...['> [!note] ', '> [!faq]- ', '[!tip]+', '- [ ] ', '- [x] ', '%%', '<!--', '-->', '{ #id }', '```math\n', '\\'],
    ...[
      '<b>',
      '</b>',
      '<kbd>',
      '</kbd>',
      '<details>\n',
      '</details>\n',
      '<summary>',
      '</summary>',
      '<div>\n',
      '</div>\n',
    ],
    ...[
      '<a href="https://x.example">',
      '</a>',
      '<a href="javascript:x">',
      '<span class="x">',
      '</span>',
      '<h2>',
      '</h2>',
    ],
    ...[
      '<abbr title="x" onclick="y">',
      '</abbr>',
      '<script>',
      '<img src="a.png" onerror="x">',
      '"',
      "'",
      '&quot;',
      '<br>',
    ],
  ),
  fc.string({ unit: anyCharacter, maxLength: 5 }),
)

const allKinds = '<details>\n\n$x$\n\n</details>\n\n==m== a[^1]\n\n- [ ] t\n\n|a|\n|-|\n|b|\n\n> [!tip] x\n\n[^1]: n'

describe('the HTML of a text', () => {
  let tools: Tools
  before(async () => {
    tools = await toolsFor('$x$\n```js\n```')
  })

  it('has only allowed elements and attributes, and leaves none open', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 40 }), (pieces) => {
        const { html } = renderText(pieces.join(''), '', resolve, tools)
        for (const { name, attributes } of expectBalanced(html)) {
          seen.add(name)
          if (ofMath.test(name) && name !== 'mark') {
            expect([...attributes.keys()].filter((key) => /^(style|id|href|on)/.test(key))).to.deep.equal([])
            continue
          }
          expect(elements, name).to.have.property(name)
          const allowed = [...(elements[name] ?? []), ...(blocks.has(name) ? ['dir'] : [])]
          for (const key of attributes.keys()) expect(allowed, `${name} ${key}`).to.include(key)
          expect(attributes.get('href') ?? '#').to.match(/^(https:|#|a\.png)/)
        }
      }),
      // Random texts may have no marked text, for example.
      { numRuns: runs(1_500), examples: [[[allKinds]], [['> [!faq]- ', '^id']], [['^[', '<img src="a.png">', ']']]] },
    )
    expect([...seen]).to.include.members(['details', 'math', 'sup', 'mark', 'input', 'table', 'section', 'svg'])
  })
})
