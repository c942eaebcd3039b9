/** Pictures, sounds, videos and other files in a text: the exact HTML of each way to write them. */

import { expect } from 'chai'
import type { Target } from '../../server/pages/text/markdown.ts'
import { renderText } from '../../server/pages/text/rendering.ts'

const raw = (name: string) => `/raw/${encodeURIComponent(name)}`
const file = (name: string, media?: Target['media']): Target => ({
  ...{ kind: 'file', href: raw(name), name },
  ...(media && { media }),
})

const targets: Readonly<Record<string, Target>> = {
  'a.png': file('a.png', { kind: 'picture', size: 9, width: 800, height: 400 }),
  'an-otter-1.jpg': file('an-otter-1.jpg', { kind: 'picture', size: 9 }),
  'icon.svg': file('icon.svg', { kind: 'picture', size: 9, width: 24, height: 24 }),
  'unknown.png': file('unknown.png', { kind: 'picture', size: 9 }),
  's.mp3': file('s.mp3', { kind: 'audio', size: 3_141_592 }),
  'v.mp4': file('v.mp4', { kind: 'video', size: 999_600 }),
  'p.pdf': file('p.pdf', { kind: 'pdf', size: 1_234 }),
  'fake.mp4': file('fake.mp4'),
  Note: { kind: 'node', href: '/n/1', name: 'Note' },
}
const found = (target: string): Target | undefined =>
  targets[target.split('#')[0] ?? ''] ??
  (/^(https?:)?\/\//.test(target) ? { kind: 'outside', href: target, name: target } : undefined)
const html = (text: string) => renderText(text, '', found).html

const img = (name: string, alt: string, size: string) =>
  `<img src="${raw(name)}" alt="${alt}"${size} loading="lazy" decoding="async">`
const linked = (name: string, alt: string, size: string) =>
  `<a class="picture" href="${raw(name)}">${img(name, alt, size)}</a>`
const figure = (inner: string) => `<figure class="picture">${inner}</figure>\n`

describe('a picture in a text', () => {
  it('has its pixels, or the size that is written, in its proportions', () => {
    for (const [written, alt, size] of [
      ['![[a.png]]', 'a.png', ' width="800" height="400"'],
      ['![[a.png|300]]', 'a.png', ' width="300" height="150"'],
      ['![[a.png|300x200]]', 'a.png', ' width="300" height="150"'],
      ['![[a.png|300x20]]', 'a.png', ' width="40" height="20"'],
      ['![[a.png|0]]', 'a.png', ' width="800" height="400"'],
      ['![300](a.png)', 'a.png', ' width="300" height="150"'],
      ['![|300](a.png)', 'a.png', ' width="300" height="150"'],
      ['<img src="a.png" alt="An otter" width="100">', 'An otter', ' width="100" height="50"'],
      ['![[unknown.png]]', 'unknown.png', ''],
      ['![[unknown.png|30x20]]', 'unknown.png', ' width="30" height="20"'],
    ] as const) {
      const name = /unknown/.test(written) ? 'unknown.png' : 'a.png'
      const wants = /30x/.test(written) ? img : linked
      expect(html(written), written).to.equal(figure(wants(name, alt, size)))
    }
  })

  it('has its words as caption if it is a paragraph, and its file has another name', () => {
    const one = linked('a.png', 'An otter &amp; &lt;b&gt;', ' width="300" height="150"')
    const caption = '<figcaption aria-hidden="true">An otter &amp; &lt;b&gt;</figcaption>'
    expect(html('![An *otter* & <b>|300](a.png)')).to.equal(figure(one + caption))
    expect(html('![[a.png|An otter & <b>|300]]')).to.equal(figure(one + caption))
    for (const alt of ['an otter 1', 'an otter 1.jpg'])
      expect(html(`![${alt}](an-otter-1.jpg)`), alt).not.to.include('figcaption')
    expect(html('![A](a.png)')).to.equal(figure(linked('a.png', 'A', ' width="800" height="400"')))
    const size = ' width="800" height="400"'
    expect(html('Text\n![An otter](a.png)  \n![An otter](a.png)\nmore ^id')).to.equal(
      `<p id="block-id">Text</p>\n${figure(linked('a.png', 'An otter', size)).repeat(2)}<p>more</p>\n`,
    )
  })

  it('is a block on a line of its own, in a callout and in a list, and else part of the line', () => {
    const size = ' width="800" height="400"'
    expect(html('> [!note]\n> ![[a.png]]\n> text')).to.include(
      `</p>${figure(linked('a.png', 'a.png', size))}<p>text</p>`,
    )
    expect(html('- one\n  ![[a.png]]')).to.equal(
      `<ul dir="auto">\n<li>one${figure(linked('a.png', 'a.png', size))}</li>\n</ul>\n`,
    )
    expect(html('Press ![[icon.svg]] now')).to.equal(
      `<p>Press ${img('icon.svg', 'icon.svg', ' width="24" height="24"')} now</p>\n`,
    )
    expect(html('[![x](a.png)](https://b.example) y')).to.equal(
      `<p><a class="outside" href="https://b.example" rel="nofollow noopener">${img('a.png', 'x', size)}</a> y</p>\n`,
    )
  })

  it('is a link with the host if it is elsewhere, and names its file if that is missing', () => {
    const outside = (href: string, words: string) =>
      `<a class="outside" href="${href}" rel="nofollow noopener">${words}</a>`
    const at = 'https://user@example.org:80/x.png'
    expect(html(`![](${at})`)).to.equal(`<p>${outside(at, 'Picture from example.org')}</p>\n`)
    expect(html(`![An otter|250](${at})`)).to.equal(`<p>${outside(at, 'An otter · Picture from example.org')}</p>\n`)
    expect(html(`![250](${at}) x`)).to.equal(`<p>${outside(at, 'Picture from example.org')} x</p>\n`)
    expect(html(`[![build](${at})](https://b.example)`)).to.equal(`<p>${outside('https://b.example', 'build')}</p>\n`)
    const missing = (words: string) =>
      `<span class="missing" title="This page has no file with this name">${words}</span>`
    expect(html('![[x/gone.png#a|300]]')).to.equal(`<p>${missing('Missing file: gone.png')}</p>\n`)
    expect(html('![An otter](x/gone.png)')).to.equal(`<p>${missing('An otter · Missing file: gone.png')}</p>\n`)
    expect(html('![[gone.mp3]]')).to.equal(`<p>${missing('Missing file: gone.mp3')}</p>\n`)
    expect(html('![]()')).to.equal(`<p>${missing('Missing file: no name')}</p>\n`)
    expect(html('![[Gone]]')).to.equal(
      '<p><span class="missing" title="No page or file has this name yet">Gone</span></p>\n',
    )
  })
})

describe('other files in a text', () => {
  it('are played, or are links with their size', () => {
    const figure = (player: string, caption: string) =>
      `<figure class="media">${player}<figcaption>${caption}</figcaption></figure>\n`
    const link = (name: string, words = name, part = '') => `<a class="file" href="${raw(name)}${part}">${words}</a>`
    const audio = (words: string, part = '') =>
      `<audio controls preload="metadata" src="/raw/s.mp3${part}" aria-label="${words}"></audio>`
    const video = '<video controls preload="metadata" playsinline src="/raw/v.mp4" aria-label="v.mp4"></video>'
    expect(html('![[s.mp3]]')).to.equal(figure(audio('s.mp3'), `${link('s.mp3')} <span class="why">3.1 MB</span>`))
    expect(html('![A song](s.mp3#t=1:30,2.5)')).to.equal(
      figure(audio('A song', '#t=1:30,2.5'), `${link('s.mp3', 'A song')} <span class="why">3.1 MB</span>`),
    )
    expect(html('![[s.mp3#t="onerror=1]]')).to.include(audio('s.mp3'))
    expect(html('![[v.mp4]]')).to.equal(figure(video, `${link('v.mp4')} <span class="why">1.0 MB</span>`))
    expect(html('| ![[v.mp4]] |\n|---|')).to.include(`<th>${video}</th>`)
    expect(html('[![[v.mp4]]](https://b.example)')).to.include('noopener">v.mp4</a>')
    expect(html('![[p.pdf#page=3]]')).to.equal(
      `<p class="file-card">${link('p.pdf', 'p.pdf', '#page=3')} <span class="why">PDF · 1.2 KB · page 3</span></p>\n`,
    )
    expect(html('See ![[p.pdf#page=x|the "paper"]]')).to.equal(`<p>See ${link('p.pdf', 'the &quot;paper&quot;')}</p>\n`)
    expect(html('![[fake.mp4]]')).to.equal(`<p>${link('fake.mp4')}</p>\n`)
  })

  it('stay as they are in links, and in notes that are no embeds', () => {
    expect(html('[[v.mp4]]')).to.equal('<p><a class="file" href="/raw/v.mp4">v.mp4</a></p>\n')
    expect(html('![[Note|words]]')).to.equal('<p><a class="node" href="/n/1">words</a></p>\n')
  })

  it('take linear time, however many there are', () => {
    const many = html(`${'![[a.png]]\n'.repeat(700)}\n\n`.repeat(10))
    expect(many.match(/<figure/g)).to.have.length(7_000)
    expect(html(`x ${'![[a.png]] '.repeat(700)}`).match(/<img/g)).to.have.length(700)
  })
})
