/** HTML, tasks and headings in texts. */

import { expect } from 'chai'
import type { Resolve } from '../../server/pages/text/markdown.ts'
import { renderText } from '../../server/pages/text/rendering.ts'
import { expectBalanced } from './balanced.ts'

const resolve: Resolve = (href) => (href.startsWith('https:') ? { href, kind: 'outside', name: href } : undefined)
const html = (text: string) => renderText(text, '', resolve).html
const cases: [what: string, text: string, html: string][] = [
  [
    'elements of a line',
    'H<sub>2</sub>O<sup>*a*</sup> <KBD>Ctrl</KBD> <mark>b</mark> <u>c</u> <s>d</s><del>e</del><ins>f</ins> <small>g</small> <q>h</q>',
    '<p>H<sub>2</sub>O<sup><em>a</em></sup> <kbd>Ctrl</kbd> <mark>b</mark> <u>c</u> <s>d</s><del>e</del><ins>f</ins> <small>g</small> <q>h</q></p>\n',
  ],
  [
    'no Markdown of keys',
    '<kbd>*</kbd> a <kbd>*</kbd> b<sup>*</sup> c<sup>*</sup>',
    '<p><kbd>*</kbd> a <kbd>*</kbd> b<sup>*</sup> c<sup>*</sup></p>\n',
  ],
  ['breaks of lines', 'a<br>b<br/>c<br class="x" />d', '<p>a<br>\nb<br>\nc<br>\nd</p>\n'],
  [
    'the title of an abbreviation, and no other attribute',
    '<abbr onclick="x" title="a &quot;b&quot; <" class="c">A</abbr> <abbr title="a">B</abbr> <u style="color:red">c</u>',
    '<p>&lt;abbr onclick=&quot;x&quot; title=&quot;a &quot;b&quot; &lt;&quot; class=&quot;c&quot;&gt;A&lt;/abbr&gt; <abbr title="a">B</abbr> <u>c</u></p>\n',
  ],
  ['the content of groups', '<span class="a">b *c*</span> <font color=red>d</font>', '<p>b <em>c</em> d</p>\n'],
  ['lines of groups', '<div align="center">\n\na\n\n</div>\n<p>\nb\n</p>\n', '<p>a</p>\n<p>b</p>\n'],
  [
    'links that lead somewhere',
    '<a class="x" href="https://a.example">b</a> <a href="javascript:x">c</a> [<a href="https://d.example">e</a>](https://f.example)',
    '<p><a class="outside" href="https://a.example" rel="nofollow noopener">b</a> ' +
      '<span class="missing" title="No page or file has this name yet">c</span> ' +
      '<a class="outside" href="https://f.example" rel="nofollow noopener">e</a></p>\n',
  ],
  ['tags without partner as text', 'a <b>c, </i> <div>', '<p>a &lt;b&gt;c, &lt;/i&gt; &lt;div&gt;</p>\n'],
  [
    'tags that cross',
    '<b><i>x</b></i> *a <u>b* c</u>',
    '<p><b>&lt;i&gt;x</b>&lt;/i&gt; <em>a &lt;u&gt;b</em> c&lt;/u&gt;</p>\n',
  ],
  ['other elements as text', '<script>x</script> <my-tag>', '<p>&lt;script&gt;x&lt;/script&gt; &lt;my-tag&gt;</p>\n'],
  ['no element of code', '`<b>x</b>`', '<p><code>&lt;b&gt;x&lt;/b&gt;</code></p>\n'],
  [
    'parts that unfold',
    '<details><summary>A *b*</summary>\n\n- c\n\n</details>\nd',
    '<details>\n<summary>A <em>b</em></summary>\n<ul>\n<li>c</li>\n</ul>\n</details>\n<p>d</p>\n',
  ],
  [
    'parts that are open, in one line, nested, and without summary',
    '<details open>\n<summary>\nA\n</summary>\n<details><summary>b</summary>c</details>\n<details>\n\nd\n</details>\n</details>',
    '<details open="">\n<summary>A</summary>\n<details>\n<summary>b</summary>\n<p>c</p>\n</details>\n' +
      '<details>\n<summary>Details</summary>\n<p>d</p>\n</details>\n</details>\n',
  ],
  ['parts that do not end as text', '<details>\na', '<p>&lt;details&gt;\na</p>\n'],
  [
    'headings',
    '<h2 align="center">A *b*</h2>\ntext',
    '<div class="heading"><h2 id="a-b">A <em>b</em></h2><a class="anchor" href="#a-b" aria-label="Link to “A b”"></a></div>\n<p>text</p>\n',
  ],
  [
    'tasks',
    '- [ ] a\n- [x] *b*\n- [y] c\n',
    '<ul dir="auto">\n<li class="task"><input type="checkbox" disabled aria-label="Open task"> a</li>\n' +
      '<li class="task"><input type="checkbox" disabled checked aria-label="Completed task"> <em>b</em></li>\n<li>[y] c</li>\n</ul>\n',
  ],
]

describe('HTML in a text', () => {
  for (const [what, text, shown] of cases)
    it(`keeps or shows ${what}`, () => {
      expect(html(text)).to.equal(shown)
      expectBalanced(shown)
    })

  const parts = [
    ...['<b>', '</b>', '<b></i>', '<a href="https://x.example">', '[<b>', '<b>](https://x.example)', '*<u>', '</u>*'],
    ...[
      '<details>\n',
      '</details>\n',
      '<details><summary>',
      '> <details>\n',
      '- <details>\n',
      '<div>\n',
      '<h1>',
      '<br>',
    ],
    ...['<summary>', '<b ', '<span x="', '<kbd>', '- [ ] ', '> [!faq]- ', '> [!note]+ <b>\n', '<details></details>\n'],
  ]
  for (const part of parts)
    it(`leaves no tag open with many ${JSON.stringify(part)}`, () => {
      expectBalanced(html(part.repeat(500)))
      expectBalanced(html(`${part}\n\n`.repeat(500)))
    })

  it('is searched for the ends of unfolding parts in a limited number of lines', () => {
    const shown = html(`${'<details>\n\n'.repeat(2_500)}x\n\n${'</details>\n\n'.repeat(200)}`)
    expectBalanced(shown)
    expect(shown.match(/<details>/g)?.length ?? 0).to.be.below(201)
  })
})
