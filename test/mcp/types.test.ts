/** Types through /mcp: how a model learns the rules, breaks them, and mends what it wrote. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { ann, connectHttp, connectStdio, factsIn, type Model, parted, tokenOf, useScene } from './scene.ts'

const recipe = {
  title: 'Recipe',
  aliases: ['recipes'],
  enforcement: 'strict',
  schema: {
    required: ['serves', 'code'],
    additionalProperties: false,
    properties: {
      serves: { type: 'integer', minimum: 1, maximum: 20, title: 'Serves', description: 'The number of guests' },
      code: { type: 'string', pattern: '^[A-Z]{2}-\\d$', examples: ['AB-1'] },
      due: { type: ['string', 'null'], format: 'date' },
      'prep time': { type: 'number', exclusiveMinimum: 0 },
      title: { enum: ['short', 'long'] },
      tags: { type: 'array', items: { type: 'string', enum: ['hot', 'cold'] }, maxItems: 2, uniqueItems: true },
      size: { type: 'object', required: ['unit'], properties: { unit: { const: 'g' }, value: { type: 'number' } } },
    },
  },
  connections: { written_by: { title: 'Author', to: ['person'], min: 0, max: 1, inverse: 'Wrote' } },
  parents: { types: ['collection'], max: 1 },
}

const doors = { HTTP: connectHttp, 'standard input': connectStdio } as const

describe('types of /mcp', () => {
  useScene()

  for (const [door, connect] of Object.entries(doors))
    describe(`over ${door}`, () => {
      let model: Model
      let org_id: string

      before(async () => {
        org_id = (await made(ann.post('/orgs', { name: door }))).id
        await made(ann.put(`/orgs/${org_id}/types/recipe`, { definition: recipe }))
        await made(ann.put(`/orgs/${org_id}/types/person`, { definition: { title: 'Person' } }))
        await made(ann.post(`/orgs/${org_id}/nodes`, { title: 'Odd', properties: { type: 'recipie' } }))
        model = await connect(await tokenOf('write'))
      })

      it('are listed with a line for each rule, and an example that is accepted', async () => {
        const answer = await model.ask('list_types', { org_id })
        expect(parted(answer).outside).to.match(/^Types: 2\.\n/)
        expect(factsIn(answer, 'undefined types')).to.deep.equal([{ undefined_type: 'recipie', nodes: 1 }])
        expect(factsIn(answer, 'type 1')).to.deep.equal([
          { type: 'person', title: 'Person', enforcement: 'advisory', nodes: 0 },
          { example: { properties: { type: 'person' } } },
        ])
        const [head, ...lines] = factsIn(answer, 'type 2')
        expect(head).to.deep.equal({
          ...{ type: 'recipe', title: 'Recipe', aliases: ['recipes'], enforcement: 'strict', nodes: 0 },
          other_properties: false,
        })
        const example = lines.pop()
        expect(lines).to.deep.equal([
          {
            ...{ field: 'serves', kind: 'whole number', required: true, range: '1 to 20', label: 'Serves' },
            description: 'The number of guests',
          },
          { field: 'code', kind: 'text', required: true, pattern: '^[A-Z]{2}-\\d$' },
          { field: 'due', kind: 'date or null' },
          { field: 'prep time', kind: 'number', range: 'above 0', where: '"prep time"' },
          { field: 'title', kind: 'any', choices: ['short', 'long'], where: '.title' },
          {
            field: 'tags',
            kind: 'list of text',
            choices: ['hot', 'cold'],
            range: 'at most 2 items; items differ',
            where: '.tags',
          },
          { field: 'size', kind: 'object' },
          { field: 'size.unit', kind: 'any', required: true, choices: ['g'] },
          { field: 'size.value', kind: 'number' },
          { connection: 'written_by', to: ['person'], number: '0 to 1', label: 'Author', inverse: 'Wrote' },
          { parents: ['collection'], number: 'at most 1' },
        ])
        expect(example).to.deep.equal({
          example: {
            properties: {
              ...{ type: 'recipe', serves: 1, code: 'AB-1', due: '2026-12-31', 'prep time': 1, title: 'short' },
              ...{ tags: ['hot'], size: { unit: 'g', value: 1 } },
            },
          },
        })
        const { properties } = (example as { example: { properties: object } }).example
        await made(ann.post(`/orgs/${org_id}/nodes`, { title: 'Example', properties }))
        for (const where of ['"prep time"=1', '.title:short', '.tags:hot', 'size.unit:g', 'type:recipe'])
          expect(await model.ask('list_nodes', { org_id, where }), where).to.match(/^Nodes: 1\./)
        const one = await model.ask('list_types', { org_id, type: 'recipe' })
        expect(factsIn(one, 'type 1').slice(1)).to.deep.equal([...lines, example])
        expect(factsIn(one, 'type 1')[0]).to.include({ nodes: 1 })
        expect(await model.refused('list_types', { org_id, type: 'gone' })).to.match(
          /^404 type_not_found: Get the name from list_types\n/,
        )
      })

      it('refuse a node with a line for each field, accept it once it is mended, and keep rules in proposals', async () => {
        const wrong = { type: 'recipe', serves: 'four', code: 'ab', cook: 'Olga' }
        const refused = await model.refused('create_node', { org_id, title: 'Borscht', properties: wrong })
        const { outside, parts } = parted(refused)
        expect(outside).to.match(/^422 invalid: The request is not valid$/)
        expect(parts['the reason']?.split('\n')).to.have.length(3)
        expect(parts['the reason']).to.include(
          'properties.serves must be a whole number; it is the text "four" (type recipe)\n',
        )
        for (const place of ['properties.code must ', 'properties.cook is not a field here'])
          expect(parts['the reason']?.split('\n').filter((line) => line.startsWith(place))).to.have.length(1)
        const last = factsIn(await model.ask('list_types', { org_id, type: 'recipe' }), 'type 1').at(-1)
        const right = (last as { example: { properties: object } }).example.properties
        const created = await model.ask('create_node', { org_id, title: 'Borscht', properties: right })
        const node_id = /^Node (\S+) was created/.exec(created)?.[1] ?? ''

        const change = { org_id, node_id, title: 'Serve more' }
        const broken = await model.refused('propose_change', { ...change, set_properties: { serves: 40, code: null } })
        expect(broken).to.match(/^409 invalid_content: Nothing was proposed/)
        const lines = parted(broken).parts['the reason']?.split('\n') ?? []
        expect(lines.filter((line) => /^node\.json: line \d+: properties\.serves must .*40/.test(line))).to.have.length(
          1,
        )
        expect(lines.filter((line) => /^node\.json: .*properties\.code is missing/.test(line))).to.have.length(1)
        const at = `/orgs/${org_id}/nodes/${node_id}`
        expect((await made(ann.get(`${at}/branches`))).total, 'main only').to.equal(1)
        expect((await made(ann.get(at))).properties).to.deep.equal(right)
      })

      it('change only the named properties, next to a text, in one commit', async () => {
        const properties = { type: 'recipe', serves: 4, code: 'SO-1', 'prep time': 2, due: null }
        const { id: node_id } = await made(ann.post(`/orgs/${org_id}/nodes`, { title: 'Soup', properties }))
        const at = `/orgs/${org_id}/nodes/${node_id}`
        const written =
          '{"title":"Soup",  "properties":{"type":"recipe", "serves":4.0,"code":"SO-1",\n"due":null}, "tags":[]}'
        const branch = `${at}/tree/main/commits`
        await made(
          ann.post(branch, { message: 'x', changes: [{ action: 'put', path: 'node.json', content: written }] }),
        )
        const input = {
          ...{ org_id, node_id, title: 'Serve six', changes: [{ path: 'content.md', content: 'Six.\n' }] },
          set_properties: { code: 'SO-6', due: null, size: { unit: 'g' } },
        }
        const answer = await model.ask('propose_change', input)
        expect(answer).to.include('can_merge: true')
        expect(await model.ask('propose_change', input), 'the same call again').to.equal(answer)
        const source = /Branch (\S+),/.exec(answer)?.[1]
        const diff = await model.ask('diff', { org_id, node_id, head: source })
        expect(parted(diff).outside).to.include('1 commits ahead').and.to.include('Files that differ: 2.')
        await made(ann.post(`${at}/pull-requests/1/merge`, {}))
        const file = await model.ask('read_node', { org_id, node_id, path: 'node.json' })
        expect(parted(file).parts['the text']).to.equal(
          '{"title":"Soup",  "properties":{"type":"recipe", "serves":4.0,"code":"SO-6","size":{"unit":"g"}}, "tags":[]}',
        )
        expect(await model.refused('propose_change', { org_id, node_id, title: 'x' })).to.match(/^422 invalid: Nothing/)
        const both = { ...input, changes: [{ path: 'node.json', content: '{}' }] }
        expect(await model.refused('propose_change', both)).to.match(
          /^422 invalid: `set_properties` changes node\.json/,
        )
      })

      it('are shown at a node, with what it breaks, and at a proposal', async () => {
        const properties = { type: 'recipes', serves: 4, code: 'SA-1' }
        const { id: node_id } = await made(ann.post(`/orgs/${org_id}/nodes`, { title: 'Salad', properties }))
        const proposal = { org_id, node_id, title: 'Serve two', set_properties: { serves: 2 } }
        await model.ask('propose_change', proposal)
        const strict = { ...recipe, schema: { ...recipe.schema, required: ['serves', 'code', 'due'] } }
        await made(ann.put(`/orgs/${org_id}/types/recipe`, { definition: strict }))
        const read = await model.ask('read_node', { org_id, node_id })
        expect(factsIn(read, 'node')[0]).to.include({ type: 'recipe' })
        expect(factsIn(read, 'problems')).to.deep.equal([
          { place: 'properties.due', problem: 'properties.due is missing' },
        ])
        const stricter = { ...strict, schema: { properties: { serves: { type: 'integer', minimum: 4 } } } }
        await made(ann.put(`/orgs/${org_id}/types/recipe`, { definition: stricter }))
        const [open] = factsIn(await model.ask('list_proposals', { org_id, node_id }), 'proposals')
        expect(open).to.include({ can_merge: false })
        expect(open?.problems).to.have.length(1)
        expect(String(open?.problems)).to.match(
          /^node\.json: line \d+: properties\.serves must be at least 4; .*type recipe/,
        )
        await made(ann.put(`/orgs/${org_id}/types/recipe`, { definition: recipe }))
      })

      it('that are advisory refuse nothing, but a proposal says what it breaks', async () => {
        const definition = { title: 'Film', schema: { properties: { minutes: { type: 'integer' } } } }
        await made(ann.put(`/orgs/${org_id}/types/film`, { definition }))
        const properties = { type: 'film', minutes: 90 }
        const { id: node_id } = await made(ann.post(`/orgs/${org_id}/nodes`, { title: 'Solaris', properties }))
        const input = { org_id, node_id, title: 'Longer', set_properties: { minutes: 'long' } }
        expect(await model.ask('propose_change', input)).to.include('It breaks 1 rules of its type')
        const [open] = factsIn(await model.ask('list_proposals', { org_id, node_id }), 'proposals')
        expect(open).to.include({ can_merge: true })
        expect(open?.type_problems).to.deep.equal([
          'properties.minutes must be a whole number; it is the text "long" (type film)',
        ])
      })

      it('that demand a connection can be met by a new node', async () => {
        const definition = {
          ...{ title: 'Book', enforcement: 'strict' },
          connections: { written_by: { to: ['person'], min: 1 }, about: { to: ['person'] } },
        }
        await made(ann.put(`/orgs/${org_id}/types/book`, { definition }))
        const { id: olga } = await made(
          ann.post(`/orgs/${org_id}/nodes`, { title: 'Olga', properties: { type: 'person' } }),
        )
        const { id: rock } = await made(ann.post(`/orgs/${org_id}/nodes`, { title: 'Rock' }))
        const book = { org_id, title: 'Soups', properties: { type: 'book' } }
        expect(await model.refused('create_node', book)).to.match(/^connections\.written_by .*\(type book\)$/m)
        const wrong = { ...book, connections: [{ target: rock, type: 'written_by' }] }
        expect(await model.refused('create_node', wrong)).to.match(/connections\.written_by .*\(type book\)$/m)
        const written = [{ target: olga, type: 'written_by', label: 'first edition' }, { target: rock }]
        const created = await model.ask('create_node', { ...book, connections: written })
        const around = await model.ask('neighbours', { org_id, node_id: /^Node (\S+)/.exec(created)?.[1] })
        const edges = factsIn(around, 'connections').map(({ id, type, label }) => ({ id, type, label }))
        expect(edges).to.have.deep.members([
          { id: olga, type: 'written_by', label: 'first edition' },
          { id: rock, type: 'related_to', label: undefined },
        ])
      })

      it('have a resource, and none if they are not there', async () => {
        const read = (uri: string) => model.client.readResource({ uri })
        const { contents } = await read(`grove://${org_id}/types/recipe`)
        const { outside, parts } = parted(String((contents[0] as { text?: string }).text))
        expect(JSON.parse(parts['the definition'] ?? '')).to.deep.equal(recipe)
        const { version, num_nodes } = await made(ann.get(`/orgs/${org_id}/types/recipe`))
        expect(outside).to.equal(
          `A type of organisation ${org_id}, version ${version}. Nodes that have it: ${num_nodes}.`,
        )
        const { resourceTemplates } = await model.client.listResourceTemplates()
        expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).to.deep.equal([
          'grove://{org_id}/{node_id}',
          'grove://{org_id}/types/{name}',
        ])
        for (const name of ['gone', 'Recipe', '__proto__', 'a%2Fb']) {
          const refused = await read(`grove://${org_id}/types/${name}`).then(() => '', String)
          expect(refused, name).to.match(/not found/i)
        }
      })

      it('take properties of any name, but say that one cannot be set', async () => {
        const properties = JSON.parse('{"toString": 1, "constructor": {"__proto__": 2}}')
        const created = await model.ask('create_node', { org_id, title: 'Names', properties })
        const node_id = /^Node (\S+)/.exec(created)?.[1]
        const stored = (await made(ann.get(`/orgs/${org_id}/nodes/${node_id}`))).properties
        expect(JSON.stringify(stored)).to.equal(JSON.stringify(properties))
        const input = { org_id, title: 'Names', properties: JSON.parse('{"__proto__": 1}') }
        expect(await model.refused('create_node', input)).to.include('`__proto__` cannot be set')
      })
    })
})
