/** Texts as pages show them: what a server reads with turns of the event loop in between is what the editor's preview reads at once. */

import { expect } from 'chai'
import { renderText } from '../../server/pages/text/rendering.ts'
import { renderInTurns } from '../../server/pages/text/texts.ts'
import { countTurns } from '../support/turns.ts'

describe('a text that is read in turns', () => {
  it('is the same as one that is read at once', async () => {
    const text = [
      '---\na: b\n---\n# One\n\n[[x|y]] *a* `b` <kbd>c</kbd> %%gone%% ^id\n\n> [!note] Title\n> text https://a.example',
      '## Two { #own }\n\n- [ ] to do\n- [x] done\n\n|a|b|\n|:-|-:|\n|[c](d)|![e](f.png)|\n\n[r]\n\n[r]: g "h"\n\n```\n# code\n```',
      'a'.repeat(9_000),
    ].join('\n\n')
    const resolve = (target: string) => ({ href: `/${target}`, kind: 'node', name: target }) as const
    expect(await renderInTurns(text, 'One', resolve)).to.deep.equal(renderText(text, 'One', resolve))
  })

  it('leaves turns to others between its blocks', async () => {
    const block = `${'![[a'.repeat(2_040)}\n\n`
    const { turns } = await countTurns(() => renderInTurns(block.repeat(16), '', () => undefined))
    expect(turns).to.be.at.least(16)
  })
})

describe('the title of a callout', () => {
  const html = (text: string) => renderText(text, '', () => undefined).html

  it('ends at the first line break that no link and no emphasis spans', () => {
    expect(html('> [!note] *a\n> b* c\n> text')).to.include('</svg><em>a\nb</em> c</p><p>text</p>')
    expect(html('> [!note] [a\nb](ftp://c.example)\n> text')).to.match(/a\nb<\/span><\/p><p>text<\/p>/)
    expect(html('>[!e][\n](ftp://x)')).to.include('<div class="callout note">')
  })
})
