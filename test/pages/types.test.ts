/** The pages of types in the settings of an organisation, without scripts. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import type { Answer } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { ledTo, mainOf, type Visit, visitOf } from './forms.ts'
import { fieldsIn } from './sent-forms.ts'

const recipe = {
  title: 'Recipe',
  schema: {
    required: ['serves'],
    properties: { serves: { type: 'integer', minimum: 1, title: 'Serves', 'x-unit': 'people' } },
  },
}

describe('the pages of types', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'stranger' })
  let visit: Visit
  let reader: Visit
  let org: string
  let page: string

  before(async () => {
    visit = await visitOf(grove, ann)
    reader = await visitOf(grove, bob)
  })
  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    await made(ann.put(`/orgs/${org}/members/${bob.user.email}`, { role: 'reader' }))
    page = `${pageAt(org)}/settings/types`
  })

  const define = (name: string, definition: object) => made(ann.put(`/orgs/${org}/types/${name}`, { definition }))
  const read = async (name: string) => (await made(ann.get(`/orgs/${org}/types/${name}`))).definition
  const node = async (properties: object, title = 'A page') =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title, properties }))).id
  /** The fields that a browser would send for the form of a page. */
  const formOf = (answer: Answer) => {
    const form = /<form method="post"[^>]*class="fields type-form"[\s\S]*?<\/form>/.exec(mainOf(answer))?.[0] ?? ''
    return Object.fromEntries(fieldsIn(form))
  }
  const send = (path: string, fields: Record<string, string>, act: string) => visit.send(path, { ...fields, act })
  const words = (answer: Answer) =>
    mainOf(answer)
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .replaceAll('&quot;', '"')
  const faultAt = (answer: Answer, name: string) =>
    new RegExp(`id="${name.replace('.', '\\.')}-wrong"[^>]*>([^<]*)<`).exec(answer.body)?.[1]

  it('list types and texts that nobody defined, which a link defines', async () => {
    await define('recipe', { ...recipe, enforcement: 'strict' })
    for (const type of ['Recipe', 'recipie', 'recipie', '<b> “x”']) await node({ type, serves: 1 })
    const listed = await visit.open(page)
    expect(words(listed)).to.include('Recipe recipe · strict 1 page Problems').and.include('recipie 2 pages Define')
    expect(listed.body)
      .to.match(/href="[^"]*\/types\/recipe"/)
      .and.match(/href="[^"]*\/types\/recipe\/problems"/)
    expect(listed.body).to.include('&lt;b>').and.not.include('<b> “x”')
    const [, link = ''] = /href="([^"]*\?name=recipie)"/.exec(listed.body) ?? []
    expect(formOf(await visit.open(link))).to.include({ title: 'Recipie', name: '', aliases: '' })
    const odd = formOf(await visit.open(`${page}/new?name=Field%20Notes`))
    expect(odd).to.include({ title: 'Field Notes', aliases: 'Field Notes' })
  })

  it('are read by members, and changed only by maintainers', async () => {
    await define('recipe', recipe)
    const [list, type, blank] = await Promise.all(['', '/recipe', '/new'].map((path) => reader.open(page + path)))
    for (const shown of [list, type, blank]) {
      expect(shown?.status).to.equal(200)
      expect(shown?.body).to.include('Only maintainers and owners can change types. Your role: reader.')
      expect(mainOf(shown as Answer)).to.not.match(/value="(save|check|as-json|delete|unknown)"(?![^>]* disabled)/)
    }
    expect(type?.body).to.include('<fieldset class="type-all" disabled>')
    const fields = formOf(await visit.open(`${page}/recipe`))
    expect((await reader.send(`${page}/recipe`, { ...fields, act: 'save' })).status).to.equal(403)
    expect(
      (await reader.send(`${page}/recipe`, { act: 'delete', version: fields.version ?? '', nodes: '1' })).status,
    ).to.equal(403)
    expect((await reader.send(page, { act: 'unknown', refuse: 'on' })).status).to.equal(403)
    expect((await visit.send(page, { act: 'else' })).status).to.equal(400)
    expect((await visit.send(`${page}/recipe`, { ...fields, act: 'else' })).status).to.equal(400)
    expect((await visit.send(`${page}/recipe`, { act: 'save' })).status).to.equal(400)
    expect((await visit.open(`${page}/none`)).status).to.equal(404)
  })

  it('say in plain words what rules do, and which names readers see', async () => {
    await define('recipe', recipe)
    await node({ type: 'recipe', serves: 1 })
    expect(words(await visit.open(page))).to.include('If a type is strict, changes that break its rules are refused.')
    const shown = words(await visit.open(`${page}/recipe`))
    expect(shown).to.include('Advisory A page that breaks a rule is saved all the same. It is listed under “Problems”.')
    expect(shown).to.include('Strict A change that breaks a rule is refused.')
    expect(shown).to.include('Title such as Recipe').and.include('Title of several pages such as Recipes')
    expect(shown)
      .to.include('Pages store its name. Readers see its title')
      .and.not.match(/Plural|Label/)
    expect(shown).to.include('Grove no longer checks their fields and links.')
  })

  it('say whether types that nobody defined are refused', async () => {
    expect(ledTo(await visit.send(page, { act: 'unknown', refuse: 'on' }))).to.deep.equal([
      303,
      `${page}?saved=unknown`,
    ])
    expect((await made(ann.get(`/orgs/${org}`))).unknown_types).to.equal('refuse')
    expect((await visit.open(`${page}?saved=unknown`)).body).to.match(/name="refuse"[^>]* checked/)
    await visit.send(page, { act: 'unknown' })
    expect((await made(ann.get(`/orgs/${org}`))).unknown_types).to.equal('allow')
  })

  it('begin with title and fields, and fold all else unless it is not usual or wrong', async () => {
    const advanced = (answer: Answer) => {
      const [, open, folded = ''] =
        /<details class="more"( open)?><summary>Advanced<\/summary>([\s\S]*?)<\/details>/.exec(mainOf(answer)) ?? []
      expect(folded).to.match(/name="plural"[\s\S]*name="enforcement"[\s\S]*name="parents.types"[\s\S]*name="columns"/)
      return open !== undefined
    }
    const blank = await visit.open(`${page}/new`)
    expect(advanced(blank)).to.equal(false)
    expect(mainOf(blank)).to.match(/name="title"[\s\S]*name="f0.name"[\s\S]*Advanced[\s\S]*name="name"/)
    expect(advanced(await visit.open(`${page}/new?name=Field%20Notes`))).to.equal(true)
    const fields = { ...formOf(blank), title: 'Recipe' }
    expect(advanced(await send(`${page}/new`, fields, 'add-field'))).to.equal(false)
    expect(advanced(await send(`${page}/new`, { ...fields, name: 'dish' }, 'add-field'))).to.equal(true)
    expect(advanced(await send(`${page}/new`, { ...fields, title: '食谱' }, 'save'))).to.equal(true)
    await define('recipe', recipe)
    expect(advanced(await visit.open(`${page}/recipe`))).to.equal(false)
    for (const more of [{ plural: 'Recipes' }, { other_connections: false }]) {
      await define('recipe', { ...recipe, ...more })
      expect(advanced(await visit.open(`${page}/recipe`))).to.equal(true)
    }
  })

  it('define a type step by step, and keep what was typed', async () => {
    const fields = { ...formOf(await visit.open(`${page}/new`)), title: 'Crème <script>', 'f0.name': 'serves' }
    const added = await send(`${page}/new`, { ...fields, 'f0.kind': 'whole', 'f0.least': 'one' }, 'add-field')
    expect(added.status).to.equal(200)
    const two = formOf(added)
    expect(two).to.include({ fields: '2', title: 'Crème <script>', 'f0.kind': 'whole', 'f0.least': 'one' })
    const wrong = await send(`${page}/new`, { ...two, 'f1.name': 'due', 'f1.kind': 'date' }, 'check')
    expect([wrong.status, faultAt(wrong, 'f0.least')]).to.deep.equal([422, 'Enter a number.'])
    expect(words(wrong)).to.include('The definition has mistakes.').and.not.include('not saved')
    const unsaved = await send(`${page}/new`, formOf(wrong), 'save')
    expect(words(unsaved)).to.include('The type was not saved,').and.not.include('has mistakes')
    const moved = await send(`${page}/new`, { ...formOf(wrong), 'f0.least': '1', 'f0.required': 'on' }, 'down-field:0')
    expect(formOf(moved)).to.include({ 'f0.name': 'due', 'f1.name': 'serves', 'f1.required': 'on' })
    expect(ledTo(await send(`${page}/new`, formOf(moved), 'save'))).to.deep.equal([303, `${page}/creme-script?saved`])
    expect(JSON.stringify(await read('creme-script'))).to.equal(
      JSON.stringify({
        title: 'Crème <script>',
        schema: {
          properties: { due: { type: 'string', format: 'date' }, serves: { type: 'integer', minimum: 1 } },
          required: ['serves'],
        },
      }),
    )
    const saved = await visit.open(`${page}/creme-script?saved`)
    expect(words(saved)).to.include('Saved.').and.include('Defined by Ann')
  })

  it('name the faults that the service finds at their fields', async () => {
    await define('film', { title: 'Film', aliases: ['Movie'] })
    const fields = formOf(await visit.open(`${page}/new`))
    const said = async (more: Record<string, string>) => {
      const answer = await send(`${page}/new`, { ...fields, title: 'A', ...more }, 'save')
      expect(answer.status).to.equal(422)
      return answer
    }
    const range = await said({ 'f0.name': 'a', 'f0.kind': 'whole', 'f0.least': '4', 'f0.most': '2' })
    expect(faultAt(range, 'f0.least')).to.equal('This must not be above `maximum`, which is 2; it is 4.')
    expect(range.body).to.match(/<details class="more" open><summary>Title, help/)
    expect(faultAt(await said({ aliases: 'MOVIE' }), 'aliases')).to.include('already stands for the type')
    expect(faultAt(await said({ name: 'Big Name' }), 'name')).to.match(/^A name has 1 to 64 small letters/)
    expect(faultAt(await said({ title: '食谱' }), 'name')).to.match(/^Enter a name/)
    expect(faultAt(await said({ columns: 'nothing' }), 'columns')).to.include('must name a field')
    const json = { 'f0.name': 'a', 'f0.kind': 'json', 'f0.json': '{"type": "string", "maxLenght": 3}' }
    expect(faultAt(await said(json), 'f0.json')).to.include('did you mean')
    expect(words(await said({ tags: 'x'.repeat(101) }))).to.include('This must be one line of text with 1 to 100')
    const link = { ...formOf(await send(`${page}/new`, { ...fields, title: 'A' }, 'add-link')), 'c0.name': 'by' }
    expect(faultAt(await said({ ...link, 'c0.label': 'x'.repeat(101) }), 'c0.label')).to.equal(
      'This is too long. Enter at most 100 characters.',
    )
    const taken = await send(`${page}/new`, { ...fields, title: 'Film' }, 'save')
    expect([taken.status, faultAt(taken, 'name')]).to.deep.equal([
      409,
      'A type with this name already exists. Enter another name, or change that type.',
    ])
  })

  it('take a field as a column whose name has spaces, and list the names', async () => {
    const fields = { ...formOf(await visit.open(`${page}/new`)), title: 'A', columns: 'Number of servings\nwho knows' }
    const refused = await send(`${page}/new`, { ...fields, 'f0.name': 'Number of servings' }, 'save')
    expect(faultAt(refused, 'columns')?.replaceAll('&quot;', '"')).to.equal(
      'This must be the name of a field, or a path such as `a.b`, with double quotes around a name with spaces: `"a b"`; it is the text "who knows".',
    )
    expect(words(refused)).to.match(/Columns can be: Number of servings ?\./)
    const kept = { ...formOf(refused), columns: 'Number of servings' }
    expect((await send(`${page}/new`, kept, 'save')).status).to.equal(303)
    expect((await read('a')).columns).to.deep.equal(['"Number of servings"'])
    expect(formOf(await visit.open(`${page}/a`))).to.include({ columns: 'Number of servings' })
  })

  it('show what a change would break before it is saved', async () => {
    const good = await node({ type: 'recipe', serves: 4 }, 'Borscht')
    for (let n = 1; n <= 21; n++) await node({ type: 'recipe', serves: 'two' }, `Miso ${n}`)
    const fields = {
      ...formOf(await visit.open(`${page}/new`)),
      title: 'Recipe',
      'f0.name': 'serves',
      'f0.kind': 'whole',
    }
    const checked = await send(`${page}/new`, fields, 'check')
    expect(checked.status).to.equal(200)
    expect(words(checked)).to.include('22 pages have this type. 21 pages would newly break a rule. Saving the type')
    expect(checked.body.match(/properties\.serves must be a whole number/g) ?? []).to.have.length(20)
    expect(checked.body).to.not.include(good)
    expect(formOf(checked)).to.include({ broken: '21', title: 'Recipe' })
    // One more page is broken since.
    await node({ type: 'recipe', serves: 'three' }, 'Toast')
    const refused = await send(`${page}/new`, formOf(checked), 'save')
    expect(refused.status).to.equal(409)
    expect(words(refused)).to.include('more pages would break than you were shown').and.include('22 pages would newly')
    expect(ledTo(await send(`${page}/new`, formOf(refused), 'save'))).to.deep.equal([303, `${page}/recipe?saved`])
  })

  it('say how many pages leave a type whose other name is removed', async () => {
    await define('recipe', { title: 'Recipe', aliases: ['Dish'] })
    for (const type of ['dish', 'Dish', 'recipe']) await node({ type })
    const fields = formOf(await visit.open(`${page}/recipe`))
    expect(words(await send(`${page}/recipe`, fields, 'check'))).to.not.include('the type, because')
    const two = words(await send(`${page}/recipe`, { ...fields, aliases: '' }, 'check'))
    expect(two)
      .to.include('None would break a rule. 2 pages leave the type, because')
      .and.include('1 page has this type')
  })

  it('ask first if nobody has seen which pages a change breaks', async () => {
    await node({ type: 'recipe' })
    await define('recipe', { title: 'Recipe' })
    const fields = { ...formOf(await visit.open(`${page}/recipe`)) }
    const one = formOf(await send(`${page}/recipe`, fields, 'add-field'))
    const asked = await send(`${page}/recipe`, { ...one, 'f0.name': 'serves', 'f0.required': 'on' }, 'save')
    expect(asked.status).to.equal(409)
    expect(words(asked)).to.include('Nothing was saved yet').and.include('1 page would newly break a rule')
    expect(await read('recipe')).to.deep.equal({ title: 'Recipe' })
    expect((await send(`${page}/recipe`, formOf(asked), 'save')).status).to.equal(303)
    expect(await read('recipe')).to.have.property('schema')
  })

  it('keep entries if somebody else changed or deleted the type, and save them after a second look', async () => {
    await define('recipe', recipe)
    const fields = { ...formOf(await visit.open(`${page}/recipe`)), title: 'Dish' }
    await define('recipe', { ...recipe, title: 'Meal' })
    const stale = await send(`${page}/recipe`, fields, 'save')
    expect(stale.status).to.equal(409)
    expect(words(stale)).to.include('somebody changed this type').and.include('"title": "Meal"')
    expect(formOf(stale)).to.include({ title: 'Dish' })
    expect((await read('recipe')).title).to.equal('Meal')
    for (const _ of ['once', 'twice'])
      expect(ledTo(await send(`${page}/recipe`, formOf(stale), 'save'))).to.deep.equal([303, `${page}/recipe?saved`])
    expect(await read('recipe')).to.deep.equal({ ...recipe, title: 'Dish' })
    const open = { ...formOf(await visit.open(`${page}/recipe`)), title: 'Late' }
    await ann.delete(`/orgs/${org}/types/recipe`)
    const gone = await send(`${page}/recipe`, open, 'save')
    expect([gone.status, words(gone).includes('somebody deleted this type')]).to.deep.equal([409, true])
    expect((await send(`${page}/recipe`, formOf(gone), 'save')).status).to.equal(303)
    expect((await read('recipe')).title).to.equal('Late')
  })

  it('edit a type as JSON, and go to the form and back', async () => {
    await define('recipe', recipe)
    const json = formOf(await visit.open(`${page}/recipe?as=json`))
    expect(JSON.parse(json.json ?? '')).to.deep.equal(recipe)
    const form = await send(`${page}/recipe`, { ...json, json: (json.json ?? '').replace('Serves', 'For') }, 'as-form')
    expect(formOf(form)).to.include({ 'f0.label': 'For', as: 'form' })
    const back = formOf(await send(`${page}/recipe`, { ...formOf(form), plural: 'Recipes' }, 'as-json'))
    const changed = { ...recipe, plural: 'Recipes' }
    expect(JSON.parse(back.json ?? '')).to.deep.equal(JSON.parse(JSON.stringify(changed).replace('Serves', 'For')))
    const broken = await send(`${page}/recipe`, { ...back, json: '{"title": ' }, 'save')
    expect([broken.status, faultAt(broken, 'json')]).to.deep.equal([
      422,
      'This must be JSON: names in quotes, and no comma after the last member.',
    ])
    for (const act of ['save', 'as-form']) {
      const wrong = await send(`${page}/recipe`, { ...back, json: '{"title": "A", "aliases": 5}' }, act)
      expect([wrong.status, words(wrong).includes('aliases: Input should be a valid list')]).to.deep.equal([422, true])
    }
    expect((await send(`${page}/recipe`, back, 'save')).status).to.equal(303)
    expect(await read('recipe')).to.have.property('plural', 'Recipes')
  })

  it('delete a type after they said how many pages have it', async () => {
    await define('recipe', { title: 'Recipe' })
    const ask = async () => {
      const { body } = await visit.open(`${page}/recipe`)
      const form = /<form method="post"[^>]*class="ask">[\s\S]*?<\/form>/.exec(body)?.[0] ?? ''
      return Object.fromEntries(fieldsIn(form))
    }
    const none = await ask()
    await node({ type: 'recipe' })
    const refused = await send(`${page}/recipe`, none, 'delete')
    expect([refused.status, words(refused).includes('1 page has this type. They keep')]).to.deep.equal([409, true])
    const one = await ask()
    await define('recipe', { title: 'Meal' })
    expect((await send(`${page}/recipe`, one, 'delete')).status).to.equal(409)
    const now = await ask()
    for (const _ of ['once', 'twice'])
      expect(ledTo(await send(`${page}/recipe`, now, 'delete'))).to.deep.equal([303, `${page}?saved=deleted`])
    expect((await visit.open(`${page}?saved=deleted`)).body).to.include('The type was deleted.')
  })

  it('edit a type whose name is that of the page for a new one', async () => {
    await define('new', { title: 'News' })
    const [, link = ''] = /href="([^"]*types\/new\?edit)"/.exec((await visit.open(page)).body) ?? []
    const fields = formOf(await visit.open(link))
    expect(fields.title).to.equal('News')
    expect(ledTo(await send(link, { ...fields, title: 'Old' }, 'save'))).to.deep.equal([303, `${page}/new?edit&saved`])
    expect((await read('new')).title).to.equal('Old')
    const table = (await visit.open(`${pageAt(org)}/types/new`)).body
    expect(table).to.match(/href="[^"]*types\/new\?edit">Settings of this type/)
  })

  it('hold 100 fields with hostile labels', async () => {
    const label = `"><script>alert(1)</script>${'x'.repeat(70)}`
    const properties = Object.fromEntries(
      Array.from({ length: 100 }, (_, n) => [`${'n'.repeat(90)}-${n}`, { type: 'string', title: label, 'x-n': n }]),
    )
    const definition = { title: label.slice(0, 100), schema: { properties } }
    await define('large', definition)
    const shown = await visit.open(`${page}/large`)
    expect(shown.body).to.not.include('<script>alert')
    expect((await send(`${page}/large`, formOf(shown), 'save')).status).to.equal(303)
    expect(JSON.stringify(await read('large'))).to.equal(JSON.stringify(definition))
    const added = formOf(await send(`${page}/large`, formOf(shown), 'add-field'))
    const many = await send(`${page}/large`, { ...added, 'f100.name': 'one-more' }, 'save')
    expect([many.status, words(many).includes('at most 100 fields')]).to.deep.equal([422, true])
  })
})
