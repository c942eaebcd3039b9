/** Writing nodes that have a type: connections, templates, single properties, and the type itself. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const recipe = {
  title: 'Recipe',
  aliases: ['dish'],
  enforcement: 'strict',
  schema: {
    properties: {
      serves: { type: ['integer', 'null'], minimum: 1, default: 2 },
      status: { enum: ['open', 'done'], default: 'open' },
      size: { type: 'object', properties: { unit: { type: 'string', default: 'g' }, value: { type: 'number' } } },
    },
  },
  template: { text_content: '## Method\n', tags: ['food'], properties: { serves: 4, size: { value: 1 } } },
}

describe('writing typed nodes', () => {
  const { grove } = useWorld({})
  let ann: PersonClient
  let at: string
  let people = 0
  beforeEach(async () => {
    ann = await signUp(grove, `Ann ${++people}`)
    at = `/orgs/${ann.org}`
  })

  const define = (name: string, definition: object) =>
    ann.put(`${at}/types/${name}`, { definition }).then(expecting(200))
  const make = (fields: object) => newNode(grove, ann, fields)
  const jsonOf = (node: TestNode, rev = 'main') => JSON.parse(node.git.say('show', `${rev}:node.json`))

  describe('connections of a new node', () => {
    beforeEach(async () => {
      await define('person', { title: 'Person' })
      await define('book', {
        title: 'Book',
        enforcement: 'strict',
        connections: { written_by: { to: ['person'], min: 1, max: 1 } },
      })
    })

    it('are judged with it', async () => {
      const olga = await make({ title: 'Olga', properties: { type: 'person' } })
      const other = await make({ title: 'Other' })
      const book = { title: 'Book', properties: { type: 'book' } }
      const author = { target: olga.id, type: 'written_by' }
      const made = await make({ ...book, connections: [author] })
      expect((await ann.get(made.at).then(expecting(200))).body).to.deep.include({ type: 'book', type_problems: [] })
      for (const connections of [undefined, [], [{ target: olga.id }]]) {
        const { body } = await ann.post(`${at}/nodes`, { ...book, connections }).then(expecting(422))
        expect(
          body.detail.map(({ type, ctx }: { type: string; ctx: { rule: string } }) => [type, ctx.rule]),
        ).to.deep.equal([['type_rule', 'min']])
      }
      const wrong = [{ target: olga.id }, { target: other.id, type: 'written_by' }]
      const { body } = await ann.post(`${at}/nodes`, { ...book, connections: wrong }).then(expecting(422))
      expect(body.detail[0]).to.deep.include({ type: 'type_rule' })
      expect(body.detail[0].ctx).to.deep.include({ type: 'book', rule: 'to', place: 'connections.written_by' })
    })
  })

  describe('the template', () => {
    beforeEach(() => define('recipe', recipe))

    it('fills in what a new node leaves out, in its first commit', async () => {
      const node = await make({ title: 'Borscht', properties: { type: 'Dish' } })
      expect(node.git.log()).to.have.length(1)
      expect(jsonOf(node)).to.deep.equal({
        title: 'Borscht',
        tags: ['food'],
        properties: { type: 'Dish', serves: 4, size: { value: 1, unit: 'g' }, status: 'open' },
      })
      expect(node.git.run(['show', 'main:content.md']).toString()).to.equal('## Method\n')
    })

    it('keeps everything that is sent, also null and empty values', async () => {
      const properties = { serves: null, size: {}, type: 'recipe' }
      const node = await make({ title: 'Miso', text_content: '', tags: [], properties })
      expect(jsonOf(node)).to.deep.equal({
        title: 'Miso',
        tags: [],
        properties: { serves: null, size: { unit: 'g' }, type: 'recipe', status: 'open' },
      })
      expect(node.git.run(['show', 'main:content.md']).toString()).to.equal('')
    })

    it('is filled in before the node is judged', async () => {
      const properties = { ...recipe.schema.properties, cook: { type: 'string' } }
      await define('recipe', { ...recipe, schema: { required: ['serves', 'cook'], properties } })
      const sent = { title: 'Borscht', properties: { type: 'recipe' } }
      const { body } = await ann.post(`${at}/nodes`, sent).then(expecting(422))
      expect(body.detail.map(({ loc }: { loc: unknown }) => loc)).to.deep.equal([['body', 'properties', 'cook']])
    })

    it('is left out by request, for other types, and without a first commit', async () => {
      const bare = await make({ title: 'Bare', template: false, properties: { type: 'recipe' } })
      const other = await make({ title: 'Other', properties: { type: 'recipie' } })
      const untyped = await make({ title: 'Untyped', properties: { serves: 1 } })
      expect([bare, other, untyped].map((node) => [jsonOf(node).tags, jsonOf(node).properties])).to.deep.equal([
        [[], { type: 'recipe' }],
        [[], { type: 'recipie' }],
        [[], { serves: 1 }],
      ])
      const empty = await make({ title: 'Empty', initialize: false, template: true })
      expect((await ann.get(empty.at).then(expecting(200))).body).to.deep.include({ text_content: '', properties: {} })
      await ann.patch(empty.at, { properties: { type: 'recipe' }, expected_head: null }).then(expecting(200))
      expect(jsonOf(empty).properties).to.deep.equal({ type: 'recipe' })
    })

    it('is not applied by a batch, a copy, a commit or a read', async () => {
      const nodes = [{ ref: 'soup', title: 'Soup', properties: { type: 'recipe' } }]
      const written = [await ann.post(`${at}/nodes/batch`, { nodes }), await ann.put(`${at}/nodes/batch`, { nodes })]
      for (const { body } of written) {
        const { tags, properties, text_content } = (await ann.get(`${at}/nodes/${body.nodes[0].id}`)).body
        expect({ tags, properties, text_content }).to.deep.equal({
          ...{ tags: [], properties: { type: 'recipe' }, text_content: '' },
        })
      }
      const bare = await make({ title: 'Bare', template: false, properties: { type: 'recipe' } })
      const copy = (await ann.post(`${bare.at}/copy`).then(expecting(201))).body
      expect(copy.properties).to.deep.equal({ type: 'recipe' })
      await bare.commit('main', { 'a.txt': 'a' })
      expect((await ann.get(bare.at).then(expecting(200))).body).to.deep.include({ tags: [], text_content: '' })
      expect(jsonOf(bare)).to.deep.equal({ title: 'Bare', tags: [], properties: { type: 'recipe' } })
    })
  })

  describe('merge_properties', () => {
    const textOf = (node: TestNode) => node.git.run(['show', 'main:node.json']).toString()
    const merge = (node: TestNode, merge_properties: object) => ann.patch(node.at, { merge_properties })

    it('changes single properties, and null removes one', async () => {
      const node = await make({ properties: { a: 1, b: { c: 2 }, d: null } })
      const { body } = await merge(node, { b: { e: [] }, a: null, f: 'new', none: null }).then(expecting(200))
      expect(body.properties).to.deep.equal({ b: { e: [] }, d: null, f: 'new' })
      await merge(node, { f: 'new', a: null }).then(expecting(200))
      await merge(node, {}).then(expecting(200))
      expect(node.git.log()).to.have.length(2)
      await merge(node, JSON.parse('{"__proto__": 1, "b": null, "d": null, "f": null}')).then(expecting(200))
      expect(textOf(node)).to.include('"properties": {\n    "__proto__": 1\n  }')
      await merge(node, JSON.parse('{"__proto__": null}')).then(expecting(200))
      expect(jsonOf(node).properties).to.deep.equal({})
      await merge(node, { a: 1 }).then(expecting(200))
      expect(textOf(node)).to.equal(`${JSON.stringify({ title: 'Whales', tags: [], properties: { a: 1 } }, null, 2)}\n`)
    })

    it('keeps the order and every letter of the others', async () => {
      const node = await make({})
      const inner = '{ "2": 1.0,\n\t\t"b" : 1e2,\n\t\t"1":"\\u00e9", "last":[ ] }'
      const text = `{"more": 1.50, "properties": ${inner},\r\n"title": "Old"}`
      const put = (content: string) => node.commit('main', { 'node.json': content })
      const mergedText = async (change: object) => {
        await put(text)
        await merge(node, change).then(expecting(200))
        return textOf(node)
      }
      expect(await mergedText({ b: null })).to.equal(text.replace(',\n\t\t"b" : 1e2', ''))
      expect(await mergedText({ 2: null })).to.equal(text.replace('"2": 1.0,\n\t\t', ''))
      expect(await mergedText({ last: null, 2: null })).to.equal(
        text.replace(', "last":[ ]', '').replace('"2": 1.0,\n\t\t', ''),
      )
      expect(await mergedText({ 1: 'e', 0: true })).to.equal(
        text.replace('"\\u00e9"', '"e"').replace('[ ] }', '[ ],"0":true }'),
      )
      expect(await mergedText({ 2: null, b: null, 1: null, last: null })).to.equal(text.replace(inner, '{}'))
      expect(await mergedText({ b: 100, 2: 1 })).to.equal(text)
      const { body } = await ann.patch(node.at, { title: 'New', merge_properties: { b: 3 } }).then(expecting(200))
      expect(textOf(node)).to.equal(text.replace('1e2', '3').replace('"Old"', '"New"'))
      expect(body).to.deep.include({ title: 'New' })
    })

    it('adds properties to a node.json without them, and to a node without node.json', async () => {
      const node = await make({})
      await node.commit('main', { 'node.json': '{"title": "Bare"}' })
      await merge(node, { a: null }).then(expecting(200))
      expect(textOf(node)).to.equal('{"title": "Bare"}')
      await merge(node, { a: 1, b: null }).then(expecting(200))
      expect(textOf(node)).to.equal('{"title": "Bare","properties":{"a":1}}')
      const empty = await make({ title: 'Empty', initialize: false })
      const body = { merge_properties: { a: 1, b: null }, expected_head: null }
      await ann.patch(empty.at, body).then(expecting(200))
      expect(jsonOf(empty)).to.deep.equal({ title: 'Empty', tags: [], properties: { a: 1 } })
    })

    it('loses nothing when several requests change different properties at once', async () => {
      const node = await make({ properties: { first: 1 } })
      const names = Array.from({ length: 20 }, (_, n) => `name${n}`)
      await Promise.all(names.map((name) => merge(node, { [name]: name }).then(expecting(200))))
      expect(jsonOf(node).properties).to.deep.equal({ first: 1, ...Object.fromEntries(names.map((one) => [one, one])) })
      expect(node.git.log()).to.have.length(21)
    })

    it('is refused next to properties, when it is too large, and when JSON would lose something', async () => {
      const node = await make({ properties: { a: 1 } })
      const raw = (text: string) => ann.patch(node.at, text)
      const wrong: [() => Promise<Answer>, (string | number)[]][] = [
        [() => ann.patch(node.at, { properties: {}, merge_properties: {} }), []],
        [() => merge(node, { a: 'x'.repeat(66_000) }), []],
        [
          () => ann.put(`${at}/nodes/batch`, { nodes: [{ id: node.id, properties: {}, merge_properties: {} }] }),
          ['nodes', 0],
        ],
      ]
      for (const [send, within] of wrong) {
        const { body } = await send().then(expecting(422))
        expect(body.detail).to.have.length(1)
        expect(body.detail[0].loc).to.deep.equal(['body', ...within, 'merge_properties'])
        expect(body.detail[0].msg).to.match(/^`[a-z_]+` /)
      }
      const pad = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`pad${n}`, 'x'.repeat(10_000)]))
      await merge(node, pad).then(expecting(200))
      const { body } = await merge(node, { more: 'x'.repeat(10_000) }).then(expecting(422))
      expect(body.detail[0].msg).to.include('64 KiB')
      await ann.post(`${at}/nodes`, { title: 'New', merge_properties: {} }).then(expecting(422))
      for (const text of [
        '{"merge_properties": {"a": 1, "a": 2}}',
        '{"merge_properties": {"a": 12345678901234567890}}',
      ]) {
        const { body } = await raw(text).then(expecting(422))
        expect(body.detail[0].loc).to.deep.equal(['body', 'merge_properties'])
      }
    })

    it('is judged as the whole node, and works in batches', async () => {
      await define('recipe', recipe)
      const node = await make({ template: false, properties: { type: 'recipe', serves: 2 } })
      const { body } = await merge(node, { serves: 0 }).then(expecting(422))
      expect(body.detail[0]).to.deep.include({ type: 'type_rule', loc: ['body', 'merge_properties', 'serves'] })
      const wrong = { nodes: [{ id: node.id, merge_properties: { serves: 0 } }] }
      const batch = await ann.put(`${at}/nodes/batch`, wrong).then(expecting(422))
      expect(batch.body.detail[0].loc).to.deep.equal(['body', 'nodes', 0, 'merge_properties', 'serves'])
      await merge(node, { note: 'kept' }).then(expecting(200))
      const fresh = randomUUID()
      const nodes = [
        { id: node.id, merge_properties: { serves: 3 } },
        { id: fresh, title: 'New', merge_properties: { a: 1, b: null } },
      ]
      for (const statuses of [
        ['updated', 'created'],
        ['unchanged', 'unchanged'],
      ]) {
        const { body } = await ann.put(`${at}/nodes/batch`, { nodes }).then(expecting(200))
        expect(body.nodes.map(({ status }: { status: string }) => status)).to.deep.equal(statuses)
      }
      expect(jsonOf(node).properties).to.deep.equal({ type: 'recipe', serves: 3, note: 'kept' })
      expect((await ann.get(`${at}/nodes/${fresh}`)).body.properties).to.deep.equal({ a: 1 })
      await merge(node, { type: null }).then(expecting(200))
      expect((await ann.get(node.at)).body).to.deep.include({ type: null, type_problems: [] })
    })
  })

  describe('a type that is forgotten', () => {
    const forget = (node: TestNode, properties: object) => ann.patch(node.at, { properties })

    it('is 422 if all properties of a strict node are replaced', async () => {
      const { version } = (await define('recipe', recipe)).body
      const node = await make({ template: false, properties: { type: 'Dish', serves: 2 } })
      const problem = {
        msg: 'properties.type is missing; send "Dish" to keep the type, or null to leave it',
        type: 'type_rule',
        ctx: {
          ...{ path: 'node.json', type: 'recipe', version, rule: 'required' },
          ...{ place: 'properties.type', pointer: '/properties/type' },
        },
      }
      const { body } = await forget(node, { serves: 3 }).then(expecting(422))
      expect(body.detail).to.deep.equal([{ ...problem, loc: ['body', 'properties', 'type'] }])
      const nodes = [
        { ref: 'new', title: 'New', properties: {} },
        { id: node.id, properties: {} },
      ]
      const batch = await ann.put(`${at}/nodes/batch`, { nodes }).then(expecting(422))
      expect(batch.body.detail).to.deep.equal([{ ...problem, loc: ['body', 'nodes', 1, 'properties', 'type'] }])
      expect(node.git.log()).to.have.length(1)
      await forget(node, { type: 'recipe', serves: 3 }).then(expecting(200))
      const left = (await forget(node, { type: null, serves: 0 }).then(expecting(200))).body
      expect(left).to.deep.include({ type: null, type_problems: [], properties: { type: null, serves: 0 } })
      await forget(node, { serves: 0 }).then(expecting(200))
    })

    it('is allowed for advisory and unknown types, in commits, and on other branches', async () => {
      await define('recipe', { ...recipe, enforcement: 'advisory' })
      const advisory = await make({ properties: { type: 'recipe' } })
      await forget(advisory, {}).then(expecting(200))
      const unknown = await make({ properties: { type: 'film' } })
      await forget(unknown, {}).then(expecting(200))
      await define('recipe', recipe)
      const strict = await make({ properties: { type: 'recipe' } })
      await strict.branch('draft')
      await strict.commit('draft', { 'node.json': '{"title": "Draft"}' })
      await strict.commit('main', { 'node.json': '{"title": "Main", "properties": {}}' })
      expect((await ann.get(strict.at)).body).to.deep.include({ type: null, properties: {} })
    })

    it('is judged by the node as it is under the lock', async () => {
      await define('recipe', recipe)
      const node = await make({ properties: {} })
      const setType = ann.patch(node.at, { merge_properties: { type: 'recipe' } }).then(expecting(200))
      const others = Array.from({ length: 8 }, (_, n) => forget(node, { n }))
      const [, ...answers] = await Promise.all([setType, ...others])
      for (const { status } of answers) expect(status).to.be.oneOf([200, 422])
      // A change before it is overwritten, and a change after it is refused.
      expect(jsonOf(node).properties.type).to.equal('recipe')
      await forget(node, { n: 1 }).then(expecting(422))
    })
  })
})
