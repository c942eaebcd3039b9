/** Pages that a page embeds: what is shown of them, where it ends, and when it is read again. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const asPage = { accept: 'text/html', 'sec-fetch-mode': 'navigate' }

describe('a page that embeds others', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let org: string

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas', published: true }))).id
  })

  /** Each node has a path, as an import gives it, so that links find it by name. */
  const add = async (title: string, text_content: string): Promise<string> =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title, text_content, properties: { source_path: `${title}.md` } }))).id
  const change = (id: string, content: string) =>
    made(
      ann.post(`/orgs/${org}/nodes/${id}/tree/main/commits`, {
        message: 'Change',
        changes: [{ action: 'put', path: 'content.md', content }],
      }),
    )
  const open = async (id: string, headers: object = {}) => {
    return readPage(client(grove), pageAt(org, id), { ...asPage, ...headers })
  }
  const proseOf = (html: string) => /<div class="prose">([\s\S]*?)<\/div><(section|\/article|p)/.exec(html)?.[1] ?? html
  const prose = async (id: string) => proseOf((await open(id)).body)
  const card = (href: string, title: string, text: string, why = '') =>
    `<blockquote class="embed">\n<p class="embed-of"><a class="node" href="${href}">${title}</a></p>\n` +
    `<div class="embed-text">\n${text}</div>\n${why && `<p class="why">${why}</p>\n`}</blockquote>\n`
  const url = (id: string, anchor = '') => `${pageAt(org, id)}${anchor}`

  it('shows a whole text, a section up to the next of its level, and a block', async () => {
    const krill = await add(
      'Krill',
      '# Krill\n\nSmall. [Home][r]\n\n## Food\n\nAlgae. ^algae\n\n### More\n\nYes.\n\n## Life\n\n- one\n- two ^two\n  - below\n\n| a |\n|---|\n| b |\n\n^table\n\n> said ^said\n\n[r]: https://example.org\n',
    )
    const home = '<a class="outside" href="https://example.org" rel="nofollow noopener">Home</a>'
    const food = `<p class="heading heading-2">Food</p>\n<p>Algae.</p>\n<p class="heading heading-3">More</p>\n<p>Yes.</p>\n`
    const table =
      '<div class="scroll" role="region" aria-label="Table" tabindex="0" dir="auto"><table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table></div>\n'
    const shows = async (written: string, expected: string) =>
      expect(await prose(await add(`Of ${written}`, `![[${written}]]`)), written).to.equal(expected)
    await shows('Krill#Food', card(url(krill, '#food'), 'Krill › Food', food))
    await shows(
      'Krill#food#More',
      card(url(krill, '#more'), 'Krill › food › More', food.slice(food.indexOf('<p class="heading heading-3'))),
    )
    await shows('Krill#^algae', card(url(krill, '#block-algae'), 'Krill', '<p>Algae.</p>\n'))
    await shows(
      'Krill#^two',
      card(url(krill, '#block-two'), 'Krill', '<ul dir="auto">\n<li>two\n<ul>\n<li>below</li>\n</ul>\n</li>\n</ul>\n'),
    )
    await shows('Krill#^table', card(url(krill, '#block-table'), 'Krill', table))
    await shows(
      'Krill#^said',
      card(url(krill, '#block-said'), 'Krill', '<blockquote dir="auto">\n<p>said</p>\n</blockquote>\n'),
    )
    const whole = await prose(await add('Of all', 'Before\n![[Krill]]\nafter'))
    expect(whole).to.include(`<p>Before</p>\n<blockquote class="embed">`)
    expect(whole).to.include(`<div class="embed-text">\n<p>Small. ${home}</p>\n${food}`)
    expect(whole).to.match(/<\/blockquote>\n<p>after<\/p>\n$/)
    const none = (anchor: string, title: string, why: string) =>
      `<div class="embed">\n<p class="embed-of"><a class="node" href="${url(krill, anchor)}">${title}</a></p>\n<p class="why">${why}</p>\n</div>\n`
    await shows('Krill#Nope', none('#nope', 'Krill › Nope', 'This page has no heading “Nope”.'))
    await shows('Krill#^nope', none('#block-nope', 'Krill', 'This page has no block “^nope”.'))
  })

  it('shows one level: an embed in an embed, one in a line, and one of the page itself are links', async () => {
    const outer = await add('Outer', '![[Inner]]\n\n![[#Own]]\n\n## Own\n\n[[#Own]]')
    const inner = await add('Inner', 'Innermost. ![[Outer]]\n\n![[Inner]]\n\n![[Outer]]')
    const link = (id: string, words: string, anchor = '') => `<a class="node" href="${url(id, anchor)}">${words}</a>`
    const text = `<p>Innermost. ${link(outer, 'Outer')}</p>\n<p>${link(inner, 'Inner')}</p>\n<p>${link(outer, 'Outer')}</p>\n`
    const own = '<p><a class="node" href="#own">Own</a></p>\n'
    const heading =
      '<div class="heading"><h2 id="own">Own</h2><a class="anchor" href="#own" aria-label="Link to “Own”"></a></div>\n'
    expect(await prose(outer)).to.equal(`${card(url(inner), 'Inner', text)}${own}${heading}${own}`)
    const row = await prose(await add('Row', '# ![[Inner]]\n\n| ![[Inner]] |\n|---|\n\n- ![[Inner#^x]]'))
    expect(row.match(/class="embed"/g)).to.have.length(1)
    expect(row).to.include(`<th>${link(inner, 'Inner')}</th>`)
  })

  it('has each id once, and no heading of others in its contents', async () => {
    await add('Ids', '## Same\n\nText ^same\n\n[[#Same]] [b](#same)\n\n## Other')
    const page = (await open(await add('Twice', '## Same\n\n![[Ids]]\n\n![[Ids#Same]]\n\n![[Ids]]'))).body
    const ids = [...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).to.equal(ids.length)
    expect(ids.filter((id) => /same|other/.test(id ?? ''))).to.deep.equal(['same'])
    expect(page).to.not.include('href="#other"')
    const targets = [...page.matchAll(/ href="#([^"]*)"/g)].map(([, id]) => id)
    expect(targets.filter((id) => !ids.includes(id))).to.deep.equal([])
  })

  it('has another ETag when an embedded page changes, and the same one otherwise', async () => {
    const whale = await add('Whale', 'Big.\n\n[[Fish]]\n')
    const page = await add('Sea', '![[Whale]]')
    const tag = async () => (await open(page)).headers.etag ?? ''
    const first = await tag()
    expect((await open(page, { 'if-none-match': first })).status).to.equal(304)
    await change(whale, 'Bigger.\n\n[[Fish]]\n')
    const changed = await open(page, { 'if-none-match': first })
    expect(changed.status).to.equal(200)
    expect(changed.body).to.include('Bigger.')
    // A link of the embedded text finds its page.
    const second = changed.headers.etag ?? ''
    expect(second).to.not.equal(first)
    await add('Fish', 'A fish.')
    const linked = await open(page, { 'if-none-match': second })
    expect(linked.status).to.equal(200)
    expect(linked.body).to.match(/<a class="node" href="[^"]*">Fish<\/a>/)
    expect((await open(page, { 'if-none-match': linked.headers.etag ?? '' })).status).to.equal(304)
    await made(ann.patch(`/orgs/${org}/nodes/${whale}`, { title: 'Blue whale' }))
    expect((await open(page, { 'if-none-match': linked.headers.etag ?? '' })).body).to.include('>Blue whale</a></p>')
  })

  it.deep('shows 20 of thousands of embeds, 32 KiB of a long text, and no text that is too long', async () => {
    const names = Array.from({ length: 25 }, (_, at) => `Part ${at}`)
    for (const name of names) await add(name, `Text of ${name}.`)
    const all = await prose(
      await add(
        'Thousands',
        `![[Part 0]]\n\n${names
          .map((name) => `![[${name}]]\n\n`)
          .join('')
          .repeat(40)}`,
      ),
    )
    // Each mention counts, because each is written into the page: Part 0 twice, then Parts 1 to 18.
    expect(all.match(/Text of Part \d+\./g)).to.deep.equal([0, ...Array(19).keys()].map((at) => `Text of Part ${at}.`))
    expect(all).to.include('Only the first 20 embedded pages are shown here.')
    await add('Long', 'Ten bytes\n\n'.repeat(6_000))
    const long = await prose(await add('Of long', '![[Long]]'))
    expect(long.match(/<p>Ten bytes<\/p>/g)?.length).to.be.within(2_900, 3_300)
    expect(long).to.include('<p class="why">Only the beginning is shown here.</p>')
    await add('Longer', 'x\n'.repeat(300_000))
    await add('Longest', 'x'.repeat(600_000))
    const none = await prose(await add('Of longer', '![[Longer]]\n\n![[Longest]]'))
    expect(none.match(/<p class="why">This page is too long to be shown here.<\/p>/g)).to.have.length(2)
  })

  it('shows a page of others only to those who may read it, and hostile texts as text', async () => {
    const hidden = (await made(ann.post('/orgs', { name: 'Hidden' }))).id
    const { id } = await made(ann.post(`/orgs/${hidden}/nodes`, { title: 'Secret', text_content: 'Secret text.' }))
    const page = await prose(await add('Curious', `![[Secret]] ![x](${pageAt(hidden, id)}) \n\n![[${id}]]`))
    expect(page).to.not.include('Secret text.')
    await add('Hostile', '<script>1</script>\n\n<p id="x" href="#y">\n\n" id="z" [a](<#"><b>)\n\n</blockquote></div>')
    const shown = await prose(await add('Of hostile', '![[Hostile]]'))
    expect(shown).to.not.match(/<script|<p id|<b>| id="[xz]"/)
    expect(shown.match(/<\/blockquote>/g)).to.have.length(1)
  })
})
