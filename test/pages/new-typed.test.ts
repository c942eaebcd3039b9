/** Creating a page of a type, over HTTP and without script. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt, plain } from '../support/pages.ts'
import { useWorld } from '../support/world.ts'
import { ledTo, mainOf, type Visit, valueIn, visitOf } from './forms.ts'

const recipe = {
  title: 'Recipe',
  enforcement: 'strict',
  schema: {
    required: ['serves'],
    properties: {
      serves: { type: 'integer', minimum: 1, title: 'Serves' },
      course: { type: 'string', enum: ['soup', 'main'], default: 'soup' },
      'a"b': { type: 'string' },
    },
  },
  connections: { written_by: { title: 'Author', min: 1 } },
  template: {
    text_content: '## Method\n</textarea>',
    tags: ['food', 'a, b'],
    properties: { 'a"b': '<b>"', kitchen: 2 },
  },
}

describe('a new page of a type', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let visit: Visit
  let org: string

  before(async () => {
    visit = await visitOf(grove, ann)
  })
  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Kitchen' }))).id
    await made(ann.put(`/orgs/${org}/types/recipe`, { definition: recipe }))
  })

  const at = () => `${pageAt(org)}/new`

  it('begins with the template and the defaults, and keeps what was typed if it is refused', async () => {
    const olga = (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Olga' }))).id
    const begun = await visit.open(`${at()}?type=recipe&title=Leek`)
    expect(begun.status).to.equal(200)
    expect(valueIn(begun, 'tags')).to.equal('food, &quot;a, b&quot;')
    expect(valueIn(begun, 'field:a&quot;b')).to.equal('&lt;b>&quot;')
    expect(mainOf(begun))
      .to.contain('&lt;/textarea>')
      .and.to.match(/<option value=":soup" selected/)
    const id = valueIn(begun, 'id') ?? ''
    const typed = {
      ...{
        id,
        type: 'recipe',
        title: 'Leek',
        text: '## Method\r\nBoil [[Olga]].\r\n',
        tags: 'food, "a, b"',
        act: 'create',
      },
      ...{ 'shown:serves': '', 'shown:course': '', 'shown:a"b': '', 'field:course': ':main', 'field:a"b': '<b>"' },
      ...{ 'links:written_by': '', 'add:written_by': 'Nobody' },
    }
    const wrong = await visit.send(at(), { ...typed, 'field:serves': 'x' })
    expect([wrong.status, valueIn(wrong, 'field:serves'), valueIn(wrong, 'id')]).to.deep.equal([422, 'x', id])
    const refused = await visit.send(at(), { ...typed, 'field:serves': '', 'add:written_by': '' })
    expect([refused.status, mainOf(refused)].join())
      .to.contain('Serves is missing.')
      .and.to.contain('Author must have at least 1')
    expect(mainOf(refused))
      .to.contain('Boil [[Olga]].')
      .and.to.match(/<option value=":main" selected/)
    const right = { ...typed, 'field:serves': '4', 'add:written_by': 'olga' }
    for (let n = 0; n < 2; n++) expect(ledTo(await visit.send(at(), right))).to.deep.equal([303, pageAt(org, id)])
    const node = await made(ann.get(`/orgs/${org}/nodes/${id}`))
    expect([node.title, node.tags, node.text_content, node.type, node.type_problems]).to.deep.equal([
      ...['Leek', ['food', 'a, b'], '## Method\nBoil [[Olga]].\n', 'recipe', []],
    ])
    expect(node.properties).to.deep.equal({ type: 'recipe', serves: 4, course: 'main', 'a"b': '<b>"', kitchen: 2 })
    expect(
      node.connections.map(({ target, type }: { target: string; type: string }) => [target, type]).sort(),
    ).to.deep.equal([
      [olga, 'links_to'],
      [olga, 'written_by'],
    ])
    expect((await made(ann.get(`/orgs/${org}/nodes/${id}/tree/main/commits`))).total).to.equal(1)
  })

  it('leads to the editor, where pictures are added', async () => {
    await made(ann.put(`/orgs/${org}/types/recipe`, { definition: { title: 'Recipe' } }))
    const id = valueIn(await visit.open(`${at()}?type=recipe`), 'id') ?? ''
    const sent = await visit.send(at(), { id, type: 'recipe', title: 'Beet', text: '', tags: '', act: 'create-edit' })
    expect(ledTo(sent)).to.deep.equal([303, `${pageAt(org, id)}/edit`])
    expect((await visit.open(`${at()}?type=film`)).status).to.equal(404)
  })

  it('is offered on the form for a new page, with all that its address says', async () => {
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Soups' }))
    const offered = async (query: string) =>
      [
        ...mainOf(plain(await visit.open(`${at()}${query}`))).matchAll(
          /<a href="([^"]*[?&](?:amp;)?type=[^"]*)"><bdi>([^<]*)</g,
        ),
      ].map(([, href = '', title = '']) => ({ title, href: href.replaceAll('&amp;', '&') }))
    expect(await offered('')).to.deep.equal([{ title: 'Recipe', href: `${at()}?type=recipe` }])
    const [below] = await offered(`?parent=${id}&title=A%20%26%20B`)
    const opened = await visit.open(String(below?.href))
    expect([opened.status, valueIn(opened, 'parent'), valueIn(opened, 'title')]).to.deep.equal([200, id, 'A &amp; B'])
    for (let n = 1; n <= 21; n++)
      await made(ann.put(`/orgs/${org}/types/t${n}`, { definition: { title: `Kind ${n}` } }))
    const titles = (await offered('')).map(({ title }) => title)
    const kinds = Array.from({ length: 21 }, (_, n) => `Kind ${n + 1}`)
    expect(titles).to.deep.equal([...kinds.slice(0, 20), ...kinds, 'Recipe'])
    expect(mainOf(await visit.open(at()))).to.contain('<summary>All types</summary>')
    const id2 = valueIn(await visit.open(at()), 'id') ?? ''
    const refused = await visit.send(at(), { id: id2, title: '', text: 'Typed', message: '', act: 'create' })
    expect([refused.status, mainOf(refused).includes('aria-label="Types"')]).to.deep.equal([422, false])
  })
})
