/** The form for the fields of a typed page, over HTTP and without script. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { type Answer, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { ledTo, mainOf, sendForm, type Visit, visitOf } from './forms.ts'

const hostile = '</textarea><script>"&\''

const recipe = {
  title: 'Recipe',
  enforcement: 'strict',
  schema: {
    properties: {
      serves: { type: 'integer', minimum: 1, title: 'Serves' },
      rating: { type: 'number' },
      course: { type: 'string', enum: ['soup', 'main', 'keep'], title: 'Course' },
      vegan: { type: 'boolean', title: hostile },
      due: { type: 'string', format: 'date' },
      at: { type: 'string', format: 'date-time' },
      source: { type: 'string', format: 'uri' },
      notes: { type: 'string', 'x-multiline': true, description: hostile },
      steps: { type: 'array', items: { type: 'string' } },
      scores: { type: 'array', items: { type: 'number' } },
      seasons: { type: 'array', items: { enum: ['spring', 'winter'] } },
      size: { type: 'object', properties: { width: { type: 'number' } } },
      'a "b" <c>': { type: 'string' },
    },
  },
  connections: { written_by: { title: 'Author', to: ['person'], max: 2 }, pairs_with: {} },
}

describe('the form for the fields of a page', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let visit: Visit
  let org: string

  before(async () => {
    visit = await visitOf(grove, ann)
  })
  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Kitchen' }))).id
  })

  const define = (more: object = {}) =>
    made(ann.put(`/orgs/${org}/types/recipe`, { definition: { ...recipe, ...more } }))
  const node = async (title: string, properties: object = {}): Promise<string> =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title, properties }))).id
  const read = (id: string) => made(ann.get(`/orgs/${org}/nodes/${id}`))
  const jsonOf = async (id: string): Promise<string> =>
    (await made(ann.get(`/orgs/${org}/nodes/${id}/tree/main/files/node.json`))).content
  const at = (id: string) => `${pageAt(org, id)}/fields`
  const decoded = (html: string) =>
    html.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')

  type Fields = Record<string, string | string[]>

  /** All that a browser would send, with the first button. */
  function fieldsIn(answer: Answer): Fields {
    const [, form = ''] = /<form class="fields"[^>]*>([\s\S]*?)<\/form>/.exec(mainOf(answer)) ?? []
    const all: [string, string][] = []
    const attribute = (tag: string, name: string) => {
      const [, value] = new RegExp(` ${name}="([^"]*)"`).exec(tag) ?? []
      return value === undefined ? undefined : decoded(value)
    }
    for (const [tag, , inner = ''] of form.matchAll(
      /<(?:input(?:[^>"]|"[^"]*")*>|(textarea|select)(?:[^>"]|"[^"]*")*>([\s\S]*?)<\/\1>)/g,
    )) {
      const name = attribute(tag, 'name') ?? ''
      if (tag.startsWith('<textarea')) all.push([name, decoded(inner.replace(/^\n/, ''))])
      else if (tag.startsWith('<select')) {
        const chosen = [...inner.matchAll(/<option(?:[^>"]|"[^"]*")*>/g)].find(([one]) => / selected/.test(one))
        all.push([name, attribute(chosen?.[0] ?? '', 'value') ?? ''])
      } else if (attribute(tag, 'type') !== 'checkbox' || / checked/.test(tag))
        all.push([name, attribute(tag, 'value') ?? ''])
    }
    const fields: Record<string, string[]> = {}
    for (const [name, value] of all) fields[name] = [...(fields[name] ?? []), value]
    return { ...fields, act: 'save' }
  }
  const open = async (id: string) => {
    const answer = await visit.open(at(id))
    const shown = answer.status === 301 ? await visit.open(String(answer.headers.location)) : answer
    expect(shown.status).to.equal(200)
    return shown
  }
  const save = async (id: string, change: (fields: Fields) => Fields) =>
    visit.send(at(id), change(fieldsIn(await open(id))))
  const wrongIn = (answer: Answer) =>
    [...mainOf(answer).matchAll(/<p class="wrong"[^>]*>([\s\S]*?)<\/p>/g)].map(([, html = '']) =>
      decoded(html.replace(/<[^>]*>/g, '')).trim(),
    )

  const filled = {
    ...{ type: 'recipe', serves: 4, rating: 0.5, course: 'soup', vegan: true, due: '2026-12-01' },
    ...{
      at: '2026-12-01T10:00:00Z',
      source: 'https://example.org/',
      notes: `One\n${hostile}\n`,
      steps: ['Chop', 'Boil'],
    },
    ...{ scores: [1, 2.5], seasons: ['winter'], size: { width: 3 }, 'a "b" <c>': '<script>', extra: [null, { x: 1 }] },
  }

  it('changes nothing if nobody edits, whatever the values are', async () => {
    await define({ enforcement: 'advisory' })
    const odd = {
      ...{
        type: 'recipe',
        serves: 'four',
        rating: null,
        course: 'cake',
        vegan: 'yes',
        due: 'soon',
        at: 7,
        source: [1],
      },
      ...{ notes: 'a\r\nb', steps: 'one', scores: [[1]], seasons: ['summer'], size: 'large', 'a "b" <c>': null },
    }
    const all: Record<string, unknown>[] = [filled, { type: 'recipe' }, odd]
    for (const properties of all) {
      const id = await node('Leek', properties)
      const before = await jsonOf(id)
      const answer = await save(id, (fields) => fields)
      expect(ledTo(answer)).to.deep.equal([303, pageAt(org, id)])
      // What an input can express becomes a value of the right kind: a text for a number, a list for its only item.
      const mended = properties.at === 7 ? { at: '7', steps: ['one'] } : {}
      const expected = { ...JSON.parse(before).properties, ...mended }
      expect(JSON.parse(await jsonOf(id)).properties).to.deep.equal(expected)
      expect((await open(id)).body).to.not.contain('<script>"')
    }
  })

  it('writes values by their kinds, removes them, and keeps all other bytes', async () => {
    await define()
    const id = await node('Leek', filled)
    const content = `{"title": "Leek",\n "x": 1.50, "properties": {"2": "b", "type": "recipe", "extra": 1.0,\n  "serves": 4, "1": "a"}}\n`
    const changes = [{ action: 'put', path: 'node.json', content }]
    await made(ann.post(`/orgs/${org}/nodes/${id}/tree/main/commits`, { message: 'By hand', changes }))
    const answer = await save(id, (fields) => ({
      ...fields,
      ...{ 'field:serves': ' 6 ', 'field:rating': '2.50', 'field:course': ':keep', 'field:vegan': 'false' },
      ...{ 'field:due': '2026-12-24', 'field:steps': 'Chop\r\n\r\nBoil\r\n', 'field:scores': '1\r\n2.50' },
      ...{ 'field:seasons': [':winter', ':spring'], 'json:size': '{"width": 3.0}', 'field:notes': 'A\r\nB' },
      'field:a "b" <c>': hostile,
    }))
    expect(ledTo(answer)).to.deep.equal([303, pageAt(org, id)])
    expect(await jsonOf(id)).to.equal(
      content
        .replace('"serves": 4', '"serves": 6')
        .replace(
          '"1": "a"',
          `"1": "a", "rating": 2.50, "course": "keep", "vegan": false, "due": "2026-12-24", "notes": "A\\nB", "steps": ["Chop","Boil"], "scores": [1,2.50], "seasons": ["winter","spring"], "size": {"width": 3.0}, "a \\"b\\" <c>": ${JSON.stringify(hostile)}`,
        ),
    )
    const cleared = ['serves', 'course', 'steps', 'vegan', 'notes'].map((name) => [`field:${name}`, ''])
    await save(id, (fields) => ({ ...fields, ...Object.fromEntries(cleared), 'field:seasons': [], 'json:size': '' }))
    const { properties } = await read(id)
    expect(Object.keys(properties)).to.deep.equal(['1', '2', 'type', 'extra', 'rating', 'due', 'scores', 'a "b" <c>'])
  })

  it('keeps what was typed if it is refused, with the reason at each field', async () => {
    await define()
    const id = await node('Leek', { type: 'recipe', serves: 4 })
    const typed = { 'field:serves': 'six', 'field:scores': '1\nb', 'json:size': '{', 'field:due': '2026-12-24' }
    const refused = await save(id, (fields) => ({ ...fields, ...typed }))
    expect([refused.status, wrongIn(refused)]).to.deep.equal([
      422,
      [
        'This must be a whole number, such as 12.',
        'This must be a list of numbers, one a line.',
        'This must be valid JSON, such as {"width": 20}.',
      ],
    ])
    const again = fieldsIn(refused)
    for (const [name, value] of Object.entries(typed)) expect(again[name]).to.deep.equal([value])
    const rule = await visit.send(at(id), { ...again, 'field:serves': '0', 'field:scores': '1', 'json:size': '7' })
    expect([rule.status, wrongIn(rule)]).to.deep.equal([
      422,
      ['Serves must be at least 1; it is 0.', 'size must be an object; it is the number 7.'],
    ])
    expect(fieldsIn(rule)['field:serves']).to.deep.equal(['0'])
    expect((await read(id)).properties).to.deep.equal({ type: 'recipe', serves: 4 })
    const kept = await sendForm(grove, at(id), { ...again, 'field:serves': '9' })
    expect(kept.status).to.equal(401)
    expect(kept.body).to.contain('<input type="hidden" name="field:serves" value="9"')
  })

  it('adds and removes connections in the same commit, by title', async () => {
    await define()
    const id = await node('Leek', { type: 'recipe' })
    const olga = await node('Olga', { type: 'person' })
    const [one, two] = [await node('Twin', { type: 'person' }), await node('twin', { type: 'person' })]
    expect(mainOf(await open(id)))
      .to.contain('<option value="Olga">')
      .and.to.not.contain('<option value="Leek">')
    const commits = async () => (await made(ann.get(`/orgs/${org}/nodes/${id}/tree/main/commits`))).total
    const first = await commits()
    const choose = await save(id, (fields) => ({ ...fields, 'field:serves': '2', 'add:written_by': ['olga', 'TWIN'] }))
    expect([choose.status, wrongIn(choose)]).to.deep.equal([422, ['“TWIN” may mean several pages; tick one below.']])
    expect(fieldsIn(choose)['pick:written_by']).to.deep.equal([olga])
    expect(mainOf(choose)).to.contain(`value="${one}"`).and.to.contain(`value="${two}"`)
    const lost = await visit.send(at(id), { ...fieldsIn(choose), 'add:pairs_with': ['Zzzz'] })
    expect(wrongIn(lost)).to.deep.equal([
      '“TWIN” may mean several pages; tick one below.',
      'No page has a title like “Zzzz”.',
    ])
    const done = await visit.send(at(id), { ...fieldsIn(choose), 'pick:written_by': [olga, String(two)] })
    expect(ledTo(done)).to.deep.equal([303, pageAt(org, id)])
    expect(await commits()).to.equal(first + 1)
    const targets = async () => (await read(id)).connections.map(({ target }: { target: string }) => target).sort()
    expect([await targets(), (await read(id)).properties.serves]).to.deep.equal([[olga, two].sort(), 2])
    const shown = fieldsIn(await open(id))
    const [, ...others] = shown['had:written_by'] as string[]
    await visit.send(at(id), { ...shown, 'keep:written_by': others })
    expect(await targets()).to.have.length(1)
    const more = await save(id, (fields) => ({ ...fields, 'pick:written_by': [String(one), olga, String(two)] }))
    expect([more.status, wrongIn(more)]).to.deep.equal([
      422,
      ['Author must have at most 2 connections; the node has 3.'],
    ])
  })

  it('ticks the only page that a title may mean, and asks until one of several is ticked', async () => {
    await define()
    const id = await node('Leek', { type: 'recipe' })
    const cook = await node('Ann Cook', { type: 'person' })
    const targets = async () => (await read(id)).connections.map(({ target }: { target: string }) => target).sort()
    const one = await save(id, (fields) => ({ ...fields, 'field:serves': 'six', 'add:written_by': 'Ann' }))
    expect([one.status, wrongIn(one)]).to.deep.equal([
      422,
      [
        'This must be a whole number, such as 12.',
        '“Ann” seems to mean “Ann Cook”, which is ticked now. Save again to keep it.',
      ],
    ])
    expect(fieldsIn(one)['pick:written_by']).to.deep.equal([cook])
    expect(ledTo(await visit.send(at(id), { ...fieldsIn(one), 'field:serves': '6' }))[0]).to.equal(303)
    expect(await targets()).to.deep.equal([cook])
    const held = await save(id, (fields) => ({ ...fields, 'add:written_by': 'Ann' }))
    expect(wrongIn(held)).to.deep.equal(['Each page with a title like “Ann” is connected already.'])
    const [cut, boil] = [await node('Ben Cut', { type: 'person' }), await node('Ben Boil', { type: 'person' })]
    const says = '“Ben” may mean several pages; tick one below.'
    let asked = await save(id, (fields) => ({ ...fields, 'field:serves': '7', 'add:written_by': 'Ben' }))
    for (let n = 0; n < 2; n++) {
      const shown = fieldsIn(asked)
      expect([asked.status, wrongIn(asked)]).to.deep.equal([422, [says]])
      expect([shown['pick:written_by'], shown['field:serves'], shown['add:written_by']?.[0]]).to.deep.equal([
        ...[undefined, ['7'], 'Ben'],
      ])
      const html = decoded(mainOf(asked))
      expect(html.indexOf(says)).to.be.lessThan(Math.min(html.indexOf(cut), html.indexOf(boil)))
      asked = await visit.send(at(id), shown)
    }
    expect(await targets()).to.deep.equal([cook])
    await visit.send(at(id), { ...fieldsIn(asked), 'pick:written_by': boil })
    expect([await targets(), (await read(id)).properties.serves]).to.deep.equal([[boil, cook].sort(), 7])
  })

  it('ticks a page by its label, and opens it in another tab', async () => {
    await define()
    const id = await node('Leek', { type: 'recipe' })
    const olga = await node('Olga', { type: 'person' })
    for (const title of ['Twin', 'Twin']) await node(title)
    await made(ann.post(`/orgs/${org}/nodes/${id}/connections`, { target: olga, type: 'pairs_with' }))
    const names = ['Olga', 'Olga', 'Twin', 'Twin']
    const html = mainOf(await save(id, (fields) => ({ ...fields, 'add:written_by': ['olga', 'Twin'] })))
    const boxes = [
      ...html.matchAll(/<label class="check"><input type="checkbox" name="(?:keep|pick):[\s\S]*?<\/label>/g),
    ]
    expect(boxes.map(([box]) => box.replace(/<[^>]*>/g, '')).sort()).to.deep.equal(names)
    for (const [box] of boxes) expect(box).to.not.contain('<a ')
    const links = [
      ...html.matchAll(/<a href="[^"]*" target="_blank" rel="noopener" aria-label="Open (\w+) in a new tab">/g),
    ]
    expect(links.map(([, title]) => title).sort()).to.deep.equal(names)
  })

  it('proposes the change, and shows what others have changed in the meantime', async () => {
    await define()
    const id = await node('Leek', { type: 'recipe', serves: 4, rating: 1 })
    const proposed = await save(id, (fields) => ({ ...fields, 'field:serves': '5', act: 'propose' }))
    expect(ledTo(proposed)).to.deep.equal([303, `${pageAt(org, id)}/proposals/1`])
    const changes = mainOf(await visit.open(`${pageAt(org, id)}/proposals/1`))
    const rows = [...changes.matchAll(/<th scope="row">([\s\S]*?)<\/tr>/g)].map(([, row = '']) =>
      row.split('</t').map((cell) => cell.replace(/^[hd]>|<[^>]*>/g, '')),
    )
    expect(rows).to.deep.equal([['Serves', '4', '5', '']])
    expect(changes).to.contain('node.json')
    const fields = fieldsIn(await open(id))
    await made(ann.patch(`/orgs/${org}/nodes/${id}`, { properties: { type: 'recipe', serves: 8, rating: 2 } }))
    const stale = await visit.send(at(id), { ...fields, 'field:serves': '6', 'field:course': ':soup' })
    expect(stale.status).to.equal(409)
    expect(decoded(mainOf(stale))).to.contain('<li>the property serves, now 8</li><li>the property rating, now 2</li>')
    const next = fieldsIn(stale)
    expect([next['field:serves'], next['field:rating'], next['field:course']]).to.deep.equal([['6'], ['2'], [':soup']])
    await visit.send(at(id), next)
    expect((await read(id)).properties).to.deep.equal({ type: 'recipe', serves: 6, rating: 2, course: 'soup' })
  })

  it('has no inputs for pages without a type, and for readers', async () => {
    await define()
    const plain = await node('Plain')
    const answer = await visit.open(at(plain))
    const shown = answer.status === 301 ? await visit.open(String(answer.headers.location)) : answer
    expect([shown.status, /<form class="fields"/.test(shown.body)]).to.deep.equal([409, false])
    const id = await node('Leek', { type: 'recipe' })
    expect((await visit.open(pageAt(org, id))).status).to.equal(301)
    const bob = await signUp(grove, 'Bob')
    await made(ann.put(`/orgs/${org}/members/${bob.user.email}`, { role: 'reader' }))
    const reading = await (await visitOf(grove, bob)).open(at(id))
    expect(reading.status).to.equal(403)
  })
})
