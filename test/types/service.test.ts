/** Types over HTTP: definitions, checks, problems and history. */

import { expect } from 'chai'
import { cli } from '../operator/desk.ts'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const recipe = {
  title: 'Recipe',
  aliases: ['recipes'],
  schema: {
    required: ['serves'],
    properties: { serves: { type: 'integer', minimum: 1 }, due: { type: 'string', format: 'date' } },
  },
  connections: { written_by: { to: ['person'], max: 1 } },
}

describe('types over HTTP', () => {
  const { grove } = useWorld({})
  let ann: PersonClient
  let at: string
  let people = 0
  beforeEach(async () => {
    ann = await signUp(grove, `Ann ${++people}`)
    at = `/orgs/${ann.org}`
  })

  const node = async (title: string, properties: object, more: object = {}): Promise<string> =>
    (await ann.post(`${at}/nodes`, { title, properties, ...more }).then(expecting(201))).body.id
  const define = (name: string, definition: object, more: object = {}) =>
    ann.put(`${at}/types/${name}`, { definition, ...more })
  const problems = async (name = 'recipe', page = '') =>
    (await ann.get(`${at}/types/${name}/problems${page}`).then(expecting(200))).body
  const messages = async () =>
    (await problems()).problems.map((one: { title: string; problems: { msg: string }[] }) => [
      one.title,
      ...one.problems.map(({ msg }) => msg),
    ])

  it.deep('are defined, replaced, listed with their nodes, and deleted', async () => {
    await node('Borscht', { type: 'Recipe', serves: 4 })
    await node('Miso', { type: 'RECIPES', serves: 'two' })
    await node('Toast', { type: 'recipie' })
    await node('Both', { type: ['recipe', 'person'] })
    const { body: made } = await define('recipe', recipe, { expected_version: null }).then(expecting(200))
    expect(made).to.deep.include({ name: 'recipe', num_nodes: 2, definition: recipe })
    expect(made.impact).to.deep.include({ nodes: 2, newly_broken: 1, mended: 0, still_broken: 0 })
    const listed = (await ann.get(`${at}/types`).then(expecting(200))).body
    const { impact: _, ...shown } = made
    expect(listed).to.deep.equal({ types: [shown], total: 1, limit: 50, offset: 0, undefined: { recipie: 1 } })
    expect((await ann.get(`${at}/types/recipe`).then(expecting(200))).body).to.deep.equal(shown)

    const again = await define('recipe', recipe).then(expecting(200))
    expect(again.body.version).to.equal(made.version)
    const moved = await define('recipe', { title: 'Dish' }, { expected_version: null }).then(expecting(409))
    expect(moved.body).to.deep.include({ code: 'version_moved', current_version: made.version })
    const changed = await define('recipe', { title: 'Dish' }, { expected_version: made.version }).then(expecting(200))
    expect(changed.body.impact).to.deep.include({ nodes: 1, newly_broken: 0, mended: 0, leaving: 1 })

    const used = await ann.delete(`${at}/types/recipe`).then(expecting(409))
    expect(used.body).to.deep.include({ code: 'type_in_use', num_nodes: 1 })
    await ann.delete(`${at}/types/recipe?expected_version=${made.version}&force=true`).then(expecting(409))
    await ann.delete(`${at}/types/recipe?expected_version=${changed.body.version}&force=true`).then(expecting(204))
    for (const path of ['types/recipe', 'types/recipe/problems'])
      expect((await ann.get(`${at}/${path}`).then(expecting(404))).body.code).to.equal('type_not_found')
    const { history, total } = (await ann.get(`${at}/types/recipe/history?limit=2`).then(expecting(200))).body
    expect(total).to.equal(3)
    expect(
      history.map(({ version, message }: { version: string; message: string }) => [version, message]),
    ).to.deep.equal([
      [null, 'delete type recipe'],
      [changed.body.version, 'type recipe'],
    ])
    await ann.get(`${at}/types/film/history`).then(expecting(404))
  })

  it('are also named by a list of one text, at every door', async () => {
    await define('recipe', { ...recipe, enforcement: 'strict' }).then(expecting(200))
    const refused = await ann
      .post(`${at}/nodes`, { title: 'Soup', properties: { type: ['recipe'] } })
      .then(expecting(422))
    expect(refused.body.detail[0].msg).to.equal('properties.serves is missing')
    const id = await node('Soup', { type: ['Recipe'], serves: 2 })
    expect((await ann.get(`${at}/nodes/${id}`).then(expecting(200))).body.type).to.equal('recipe')
    await define('recipe', { ...recipe, schema: { properties: { serves: { type: 'integer', minimum: 3 } } } })
    expect((await ann.get(`${at}/types/recipe`).then(expecting(200))).body.num_nodes).to.equal(1)
    expect((await problems()).total).to.equal(1)
    await define('menu', { title: 'Menu', enforcement: 'strict', connections: { has: { to: ['recipe'] } } })
    await node('Sunday', { type: 'menu' }, { connections: [{ target: id, type: 'has' }] })
  })

  it('that are neither a text nor a list of one are refused if unknown types are', async () => {
    const old = await node('Old', { type: 5 })
    await ann.patch(at, { unknown_types: 'refuse' }).then(expecting(200))
    for (const type of [5, true, { a: 1 }, ['a', 'b'], ['w']]) {
      const { body } = await ann.post(`${at}/nodes`, { title: 'New', properties: { type } }).then(expecting(422))
      expect(body.detail[0].type, JSON.stringify(type)).to.equal('type_rule')
    }
    await node('Free', { type: null })
    await ann.patch(`${at}/nodes/${old}`, { properties: { type: 5, serves: 1 } }).then(expecting(200))
  })

  it('say how many nodes leave them with an alias', async () => {
    await node('Borscht', { type: 'dish' })
    await node('Miso', { type: 'recipe', serves: 1 })
    await define('recipe', { ...recipe, aliases: ['dish'] }).then(expecting(200))
    const impact = (await ann.post(`${at}/types/recipe/check`, { definition: recipe }).then(expecting(200))).body
    expect(impact).to.deep.include({ nodes: 1, newly_broken: 0, mended: 0, still_broken: 0, leaving: 1 })
  })

  it('are checked before, and refused if more is broken than expected', async () => {
    await node('Borscht', { type: 'recipe', serves: 4 })
    await node('Miso', { type: 'recipe', serves: 'two' })
    const impact = (await ann.post(`${at}/types/recipe/check`, { definition: recipe }).then(expecting(200))).body
    expect(impact).to.deep.include({ nodes: 2, newly_broken: 1, mended: 0, still_broken: 0 })
    expect(impact.examples).to.have.length(1)
    expect(impact.examples[0].problems).to.deep.equal([
      {
        msg: 'properties.serves must be a whole number; it is the text "two"',
        rule: 'type',
        place: 'properties.serves',
        pointer: '/properties/serves',
        type: 'recipe',
      },
    ])
    expect((await ann.get(`${at}/types`).then(expecting(200))).body.total).to.equal(0)
    await node('Toast', { type: 'recipe' })
    const refused = await define('recipe', recipe, { max_newly_broken: 1 }).then(expecting(409))
    expect(refused.body).to.deep.include({ code: 'impact_changed', newly_broken: 2 })
    await define('recipe', recipe, { max_newly_broken: 2 }).then(expecting(200))
  })

  it('have problems that follow every change', async () => {
    await define('recipe', recipe).then(expecting(200))
    await define('person', { title: 'Person' }).then(expecting(200))
    const borscht = await node('Borscht', { type: 'recipe' })
    const miso = await node('Miso', { type: 'recipe', serves: 0, due: '2026-02-30' })
    const person = await node('Olga', { type: 'person' })
    expect(await messages()).to.deep.equal([
      ['Borscht', 'properties.serves is missing'],
      [
        'Miso',
        'properties.serves must be at least 1; it is 0',
        'properties.due must be a date, such as 2026-12-31; it is the text "2026-02-30"',
      ],
    ])
    expect(
      (await problems('recipe', '?limit=1&offset=1')).problems.map(({ title }: { title: string }) => title),
    ).to.deep.equal(['Miso'])
    await ann.patch(`${at}/nodes/${borscht}`, { properties: { type: 'recipe', serves: 4 } }).then(expecting(200))
    await ann.patch(`${at}/nodes/${miso}`, { properties: { type: 'recipe', serves: 1 } }).then(expecting(200))
    expect(await messages()).to.deep.equal([])
    await ann.post(`${at}/nodes/${borscht}/connections`, { target: person, type: 'written_by' }).then(expecting(201))
    expect((await problems()).total).to.equal(0)
    await ann.patch(`${at}/nodes/${person}`, { properties: { type: 'cat' } }).then(expecting(200))
    const [broken] = (await problems()).problems
    expect(broken.problems[0]).to.deep.include({ rule: 'to', place: 'connections.written_by' })
    const details = (await ann.get(`${at}/nodes/${borscht}`).then(expecting(200))).body
    expect(details.type).to.equal('recipe')
    expect(details.type_problems).to.deep.equal(broken.problems)
    await ann.delete(`${at}/nodes/${person}`).then(expecting(204))
    expect((await problems()).total).to.equal(0)
    await ann.delete(`${at}/nodes/${miso}`).then(expecting(204))
    await define('recipe', { ...recipe, schema: { required: ['cook'], properties: { cook: {} } } }).then(expecting(200))
    expect(await messages()).to.deep.equal([['Borscht', 'properties.cook is missing']])
  })

  it('name every fault of a definition at its place', async () => {
    const { body } = await define('recipe', {
      title: 'Recipe',
      enforcment: 'strict',
      schema: { properties: { serves: { type: 'integer', minimun: 1 } } },
    }).then(expecting(422))
    expect(body.detail.map(({ loc, type }: { loc: unknown; type: string }) => [loc, type])).to.deep.equal([
      [['body', 'definition', 'enforcment'], 'extra_forbidden'],
      [['body', 'definition', 'schema', 'properties', 'serves', 'minimun'], 'unknown_keyword'],
    ])
    expect(body.detail[1].msg).to.include('"minimum"')
    await define('film', { title: 'Film', aliases: ['Movie'] }).then(expecting(200))
    const taken = await define('book', { title: 'Book', aliases: ['movie'] }).then(expecting(422))
    expect(taken.body.detail[0].loc).to.deep.equal(['body', 'definition', 'aliases', 0])
    await define('movie', { title: 'Movie' }).then(expecting(422))
    await define('Film', { title: 'Film' }).then(expecting(422))
  })

  it('are read by anyone once the organisation is published, and problems only by members', async () => {
    await define('recipe', recipe).then(expecting(200))
    const anyone = client(grove)
    await anyone.get(`${at}/types`).then(expecting(401))
    await ann.patch(at, { published: true }).then(expecting(200))
    await anyone.get(`${at}/types`).then(expecting(200))
    await anyone.get(`${at}/types/recipe`).then(expecting(200))
    for (const path of ['problems', 'history']) await anyone.get(`${at}/types/recipe/${path}`).then(expecting(401))
  })

  it.deep('stay in force while org.json is damaged, and a damaged definition has no rules', async () => {
    await define('recipe', { ...recipe, enforcement: 'strict' }).then(expecting(200))
    const add = (title: string) => ann.post(`${at}/nodes`, { title, properties: { type: 'recipe' } })
    await add('Soup').then(expecting(422))
    const git = gitIn(grove, ann.org, 'org')
    const head = git.head()
    const write = (files: Record<string, string>) => git.point('main', git.commit({ files, parents: [head] }))
    write({ 'org.json': '{}' })
    await add('Soup').then(expecting(422))
    await define('recipe', recipe).then(expecting(503))
    git.point('main', head)
    write({ 'types/recipe.json': '{"title": ""}' })
    await add('Soup').then(expecting(201))
    const { stdout } = await cli(grove.dataDir, 'doctor')
    expect(stdout).to.include('types/recipe.json is damaged, so the type has no rules: title must be one line')
    git.point('main', head)
    await add('Stew').then(expecting(422))
  })

  it('that nobody defined are refused if the organisation says so', async () => {
    const old = await node('Old', { type: 'recipie' })
    await define('recipe', recipe).then(expecting(200))
    expect((await ann.get(at).then(expecting(200))).body.unknown_types).to.equal('allow')
    await ann.patch(at, { unknown_types: 'refuse' }).then(expecting(200))
    expect((await ann.get(at).then(expecting(200))).body.unknown_types).to.equal('refuse')
    const { body } = await ann
      .post(`${at}/nodes`, { title: 'New', properties: { type: 'recipie' } })
      .then(expecting(422))
    expect(body.detail[0]).to.deep.include({ type: 'type_rule', loc: ['body', 'properties', 'type'] })
    expect(body.detail[0].msg).to.include('did you mean "recipe"?')
    await ann.patch(`${at}/nodes/${old}`, { properties: { type: 'recipie', serves: 3 } }).then(expecting(200))
    await ann.patch(at, { unknown_types: 'allow' }).then(expecting(200))
    await node('New', { type: 'recipie' })
  })
})
