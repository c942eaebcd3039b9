/** The fields of a typed page, over HTTP and without script. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { type Client, client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const hostile = '<b>"Serves" & more</b>'

const recipe = {
  title: 'Recipe',
  schema: {
    required: ['serves', 'course'],
    additionalProperties: false,
    properties: {
      serves: { type: 'integer', minimum: 1, title: hostile },
      course: { type: 'string', enum: ['soup', 'main'], title: 'Course' },
      vegan: { type: 'boolean', title: 'Vegan' },
      due: { type: 'string', format: 'date', title: 'Due' },
      at: { type: 'string', format: 'date-time' },
      source: { type: 'string', format: 'uri', title: 'Source' },
      cook: { type: 'string', format: 'email', title: 'Cook' },
      steps: { type: 'array', items: { type: 'string' }, title: 'Steps' },
      type: { type: 'string' },
    },
  },
  connections: { written_by: { title: 'Author', min: 1, inverse: 'Wrote' }, links_to: { inverse: 'Mentioned in' } },
}

describe('the fields of a typed page', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let org: string

  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Kitchen', published: true }))).id
    await made(ann.put(`/orgs/${org}/types/recipe`, { definition: recipe }))
  })

  const node = async (title: string, properties: object = {}): Promise<string> =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title, properties }))).id
  const connect = (from: string, target: string, type: string) =>
    made(ann.post(`/orgs/${org}/nodes/${from}/connections`, { target, type }))

  /** The rows of the list, each with its label and the HTML of its value. */
  async function rowsOf(id: string, who: Pick<Client, 'get'> = ann) {
    const { body } = await readPage(who, pageAt(org, id))
    const [, section = ''] = /<section class="properties typed"[^>]*>([\s\S]*?)<\/section>/.exec(body) ?? []
    const [first = '', fold = ''] = section.replaceAll('&quot;', '"').split('<details')
    const rows = (html: string) =>
      Object.fromEntries(
        [...html.matchAll(/<dt>(?:<bdi>)?([\s\S]*?)(?:<\/bdi>)?<\/dt><dd>([\s\S]*?)<\/dd>/g)].map(
          ([, label = '', value]) => [label, value],
        ),
      )
    return { body, rows: rows(first), fold, folded: rows(fold) }
  }

  it('have labels, and values by their kinds', async () => {
    const id = await node('Leek', {
      ...{ type: 'Recipe', serves: 4, course: 'soup', vegan: false, due: '2026-12-01', at: '2026-12-01T10:00:00Z' },
      ...{ source: 'https://example.org/leek', cook: 'olga@example.org', steps: ['Chop', '<i>Boil</i>'] },
      description: 'A soup for winter.',
    })
    const olga = await node('Olga <i>')
    await connect(id, olga, 'written_by')
    const { rows, body, folded } = await rowsOf(id)
    expect(rows).to.deep.equal({
      Type: `<a href="${pageAt(org)}/types/recipe"><bdi>Recipe</bdi></a>`,
      '&lt;b>"Serves" &amp; more&lt;/b>': '<bdi>4</bdi>',
      Course: '<bdi>soup</bdi>',
      Vegan: 'no',
      Due: '<time datetime="2026-12-01" title="2026-12-01">1 Dec 2026</time>',
      at: '<time datetime="2026-12-01T10:00:00Z" title="1 Dec 2026, 10:00 UTC" data-as="day">1 Dec 2026</time>',
      Source: '<a href="https://example.org/leek" rel="noopener nofollow">https://example.org/leek</a>',
      Cook: '<a href="mailto:olga@example.org"><bdi>olga@example.org</bdi></a>',
      Steps: '<ul class="items"><li><bdi>Chop</bdi></li><li><bdi>&lt;i>Boil&lt;/i></bdi></li></ul>',
      Author: `<a href="${pageAt(org, olga)}"><bdi>Olga &lt;i></bdi></a>`,
    })
    expect(body).to.contain('<p class="lede">A soup for winter.</p>')
    expect(folded).to.deep.equal({})
  })

  it('have their problems next to them, for members', async () => {
    const id = await node('Leek', {
      type: 'recipe',
      course: 'cake',
      due: 'soon',
      colour: 'green',
      source: 'javascript:x',
    })
    const { rows, fold, folded, body } = await rowsOf(id)
    const said = (value = '') =>
      value
        .replace(/<[^>]*>/g, ' ')
        .replace(/\s+/g, ' ')
        .trim()
    expect(Object.fromEntries(Object.entries(rows).map(([label, value]) => [label, said(value)]))).to.deep.equal({
      Type: 'Recipe',
      '&lt;b>"Serves" &amp; more&lt;/b>': 'empty &lt;b>"Serves" &amp; more&lt;/b> is missing',
      Course: 'cake Course must be "soup" or "main"; it is the text "cake"',
      Due: 'soon Due must be a date, such as 2026-12-31; it is the text "soon"',
      Source: 'javascript:x',
      Author: 'empty Author must have at least 1 connection; the node has 0',
    })
    expect(folded).to.deep.equal({ colour: '<bdi>green</bdi>' })
    expect(fold)
      .to.match(/^ open>/)
      .and.to.contain('<bdi class="name">colour</bdi> is not')
    expect(body).to.not.contain('href="javascript:')
    const stranger = await rowsOf(id, client(grove))
    expect(Object.keys(stranger.rows)).to.deep.equal(['Type', 'Course', 'Due', 'Source'])
    expect(stranger.body).to.not.contain('class="broken"')
  })

  it('have the pages that lead here under the names that their types give', async () => {
    await made(ann.put(`/orgs/${org}/types/person`, { definition: { title: 'Person' } }))
    const olga = await node('Olga', { type: 'person', born: 1950 })
    const leek = await node('Leek', { type: 'recipe' })
    const beet = await node('Beet', { type: 'RECIPE' })
    const book = await node('Book', { type: 'book' })
    for (const from of [leek, beet, book]) await connect(from, olga, 'written_by')
    await connect(olga, leek, 'links_to')
    const link = (id: string, title: string) => `<a href="${pageAt(org, id)}"><bdi>${title}</bdi></a>`
    const { rows, folded } = await rowsOf(olga)
    expect(rows).to.deep.equal({
      Type: `<a href="${pageAt(org)}/types/person"><bdi>Person</bdi></a>`,
      Wrote: `${link(leek, 'Leek')}, ${link(beet, 'Beet')}`,
    })
    expect(folded).to.deep.equal({ born: '<bdi>1950</bdi>' })
    expect((await rowsOf(leek)).rows).to.not.have.property('Mentioned in')
    expect((await rowsOf(book)).body)
      .to.contain('class="properties"')
      .and.to.not.contain('properties typed')
  })
})
