/** Texts as pages show them: what a server reads with turns of the event loop in between is what the editor's preview reads at once. */

import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { markdown, type Resolve, readingBlocks } from '../../server/pages/text/markdown.ts'
import { newEnv, parsing, renderText, writing } from '../../server/pages/text/rendering.ts'
import { renderInTurns, showText } from '../../server/pages/text/texts.ts'
import { countTurns } from '../support/turns.ts'

/** The signal of a reader who does not leave. */
const stays = new AbortController().signal
const longest = 128 * 1024
const filledWith = (piece: string) => piece.repeat(longest / piece.length)

describe('a text that is read in turns', () => {
  it('is the same as one that is read at once', async () => {
    const text = [
      '---\na: b\n---\n# One\n\n[[x|y]] *a* `b` <kbd>c</kbd> %%gone%% ^id\n\n> [!note] Title\n> text https://a.example',
      '## Two { #own }\n\n- [ ] to do\n- [x] done\n\n|a|b|\n|:-|-:|\n|[c](d)|![e](f.png)|\n\n[r]\n\n[r]: g "h"\n\n```\n# code\n```',
      'a'.repeat(9_000),
    ].join('\n\n')
    const resolve = (target: string) => ({ href: `/${target}`, kind: 'node', name: target }) as const
    expect(await renderInTurns(text, 'One', { resolve }, stays)).to.deep.equal(renderText(text, 'One', resolve))
  })

  it('leaves turns to others between its blocks', async () => {
    const block = `${'![[a'.repeat(2_040)}\n\n`
    const { turns } = await countTurns(() => renderInTurns(block.repeat(16), '', { resolve: () => undefined }, stays))
    expect(turns).to.be.at.least(16)
  })
})

describe('a text that is written block by block', () => {
  it('is what markdown-it writes at once', () => {
    const piece = fc.constantFrom(
      ...[
        '# a',
        'a\n===',
        '* a\n* b',
        '* a\n\n  b',
        '1. a',
        '> a\n> * b',
        '> [!tip] a\n> b',
        '|a|b|\n|-|-|\n|c|d|',
        '---',
      ],
      ...[
        '```js\na\n```',
        '    a',
        '- [ ] a',
        'a[^1]',
        '[^1]: b\n\n    c',
        '^[d]',
        '![[x]]',
        '[[x|y]] *a*',
        '$$a$$',
        '<kbd>a</kbd>',
      ],
    )
    const resolve = (target: string) => ({ href: `/${target}`, kind: 'node', name: target }) as const
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.constantFrom('\n', '\n\n'), (pieces, between) => {
        const text = pieces.join(between)
        const [once, stepped] = [newEnv(resolve), newEnv(resolve)]
        const html = markdown.renderer.render(ended(parsing(text, once, {})), markdown.options, once)
        const steps = writing(ended(parsing(text, stepped, {})), stepped, longest)
        expect({ html: ended(steps), headings: stepped.headings }).to.deep.equal({ html, headings: once.headings })
      }),
    )
  })
})

describe('a text whose blocks are parsed one by one', () => {
  it('has the blocks that markdown-it finds at once', () => {
    const line = fc.constantFrom(
      '',
      'a',
      '# b',
      '- c',
      '  - d',
      '> e',
      '```',
      '    f',
      '|g|',
      '|-|',
      '1. h',
      '[^1]: i',
      '---',
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
        const text = `${lines.join('\n')}\n`
        const env = () => newEnv(() => undefined)
        const once: ReturnType<typeof markdown.parse> = []
        markdown.block.parse(text, markdown, env(), once)
        const state = new markdown.core.State(text, markdown, env())
        ended(readingBlocks(state))
        expect(state.tokens).to.deep.equal(once)
      }),
    )
  })
})

describe('a text that would make a large page', () => {
  const card = { title: 'A', html: '<p>word</p>'.repeat(20_000) }
  const resolve = (target: string) => ({ href: `/${target}`, kind: 'node', name: target, card }) as const

  it.deep('has a bounded size, and is shown as its source beyond it', () => {
    const wide = (cells: number, rows: number) => `${'|a'.repeat(cells)}\n${'|-'.repeat(cells)}\n${'|a\n'.repeat(rows)}`
    const texts = [
      filledWith('# a\n'),
      filledWith('a\n===\n'),
      wide(20_000, 3),
      wide(5_000, 20_000),
      filledWith('> > > > a\n\n'),
      filledWith('```js\na\n```\n'),
      filledWith('![[a]]\n\n'),
    ]
    for (const text of texts) {
      const { html, headings } = renderText(text, '', resolve)
      expect(html, text.slice(0, 20)).to.match(
        /^<p class="why">This text has too many parts, so it is shown as its source/,
      )
      expect(html.length + headings.length).to.be.below(4 * longest)
    }
  })

  it('has all of a text of 512 KiB, and is shown as its source beyond it, also by its bytes', () => {
    const usual = '- [page](https://a.example) has some words in *a* line of a list\n'
    const long = usual.repeat((4 * longest) / usual.length)
    expect(renderText(long, '', resolve).html.match(/<li>/g)?.length).to.be.above(8_000)
    for (const text of [`${long}${usual}`, 'é '.repeat(200_000)])
      expect(renderText(text, '', resolve).html).to.include('This text is longer than 512 KiB')
  })

  it('has all of a usual text, and the first 500 headings in its contents', () => {
    const { html, headings } = renderText(
      filledWith('## Section\n\nSome *words* of a [page](https://a.example).\n\n'),
      '',
      resolve,
    )
    expect(html.match(/<h2 /g)?.length).to.be.above(2_000)
    expect(headings).to.have.length(500)
  })

  it('has 20 cards, and links instead of others', () => {
    const { html } = renderText('![[a]]\n\n'.repeat(25), '', (target) => ({
      ...resolve(target),
      card: { title: 'A', html: 'b' },
    }))
    expect(html.match(/embed-text/g)).to.have.length(20)
    expect(html.match(/Only the first 20 embedded pages/g)).to.have.length(5)
  })
})

describe('readers of one text', () => {
  const key = () => randomUUID()
  const read = (key: string, signal: AbortSignal, resolve: Resolve) =>
    showText({ key, text: filledWith('[a](b)\n\n'), title: '', resolve }, signal)

  it('share one rendering', async () => {
    const [one, two] = [counted(), counted()]
    const same = key()
    const [first, second] = await Promise.all([read(same, stays, one.resolve), read(same, stays, two.resolve)])
    expect(second).to.equal(first)
    expect([one.count() > 10_000, two.count()]).to.deep.equal([true, 0])
  })

  it('leave it to those who stay, and the last one ends it', async () => {
    const { resolve, count } = counted()
    const [same, first, second] = [key(), new AbortController(), new AbortController()]
    const shown = [first, second].map(({ signal }) => read(same, signal, resolve).catch((error: unknown) => error))
    first.abort('first')
    expect(await shown[0]).to.equal('first')
    await nextTurn()
    second.abort('second')
    expect(await shown[1]).to.equal('second')
    const before = count()
    for (let turn = 0; turn < 100; turn++) await nextTurn()
    expect(count()).to.equal(before)
    expect((await read(same, stays, resolve)).html).to.include('<a ')
  })

  /** Counts the links that are resolved, which shows how far a rendering came. */
  function counted(): { readonly resolve: Resolve; readonly count: () => number } {
    let links = 0
    const resolve: Resolve = (target) => {
      links++
      return { href: `/${target}`, kind: 'node', name: target }
    }
    return { resolve, count: () => links }
  }
})

function ended<T>(steps: Generator<undefined, T, undefined>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

describe('a link of a text', () => {
  const html = (text: string) =>
    renderText(text, '', (href) => ({ href, kind: 'outside', name: href }) as const).html.trim()

  it('by a bare URL ends before punctuation and marks', () => {
    const link = (url: string) => `<a class="outside" href="${url}" rel="nofollow noopener">${url}</a>`
    for (const [text, shown] of [
      ['~~http://x~~', `<s>${link('http://x')}</s>`],
      ['==http://x==', `<mark>${link('http://x')}</mark>`],
      ['(http://x/ok.)', `(${link('http://x/ok')}.)`],
      ['http://x/?a=b==', link('http://x/?a=b==')],
      ['http://x/a~b', link('http://x/a~b')],
    ])
      expect(html(text ?? '')).to.equal(`<p>${shown}</p>`)
  })

  it('has the title that the text gives it', () => {
    const shown = '<a class="outside" href="b" title="&quot;c&quot; &lt;i&gt;" rel="nofollow noopener">a</a>'
    expect(html('[a](b \'"c" <i>\')')).to.equal(`<p>${shown}</p>`)
  })
})

describe('the title of a callout', () => {
  const html = (text: string) => renderText(text, '', () => undefined).html

  it('ends at the first line break that no link and no emphasis spans', () => {
    expect(html('> [!note] *a\n> b* c\n> text')).to.include('</svg><em>a\nb</em> c</p><p>text</p>')
    expect(html('> [!note] [a\nb](ftp://c.example)\n> text')).to.match(/a\nb<\/span><\/p><p>text<\/p>/)
    expect(html('>[!e][\n](ftp://x)')).to.include('<div class="callout note" dir="auto">')
  })
})
