/** The table of the pages of a type, and the list of its problems, over HTTP and without script. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { type Client, client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const hostile = '<script>alert(1)</script> "&\' label'

const recipe = {
  title: 'Recipe',
  plural: 'Recipes',
  aliases: ['Dish, old', 'true'],
  schema: {
    required: ['serves'],
    properties: {
      serves: { type: 'integer', minimum: 1, title: 'Serves' },
      course: { type: 'string', enum: ['soup', 'main', 'sweet'], title: hostile },
      vegan: { type: 'boolean' },
      due: { type: 'string', format: 'date' },
      size: { type: 'object', properties: { width: { type: 'number', title: 'Width' } } },
    },
  },
  connections: { written_by: { title: 'Author', to: ['person'], max: 1 } },
}

describe('the table of a type', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let org: string

  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Kitchen', published: true }))).id
    await made(ann.put(`/orgs/${org}/types/recipe`, { definition: recipe }))
  })

  const node = async (title: string, properties: object = {}): Promise<string> =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title, properties }))).id
  const decoded = (html: string) =>
    html.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  const textOf = (html: string) =>
    decoded(html.replace(/<(?:[^>"]|"[^"]*")*>/g, ''))
      .replace(/\s+/g, ' ')
      .trim()
  const texts = (html: string, pattern: RegExp) => [...html.matchAll(pattern)].map(([, found = '']) => textOf(found))

  async function see(query = '', who: Pick<Client, 'get'> = ann, name = 'recipe', status = 200) {
    const answer = await readPage(who, `${pageAt(org)}/types/${name}${query}`)
    expect(answer.status).to.equal(status)
    const html = /<main[\s\S]*<\/main>/.exec(answer.body)?.[0] ?? ''
    return {
      html,
      titles: texts(html, /<th scope="row">([\s\S]*?)<\/th>/g),
      headers: texts(html, /<th scope="col"[^>]*>[\s\S]*?<bdi>([\s\S]*?)<\/bdi>/g),
      chips: texts(html, /<a class="chip"(?:[^>"]|"[^"]*")*>([\s\S]*?)<\/a>/g),
      facets: texts(html, /<section><h2>([\s\S]*?)<\/section>/g),
      link: (text: string) =>
        [...html.matchAll(/<a (?:[^>"]|"[^"]*")*href="([^"]*)"(?:[^>"]|"[^"]*")*>([\s\S]*?)<\/a>/g)]
          .filter(([, , inner = '']) => textOf(inner) === text)
          .map(([, href = '']) => decoded(href))[0],
    }
  }
  async function follow(page: Awaited<ReturnType<typeof see>>, text: string) {
    const link = page.link(text)
    expect(link, text).to.be.a('string')
    return see(String(link).slice(`${pageAt(org)}/types/recipe`.length))
  }
  async function threeRecipes() {
    const ids = [
      await node('Leek', { type: 'recipe', serves: 4, course: 'soup', vegan: true }),
      await node('Beet', { type: 'DISH, OLD', serves: 2, course: 'soup', vegan: false }),
      await node('Tart', { type: 'true', serves: 8, course: 'sweet' }),
    ]
    await node('Olga', { type: 'person', serves: 1, course: 'soup' })
    await node('Bread')
    return ids
  }

  it('has its nodes only, under every name, with the columns and labels of its fields', async () => {
    await threeRecipes()
    const whole = await see()
    expect(whole.titles).to.deep.equal(['Leek', 'Beet', 'Tart'])
    expect(whole.headers).to.deep.equal(['Title', 'Serves', hostile, 'vegan', 'due', 'Author', 'Changed'])
    expect(whole.html).to.contain('<h1>Recipes</h1>').and.to.not.contain('<script>')
    expect(whole.facets).to.deep.equal([`${hostile}soup 2sweet 1`, 'veganno 1yes 1no value 1'])
    const sorted = await follow(whole, 'Serves↕')
    expect(sorted.titles).to.deep.equal(['Beet', 'Leek', 'Tart'])
    const stranger = await see('', client(grove))
    expect(stranger.titles).to.deep.equal(whole.titles)
    for (const text of ['New recipe', 'Settings of this type'])
      expect([whole.link(text), stranger.link(text)].map((link) => link !== undefined)).to.deep.equal([true, false])
  })

  it('takes filters of the visitor in addition, and leads to its own addresses', async () => {
    await threeRecipes()
    const soups = await follow(await see(), 'soup 2')
    expect([soups.titles, soups.chips]).to.deep.equal([['Leek', 'Beet'], ['course="soup"']])
    const two = await see(`?${new URLSearchParams({ where: 'serves:2 OR serves:1 OR title:Bread' })}`)
    expect([two.titles, two.chips]).to.deep.equal([['Beet'], ['serves:2 OR serves:1 OR title:Bread']])
    expect(two.html).to.contain(`action="${pageAt(org)}/types/recipe"`)
    const both = await see(`?${new URLSearchParams({ where: 'serves>2 course:soup', sort: '-serves' })}`)
    expect([both.titles, both.chips]).to.deep.equal([['Leek'], ['serves>2', 'course:soup']])
    expect((await follow(both, 'course:soup')).titles).to.deep.equal(['Tart', 'Leek'])
    const wrong = await see(`?${new URLSearchParams({ where: 'serves:1 OR )x' })}`, ann, 'recipe', 422)
    expect(wrong.html).to.contain('value="serves:1 OR )x"').and.to.contain('class="wrong"')
    const plain = await see(`?${new URLSearchParams({ where: 'serves:1 )x' })}`, ann, 'recipe', 422)
    expect(plain.html).to.contain('serves:1 <mark>)</mark>x')
    const csv = await ann.get(String(both.link('Download as CSV')).replace(/^.*\/orgs/, '/orgs'))
    expect(
      csv.body
        .replace(/^\uFEFF/, '')
        .trim()
        .split('\r\n')
        .map((line: string) => line.split(',')[0]),
    ).to.deep.equal(['title', 'Leek'])
    const feed = await ann.get(String(both.link('Feed')))
    expect([feed.status, texts(feed.body, /<entry>[\s\S]*?<title[^>]*>([\s\S]*?)<\/title>/g)]).to.deep.equal([
      200,
      ['Leek'],
    ])
  })

  it('shows the first two connections if the definition has no columns', async () => {
    const connections = { written_by: { title: 'Author' }, pairs_with: {}, made_in: {} }
    await made(ann.put(`/orgs/${org}/types/recipe`, { definition: { title: 'Recipe', connections } }))
    const leek = await node('Leek', { type: 'recipe' })
    const olga = await node('Olga')
    await made(ann.post(`/orgs/${org}/nodes/${leek}/connections`, { target: olga, type: 'written_by' }))
    const shown = await see()
    expect(shown.headers).to.deep.equal(['Title', 'Author', 'pairs with', 'Tags', 'Changed'])
    expect(shown.link('Olga')).to.equal(pageAt(org, olga))
  })

  it('explains filters by its connections, and which values they take', async () => {
    const [leek = ''] = await threeRecipes()
    const olga = await node('Olga', { type: 'person' })
    await made(ann.post(`/orgs/${org}/nodes/${leek}/connections`, { target: olga, type: 'written_by' }))
    const shown = await see()
    expect(texts(shown.html, /<dt>([\s\S]*?)<\/dt>/g)).to.include.members(['->author:ID', '->written_by:*'])
    expect(texts(shown.html, /<dd>([\s\S]*?)<\/dd>/g)).to.include('pages with Author')
    const saysOf = async (where: string) => {
      const { titles, html } = await see(`?${new URLSearchParams({ where })}`)
      const said = /<p class="unknown">A connection is compared with the id of a page, and <bdi[^>]*>([\s\S]*?)<\/bdi>/g
      return [titles, texts(html, said)]
    }
    expect(await saysOf('->written_by:*')).to.deep.equal([['Leek'], []])
    expect(await saysOf(`->written_by:${olga} title!="x ->a:b"`)).to.deep.equal([['Leek'], []])
    expect(await saysOf('->written_by:Olga')).to.deep.equal([[], ['Olga']])
    const either = `serves:4 (->"written_by"=${olga},"Olga ""O""" OR -->made_in:France)`
    expect(await saysOf(either)).to.deep.equal([['Leek'], ['Olga "O"', 'France']])
    const all = decoded((await readPage(ann, `${pageAt(org)}/nodes`)).body)
    expect(all).to.contain('->author:ID').and.to.not.contain('->written_by:*')
  })

  it('shows the columns of the definition, and the targets of connections as links', async () => {
    const columns = ['serves', 'size.width', '->written_by']
    await made(ann.put(`/orgs/${org}/types/recipe`, { definition: { ...recipe, columns } }))
    const [leek = '', beet = ''] = await threeRecipes()
    const olga = await node(`${hostile} Olga`, { type: 'person' })
    await made(ann.post(`/orgs/${org}/nodes/${leek}/connections`, { target: olga, type: 'written_by' }))
    await made(ann.post(`/orgs/${org}/nodes/${olga}/connections`, { target: beet, type: 'written_by' }))
    const whole = await see()
    expect(whole.headers).to.deep.equal(['Title', 'Serves', 'Width', 'Author'])
    expect(whole.link(`${hostile} Olga`)).to.equal(pageAt(org, olga))
    expect(whole.html.match(/ Olga<\/bdi>/g)).to.have.length(1)
    const csv = String(whole.link('Download as CSV'))
    expect(new URL(csv, 'http://grove').searchParams.get('columns')).to.equal('title,serves,size.width')
    const all = await readPage(ann, `${pageAt(org)}/nodes?columns=-%3Ewritten_by`)
    expect(all.body).to.contain(`<bdi>written by</bdi>`).and.to.contain(pageAt(org, olga))
  })

  it('leads to the nodes that break its rules, which only members see', async () => {
    await node('Leek', { type: 'recipe', serves: 0, course: 'cake' })
    await node('Beet', { type: 'recipe' })
    const { link, html } = await see()
    expect(link('2 pages with problems')).to.equal(`${pageAt(org)}/types/recipe/problems`)
    expect((await see('', client(grove))).html).to.not.contain('with problems')
    expect(html).to.contain(`href="${pageAt(org)}/nodes">All pages`)
    const broken = await see('/problems')
    expect(textOf(broken.html)).to.contain('2 pages break rules of this type.')
    expect(texts(broken.html, /<ul class="broken-rules">([\s\S]*?)<\/ul>/g)).to.deep.equal([
      `Serves must be at least 1; it is 0${hostile} must be "soup", "main" or "sweet"; it is the text "cake"`,
      'Serves is missing',
    ])
    await see('/problems', client(grove), 'recipe', 401)
    await see('', ann, 'film', 404)
    await see('', ann, 'Not-a-name', 404)
    expect((await readPage(ann, `${pageAt(org)}/nodes`)).body).to.contain(`href="${pageAt(org)}/types/recipe"`)
  })
})
