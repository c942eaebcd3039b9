/** The table of pages, over HTTP and without script. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, type PersonClient } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('the table of pages', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let org: string

  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Kitchen' }))).id
  })

  const add = (nodes: readonly object[]) => made(ann.post(`/orgs/${org}/nodes/batch`, { nodes }))
  const decoded = (html: string) =>
    html.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  const textOf = (html: string) =>
    decoded(html.replace(/<(?:[^>"]|"[^"]*")*>/g, ''))
      .replace(/\s+/g, ' ')
      .trim()
  const all = (html: string, pattern: RegExp) => [...html.matchAll(pattern)].map(([, found = '']) => found)
  const texts = (html: string, pattern: RegExp) => all(html, pattern).map(textOf)
  /** The addresses of links by their texts. */
  const linksIn = (html: string) =>
    new Map(
      [
        ...html.matchAll(/<a (?:class="[^"]*" )?(?:rel="[^"]*" )?href="([^"]*)"(?:[^>"]|"[^"]*")*>([\s\S]*?)<\/a>/g),
      ].map(([, href = '', text = '']) => [textOf(text), decoded(href)]),
    )

  async function see(path: string, status = 200, who: Pick<PersonClient, 'get'> = ann) {
    const answer = await readPage(who, path)
    expect(answer.status, path).to.equal(status)
    const html = /<main[\s\S]*<\/main>/.exec(answer.body)?.[0] ?? ''
    return {
      html,
      body: answer.body,
      said: texts(html, /<p class="why said"[^>]*>([\s\S]*?)<\/p>/g)[0],
      titles: texts(html, /<th scope="row">([\s\S]*?)<\/th>/g),
      headers: texts(html, /<th scope="col"[^>]*>[\s\S]*?<bdi>([\s\S]*?)<\/bdi>/g),
      cells: all(html, /<tr>(<th scope="row">[\s\S]*?)<\/tr>/g).map((row) =>
        texts(row, /<td[^>]*>([\s\S]*?)<\/td>|<td[^>]*\/>/g),
      ),
      chips: texts(html, /<a class="chip"(?:[^>"]|"[^"]*")*>([\s\S]*?)<\/a>/g),
      links: linksIn(html),
    }
  }
  const at = (query: string | Readonly<Record<string, string>> = '') =>
    `${pageAt(org)}/nodes${query === '' ? '' : `?${new URLSearchParams(query)}`}`

  const soups = [
    { title: 'Leek', tags: ['hot'], properties: { status: 'done', serves: 4, 'in work': 'yes' } },
    { title: 'Beet', tags: ['cold'], properties: { status: 'open', serves: 2 } },
    { title: 'Fish', tags: ['hot'], properties: { status: 'done', serves: 10 } },
    { title: 'Bread' },
  ]

  it('filters, sorts and shows columns as its address says', async () => {
    await add(soups)
    const whole = await see(at())
    expect([whole.titles, whole.said]).to.deep.equal([['Leek', 'Beet', 'Fish', 'Bread'], '4 pages'])
    expect(whole.headers).to.deep.equal(['Title', 'serves', 'status', 'in work', 'Tags', 'Changed'])
    const found = await see(at({ where: 'status:DONE serves>=4', sort: '-serves', columns: 'serves,"in work"' }))
    expect(found.titles).to.deep.equal(['Fish', 'Leek'])
    expect([found.headers, found.cells]).to.deep.equal([
      ['Title', 'serves', 'in work'],
      [
        ['10', ''],
        ['4', 'yes'],
      ],
    ])
    expect(found.html).to.match(/<th scope="col" aria-sort="descending"><a [^>]*><bdi>serves/)
    expect(found.html.match(/aria-sort/g)).to.have.length(1)
    const other = await see(found.links.get('serves↕') ?? found.links.get('serves▼') ?? '')
    expect(other.titles).to.deep.equal(['Leek', 'Fish'])
    expect(other.html).to.match(/aria-sort="ascending"/)
    expect((await see(other.links.get('serves▲') ?? '')).titles).to.deep.equal(['Fish', 'Leek'])
  })

  it('has a link that removes each condition, and links that add one for each value', async () => {
    await add(soups)
    const found = await see(at({ where: 'status:done serves>4', sort: 'title' }))
    expect(found.chips).to.deep.equal(['status:done', 'serves>4'])
    const left = await see(found.links.get('serves>4') ?? '')
    expect([left.chips, left.titles]).to.deep.equal([['status:done'], ['Fish', 'Leek']])
    const whole = await see(at({ where: 'title:leek OR title:fish OR title:bread' }))
    const narrow = await see(whole.links.get('done 2') ?? '')
    expect(narrow.chips).to.deep.equal(['(title:leek OR title:fish OR title:bread)', 'status="done"'])
    expect(narrow.titles).to.deep.equal(['Leek', 'Fish'])
    expect(narrow.html).to.match(/<a href="[^"]*" aria-current="true"><bdi>done/)
    expect((await see(narrow.links.get('done 2') ?? '')).titles).to.deep.equal(['Leek', 'Fish', 'Bread'])
    const missing = await see(whole.links.get('no value 1') ?? '')
    expect(missing.titles).to.deep.equal(['Bread'])
    expect((await see((await see(at())).links.get('hot 2') ?? '')).titles).to.deep.equal(['Leek', 'Fish'])
  })

  it('leads through its pages, and says if there are no more', async () => {
    await add(Array.from({ length: 120 }, (_, n) => ({ title: `N${n}`, properties: { n } })))
    const first = await see(at({ sort: '-n' }))
    expect([first.said, first.titles.length, first.titles[0]]).to.deep.equal(['1 to 50 of 120 pages', 50, 'N119'])
    const second = await see(first.links.get('Next') ?? '')
    const third = await see(second.links.get('Next') ?? '')
    expect([third.said, third.titles.at(-1)]).to.deep.equal(['101 to 120 of 120 pages', 'N0'])
    expect(third.links.has('Next')).to.equal(false)
    expect((await see(third.links.get('Previous') ?? '')).titles).to.deep.equal(second.titles)
    const beyond = await see(at({ page: '9' }))
    expect(beyond.said).to.equal('There are only 120 pages. Go back to the first ones.')
    expect((await see(beyond.links.get('Previous') ?? '')).titles).to.have.length(20)
    expect((await see(at({ page: 'x' }))).titles).to.have.length(50)
  })

  it('keeps a wrong filter, and marks its position', async () => {
    await add(soups)
    const wrong = await see(at({ where: 'status:done )x', columns: 'serves' }), 422)
    expect(wrong.html).to.contain('value="status:done )x"').and.to.contain('aria-describedby="where-wrong"')
    expect(textOf(/<div class="wrong"[\s\S]*?<\/div>/.exec(wrong.html)?.[0] ?? '')).to.equal(
      'This ) closes no parenthesis.status:done )x',
    )
    expect(wrong.html).to.contain('status:done <mark>)</mark>x')
    expect(wrong.html).to.contain('<input type="hidden" name="columns" value="title,serves"')
    expect((await see(at({ where: 'x'.repeat(2_001) }), 422)).html).to.contain('at most 2000 characters')
    const sort = await see(at({ sort: 'a b', where: 'status:done' }), 422)
    expect((await see(sort.links.get('Remove the sort') ?? '')).titles).to.deep.equal(['Leek', 'Fish'])
  })

  it('leads from an unknown name to the nearest one', async () => {
    await add(soups)
    const found = await see(at({ where: '-statos:done serves>1', sort: '-statos' }))
    expect(found.html).to.match(/No page has a property <bdi class="name">statos<\/bdi>/)
    const right = await see(found.links.get('status') ?? '')
    expect([right.chips, right.titles]).to.deep.equal([['-status:done', 'serves>1'], ['Beet']])
    expect(right.html).to.match(/aria-sort="descending"><a [^>]*><bdi>status/)
    expect((await see(at({ where: 'zzzzzz:1' }))).html).to.not.contain('Did you mean')
  })

  it('says that nothing matches, and that there are no pages', async () => {
    expect((await see(at())).html).to.match(/This table has all pages[\s\S]*Write the first page/)
    await add(soups)
    const none = await see(at({ where: 'status:nowhere' }))
    expect(none.said).to.equal('No page matches this filter. Show all pages')
    expect((await see(none.links.get('Show all pages') ?? '')).titles).to.have.length(4)
  })

  it('leads to the same table as CSV', async () => {
    await add(soups)
    const found = await see(at({ where: 'status:done', sort: '-serves', columns: '"in work",tags' }))
    const csv = await ann.get(found.links.get('Download as CSV') ?? '', { accept: 'text/html' })
    expect(csv.body).to.equal('\uFEFFtitle,in work,tags\r\nFish,,hot\r\nLeek,yes,hot\r\n')
  })

  it('is where a tab leads, and open to anyone if the organisation is published', async () => {
    await add(soups)
    expect((await readPage(ann, pageAt(org))).body).to.contain(`href="${pageAt(org)}/nodes"`)
    const anyone = client(grove)
    expect((await readPage(anyone, at())).status).to.not.equal(200)
    await made(ann.patch(`/orgs/${org}`, { published: true }))
    const found = await see(at({ where: 'serves>2' }), 200, anyone)
    expect(found.titles).to.deep.equal(['Leek', 'Fish'])
    expect((await anyone.get(found.links.get('Download as CSV') ?? '')).status).to.equal(200)
  })

  it('leads to the most used types, and to the list of all', async () => {
    await made(ann.patch(`/orgs/${org}`, { published: true }))
    for (let n = 1; n <= 21; n++)
      await made(ann.put(`/orgs/${org}/types/t${n}`, { definition: { title: `Kind ${n}` } }))
    await add([
      { title: 'A', properties: { type: 't21' } },
      { title: 'B', properties: { type: 't21' } },
    ])
    await add([{ title: 'C', properties: { type: 't20' } }])
    const typesIn = ({ html }: { html: string }) => /<nav class="type-links"[\s\S]*?<\/nav>/.exec(html)?.[0] ?? ''
    const ours = typesIn(await see(at()))
    const names = texts(ours, /<bdi>([\s\S]*?)<\/bdi>/g)
    expect([names.slice(0, 2), new Set(names).size, names.length]).to.deep.equal([['Kind 21', 'Kind 20'], 20, 20])
    expect(linksIn(ours).get('All 21 types')).to.equal(`${pageAt(org)}/settings/types`)
    const [first = '', rest = ''] = typesIn(await see(at(), 200, client(grove))).split(
      '<summary>All 21 types</summary>',
    )
    expect([first, rest].map((html) => texts(html, /<bdi>([\s\S]*?)<\/bdi>/g).length)).to.deep.equal([20, 21])
  })

  it.deep('shows hostile names and values as text, and its links still mean them', async () => {
    const names = [
      '<script>alert(1)</script>',
      '=cmd',
      '__proto__',
      'constructor',
      'a.b',
      'say "it"',
      '-x',
      'OR',
      'title',
      'tags',
      '\u202etxet',
      'name\nline',
      'ü,;&amp;',
      'long '.repeat(60).trim(),
    ]
    const value = '"><img src=x onerror=alert(1)>'
    for (const [n, name] of names.entries()) {
      org = (await made(ann.post('/orgs', { name: `Zoo ${n}` }))).id
      const properties = JSON.parse(`{${JSON.stringify(name)}: ${JSON.stringify(value)}}`)
      await add([{ title: 'A', properties }, { title: 'B', properties }, { title: '<b>C</b>' }])
      const chosen = name.includes('"') ? `"${name.replaceAll('"', '""')}"` : `"${name}"`
      const found = await see(at({ columns: chosen, sort: `-${chosen}` }))
      expect(found.html, name).to.not.match(/<(script|img|b)\b(?! )/)
      expect(found.titles).to.deep.equal(['A', 'B', '<b>C</b>'])
      expect(found.cells, name).to.deep.equal([[value], [value], ['']])
      expect(found.html, name).to.contain('aria-sort="descending"')
      if (name.length > 100) continue
      const narrow = await see(found.links.get(`${value} 2`) ?? '')
      expect(narrow.titles, name).to.deep.equal(['A', 'B'])
      expect((await see(narrow.links.get(`${value} 2`) ?? '')).titles, name).to.have.length(3)
      const csv = await ann.get(narrow.links.get('Download as CSV') ?? '')
      expect(csv.body.split('\r\n').slice(1, 3), name).to.deep.equal(
        ['A', 'B'].map((title) => `${title},"${value.replaceAll('"', '""')}"`),
      )
    }
  })
})
