/** Callouts: their family, their title, and how they fold. */

import { expect } from 'chai'
import { renderText } from '../../server/pages/text/rendering.ts'

const html = (text: string) => renderText(text, '', () => undefined).html.replace(/<svg.*?<\/svg>/g, '')

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
})
