/** Footnotes and marked text on pages. */

import { expect } from 'chai'
import { showComment } from '../../server/pages/text/comment-text.ts'
import { markdown } from '../../server/pages/text/markdown.ts'
import { renderText } from '../../server/pages/text/rendering.ts'
import { expectBalanced } from './balanced.ts'

const render = (text: string) => renderText(text, '', () => undefined)
const html = (text: string) => render(text).html
const reference = (shown: number, id = `${shown}`) =>
  `<sup class="footnote"><a href="#fn:${id.replace(/(?<=^\d+):\d+$/, '')}" id="fnref:${id}" role="doc-noteref" ` +
  `aria-label="Footnote ${shown}">${shown}</a></sup>`
const back = (id: string, words: string) =>
  ` <a class="footnote-back" href="#fnref:${id}" role="doc-backlink" aria-label="Back to reference ${words}">\u21a9\ufe0e</a>`
const notes = (...items: string[]) =>
  '<section class="footnotes" role="doc-endnotes" aria-label="Footnotes">\n<ol>\n' +
  `${items.map((item, at) => `<li id="fn:${at + 1}">${item}</li>\n`).join('')}</ol>\n</section>\n`

describe('footnotes of a text', () => {
  it('are below it, in the order of their references, each with a link back to each of these', () => {
    expect(html('A[^b] and[^a] B[^b].\n\n[^a]: One.\n[^b]: Two\n\n    *lines*.\n')).to.equal(
      `<p>A${reference(1)} and${reference(2)} B${reference(1, '1:2')}.</p>\n` +
        notes(
          `<p>Two</p>\n<p><em>lines</em>.${back('1', '1')}${back('1:2', '1, place 2')}</p>\n`,
          `<p>One.${back('2', '2')}</p>\n`,
        ),
    )
  })

  it('may be in the line', () => {
    expect(html('A^[*One*.] B')).to.equal(
      `<p>A${reference(1)} B</p>\n${notes(`<p><em>One</em>.${back('1', '1')}</p>\n`)}`,
    )
  })

  it('stay text without a definition, and are not part of headings and summaries', () => {
    expect(html('A[^1] ^[ B')).to.equal('<p>A[^1] ^[ B</p>\n')
    const { headings, summary } = render('## One[^1]\n\nText[^1].\n\n[^1]: Note\n')
    expect({ headings, summary }).to.deep.equal({ headings: [{ level: 2, id: 'one', text: 'One' }], summary: 'Text.' })
  })

  it('have ids of their own in each comment', async () => {
    const shown = (entry: number) =>
      showComment(
        { key: `test ${entry}`, scope: `comment-${entry}`, text: '# fn\n\nA^[B]', names: [], resolve: () => undefined },
        new AbortController().signal,
      )
    const ids = [...`${await shown(1)}${await shown(2)}`.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)
    expect(ids).to.deep.equal(['fnref:comment-1:1', 'fn:comment-1:1', 'fnref:comment-2:1', 'fn:comment-2:1'])
  })

  const hostile: Readonly<Record<string, string>> = {
    'definitions in definitions': `[^a] [^b]\n\n${'[^a]: > [^b]: > '.repeat(20)}x\n`,
    'a definition in a list in a definition': 'A[^a]B[^b]\n\n[^a]: - > [^b]: x\n      > y\n\n    z\n',
    'a definition that refers to itself': 'A[^a]\n\n[^a]: A[^a] B[^a]\n',
    'definitions that refer to each other': 'A[^a]\n\n[^a]: A[^b]\n[^b]: A[^a]\n',
    'footnotes in footnotes': `${'A^['.repeat(2_000)}${']'.repeat(2_000)}`,
    'a label of the prototype': 'A[^__proto__] [^constructor]\n\n[^__proto__]: x\n[^constructor]: y\n',
    'many labels that do not end': `${'[^a'.repeat(2_000)}\n\n[^a]: x\n`,
    'a callout': 'A[^a]\n\n[^a]: > [!note] x\n    > y\n',
  }
  for (const [what, text] of Object.entries(hostile))
    it(`leave no tag open with ${what}`, () => {
      expectBalanced(html(text))
    })

  it('are as many as a text may have', () => {
    const shown = html(`${'[^1]'.repeat(600)}\n\n[^1]: x\n`)
    expect(shown.match(/<sup /g)).to.have.length(500)
    expect(shown.match(/\[\^1\]/g)).to.have.length(100)
    expect(html('^[a]'.repeat(600)).match(/<li /g)).to.have.length(500)
  })

  it('take as many steps as the text is long', () => {
    let steps = 0
    const tokenize = markdown.inline.skipToken
    markdown.inline.skipToken = function count(state) {
      steps++
      return tokenize.call(this, state)
    }
    try {
      html('A^['.repeat(2_500))
      expect(steps).to.be.below(200 * 7_500)
    } finally {
      markdown.inline.skipToken = tokenize
    }
  })
})

describe('marked text', () => {
  it('has two equals signs on both sides', () => {
    expect(html('A ==B *c*== d, a == b == c, ==')).to.equal('<p>A <mark>B <em>c</em></mark> d, a == b == c, ==</p>\n')
    expect(html('`==a==` \\==b==')).to.equal('<p><code>==a==</code> ==b==</p>\n')
  })
})
