/** Callouts: their family, their title, and how they fold. */

import { expect } from 'chai'
import { renderText } from '../../server/pages/text/rendering.ts'

const html = (text: string) => renderText(text, '', () => undefined).html.replace(/<svg.*?<\/svg>/g, '')

/** HTML without spaces between elements. */
const plain = (text: string) => text.replace(/>\s+/g, '>')

describe('callouts', () => {
  it('have a title with Markdown, and the name of their kind without one', () => {
    expect(html('> [!note] A *b*\n> text')).to.equal(
      '<div class="callout note" dir="auto">\n<p class="callout-title">A <em>b</em></p><p>text</p>\n</div>\n',
    )
    expect(html('> [!FAQ]\n> text')).to.equal(
      '<div class="callout question" dir="auto">\n<p class="callout-title">Faq</p><p>text</p>\n</div>\n',
    )
  })

  it('have the name of their kind as title if the first line has only an id', () => {
    expect(html('> [!faq] ^here\n> text')).to.equal(
      '<div class="callout question" dir="auto">\n<p class="callout-title" id="block-here">Faq</p><p>text</p>\n</div>\n',
    )
  })

  it('fold after a minus or a plus', () => {
    expect(html('> [!faq]- A\n> text')).to.equal(
      '<details class="callout question" dir="auto">\n<summary class="callout-title">A</summary><p>text</p>\n</details>\n',
    )
    expect(html('> [!faq]+ A\n> text')).to.equal(
      '<details class="callout question" open="" dir="auto">\n<summary class="callout-title">A</summary><p>text</p>\n</details>\n',
    )
  })

  it('may be in each other', () => {
    expect(html('> [!tip]+ A\n> > [!bug] B\n> > c\n> > > [!note]- D')).to.equal(
      '<details class="callout tip" open="" dir="auto">\n<summary class="callout-title">A</summary>' +
        '<div class="callout danger">\n<p class="callout-title">B</p><p>c</p>\n' +
        '<details class="callout note">\n<summary class="callout-title">D</summary></details>\n</div>\n</details>\n',
    )
  })

  it('have one of seven families, and are notes otherwise', () => {
    const kinds = ['note', 'info', 'todo', 'abstract', 'tip', 'success', 'question', 'warning', 'failure', 'bug']
    const others = ['example', 'quote', 'made-up', 'constructor', '__proto__']
    const family = (kind: string) => /^<div class="callout (\w+)" dir="auto">/.exec(html(`> [!${kind}|wide] a`))?.[1]
    expect([...kinds, ...others].map(family)).to.deep.equal([
      ...['note', 'note', 'note', 'note', 'tip', 'tip', 'question', 'warning', 'danger', 'danger'],
      ...['example', 'quote', 'note', 'note', undefined],
    ])
  })

  it('have an icon', () => {
    const icon = (kind: string) =>
      /<svg class="callout-icon" viewBox="0 0 24 24" aria-hidden="true"><path d="([\w .-]+)"><\/path><\/svg>/.exec(
        renderText(`> [!${kind}] a`, '', () => undefined).html,
      )?.[1]
    const all = ['note', 'tip', 'question', 'warning', 'danger', 'example', 'quote'].map(icon)
    expect(new Set(all).size).to.equal(7)
    expect(all).not.to.include(undefined)
  })

  it('may be written with colons, as documentation generators do', () => {
    const callout = (family: string, title: string, text: string) =>
      `<div class="callout ${family}" dir="auto">\n<p class="callout-title">${title}</p><p>${text}</p>\n</div>\n`
    for (const [written, title] of [
      [':::tip', 'Tip'],
      ['::: tip A *b*', 'A <em>b</em>'],
      [':::tip[A *b*]{icon="x"}', 'A <em>b</em>'],
    ] as const)
      expect(plain(html(`${written}\ntext\n:::\n`)), written).to.equal(plain(callout('tip', title, 'text')))
    expect(html('::::caution\n:::note\ntext\n:::\n::::\n').match(/class="callout \w+"/g)).to.deep.equal([
      'class="callout warning"',
      'class="callout note"',
    ])
    expect(html(':::details More\ntext\n:::\n')).to.match(/^<details class="callout note" dir="auto">\s*<summary/)
    for (const text of [':::tip\nno end\n', ':::columns\ntext\n:::\n', `:::tip\n${'a\n'.repeat(300)}:::\n`])
      expect(html(text), text.slice(0, 20)).not.to.include('class="callout')
  })

  it('come after the imports of MDX, which are left out at the beginning of a text', () => {
    const text =
      "import A from '@site/a'\nimport { B,\tC } from \"b\";\nexport const d = 1\n\n# Title\n\nimport x from 'y'\n"
    expect(html(text)).not.to.include('@site').and.not.to.include('export')
    expect(html(text)).to.include("<p>import x from 'y'</p>")
    expect(html('Text\n')).to.equal('<p>Text</p>\n')
  })
})
