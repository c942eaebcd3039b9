/** Creating a node, with a first commit and without. */

import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expecting, newNode } from '../support/node.ts'
import { ann, emptyOrg, grove, make, nodes, noNode, problem, read, useScene } from './scene.ts'

describe('nodes', () => {
  useScene()

  describe('creating one', () => {
    it('keeps every field in a first commit on main', async () => {
      const parent = await make({ title: 'Oceans' })
      const id = randomUUID()
      const answer = await ann.post(nodes, {
        id,
        title: 'Whales',
        text_content: '# Whales\n\nThey sing.\n',
        tags: ['sea', 'mammal', 'sea'],
        properties: { species: 90, habitats: [{ name: 'sea', depth: null }] },
        parents: [parent.id],
      })
      const { head, created_at, updated_at, ...body } = answer.body
      expect([answer.status, answer.headers.location]).to.deep.equal([201, `${nodes}/${id}`])
      expect(body).to.deep.equal({
        id,
        org_id: ann.org,
        title: 'Whales',
        slug: 'whales',
        text_content: '# Whales\n\nThey sing.\n',
        tags: ['sea', 'mammal'],
        properties: { species: 90, habitats: [{ name: 'sea', depth: null }] },
        parents: [{ id: parent.id, title: 'Oceans', label: '' }],
        children: [],
        main_needs_pull_request: false,
        connections: [],
        num_parents: 1,
        num_children: 0,
        num_ancestors: 1,
        num_descendants: 0,
        num_connections: 0,
        type: null,
        type_problems: [],
        clone_url: `${grove.url}/git/${ann.org}/${id}/whales.git`,
      })
      expect(await ann.get(`${nodes}/${id}`)).to.deep.equal({ status: 200, body: answer.body })
      const { body: commit } = await ann.get(`${nodes}/${id}/tree/main/commits/${head}`)
      expect(commit).to.deep.include({ author: 'Ann', author_email: 'ann@example.org', parent_commits: [] })
      // Commits keep whole seconds.
      expect(commit.created_at).to.equal(created_at.replace(/\.\d+Z$/, '.000Z'))
      expect(updated_at).to.equal(created_at)
      const keys = commit.changes.added.map((entity: { entity_key: string }) => entity.entity_key)
      expect(keys).to.deep.equal(['content.md', 'node.json', `parents/${parent.id}.json`])
    })

    it('needs no more than a title', async () => {
      const { status, body } = await ann.post(nodes, { title: 'Whales', text_content: null, parents: null })
      expect(status).to.equal(201)
      expect(body).to.deep.include({ title: 'Whales', text_content: '', tags: [], properties: {}, parents: [] })
    })

    it('counts characters of a title, a tag and a label as people do', async () => {
      const [title, tag, label] = ['🐋'.repeat(500), '🐋'.repeat(100), '🐋'.repeat(500)]
      const parent = await make()
      const node = await make({ title, tags: [tag] })
      await ann.put(`${node.at}/parents/${parent.id}`, { label }).then(expecting(200))
      expect(await read(node)).to.deep.include({
        title,
        tags: [tag],
        parents: [{ id: parent.id, title: 'Whales', label }],
      })
      expect(problem(await ann.post(nodes, { title: `${title}🐋` }))).to.include({ type: 'string_too_long' })
    })

    it('refuses a text of more than 10 MiB as UTF-8', async () => {
      const answer = await ann.post(nodes, { title: 'Whales', text_content: 'é'.repeat(5 * 1024 * 1024 + 1) })
      expect(problem(answer)).to.deep.equal({
        loc: ['body', 'text_content'],
        type: 'string_too_long',
        ctx: { max_length: 10485760 },
      })
    })

    it('refuses what UTF-8 cannot hold', async () => {
      expect(problem(await ann.post(nodes, { title: 'Whales', text_content: '\ud83d' }))).to.deep.equal({
        loc: ['body', 'text_content'],
        type: 'value_error',
      })
      const node = await make()
      const title = 'Whales\ud83d'
      for (const answer of [
        await ann.post(nodes, { title }),
        await ann.post(nodes, { title, initialize: false }),
        await ann.patch(node.at, { title }),
      ]) {
        expect(problem(answer)).to.deep.equal({ loc: ['body', 'title'], type: 'value_error' })
      }
      expect(problem(await ann.post(nodes, { title: 'Whales', tags: ['\ud83d'] }))).to.deep.equal({
        loc: ['body', 'tags', 0],
        type: 'value_error',
      })
      expect((await ann.post(nodes, { title: 'Whales', properties: { a: '\ud83d', b: '\0' } })).status).to.equal(201)
    })

    it('refuses an id that is in use and says where the node is', async () => {
      const node = await make()
      const before = await read(node)
      const answer = await ann.post(nodes, { id: node.id.toUpperCase(), title: 'Another' })
      expect(answer).to.deep.equal({
        status: 409,
        body: { detail: `A node with the id ${node.id} already exists`, code: 'node_exists' },
      })
      expect(answer.headers.location).to.equal(node.at)
      expect(await read(node)).to.deep.equal(before)
    })

    it('refuses the id of a node of another organisation and says no more', async () => {
      const node = await make()
      const { org } = await emptyOrg()
      const answer = await ann.post(`/orgs/${org}/nodes`, { id: node.id, title: 'Another' })
      expect(answer).to.deep.equal({
        status: 409,
        body: { detail: `The id ${node.id} is already in use`, code: 'node_exists' },
      })
      expect(answer.headers).to.not.have.property('location')
    })

    it('happens once when ten ask for the same id together', async () => {
      const id = randomUUID()
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, at) => ann.post(nodes, { id, title: `Whales ${at}` })),
      )
      expect(answers.map((answer) => answer.status).sort()).to.deep.equal([201, ...Array(9).fill(409)])
      expect(answers.map((answer) => answer.headers.location)).to.deep.equal(Array(10).fill(`${nodes}/${id}`))
    })

    it('happens in one organisation when two ask for the same id together', async () => {
      const { org } = await emptyOrg()
      const lists = [nodes, `/orgs/${org}/nodes`]
      for (let round = 0; round < 10; round++) {
        const id = randomUUID()
        const answers = await Promise.all(lists.map((list) => ann.post(list, { id, title: 'Whales' })))
        expect(answers.map(({ status }) => status).sort(), `round ${round}`).to.deep.equal([201, 409])
        const found = await Promise.all(lists.map((list) => ann.get(`${list}/${id}`)))
        expect(found.map(({ status }) => status)).to.deep.equal(
          answers.map(({ status }) => (status === 201 ? 200 : 404)),
        )
        const folders = [ann.org, org].filter((one) => existsSync(join(grove.dataDir, one, `${id}.git`)))
        expect(folders).to.have.length(1)
      }
    })

    it('refuses parents that are not there, each by its place', async () => {
      const parent = await make()
      const gone = await make()
      await ann.delete(gone.at).then(expecting(204))
      const foreign = await newNode(grove, await emptyOrg(), {})
      const own = randomUUID()
      for (const wrong of [randomUUID(), gone.id, foreign.id, own, 'nonsense']) {
        const answer = await ann.post(nodes, { id: own, title: 'Child', parents: [parent.id, wrong] })
        expect(problem(answer), wrong).to.deep.include({ loc: ['body', 'parents', 1], type: 'value_error' })
      }
      expect(await ann.get(`${nodes}/${own}`)).to.deep.equal(noNode)
      const twice = await ann.post(nodes, { title: 'Child', parents: [parent.id, parent.id] })
      expect(problem(twice)).to.deep.include({ loc: ['body', 'parents'], type: 'value_error' })
    })
  })

  describe('with connections', () => {
    it('holds them in its first commit, as if they were added one by one', async () => {
      const krill = await make({ title: 'Krill' })
      const food = { id: 'food', target: krill.id.toUpperCase(), type: 'feeds_on', label: 'by the tonne' }
      const node = await make({ connections: [food, { target: krill.id }, { target: krill.id, type: null }] })
      const { connections, num_connections } = await read(node)
      expect(num_connections).to.equal(3)
      const ends = { node_id: node.id, source: node.id, source_title: 'Whales', target_title: 'Krill' }
      expect(connections.find(({ id }: { id: string }) => id === 'food')).to.deep.equal({
        ...food,
        ...ends,
        target: krill.id,
      })
      const others = connections.filter(({ id }: { id: string }) => id !== 'food')
      for (const { id, ...rest } of others) {
        expect(id).to.match(/^[A-Za-z0-9_-]{12}$/)
        expect(rest).to.deep.equal({ ...ends, target: krill.id, type: 'related_to', label: '' })
      }
      expect(node.git.log()).to.have.length(1)
      expect(node.git.say('show', 'main:connections/food.json')).to.equal(
        JSON.stringify({ target: krill.id, type: 'feeds_on', label: 'by the tonne' }, null, 2),
      )
      expect((await read(krill)).num_connections).to.equal(3)
    })

    it('refuses targets that are not there, each by its place', async () => {
      const krill = await make()
      const foreign = await newNode(grove, await emptyOrg(), {})
      const own = randomUUID()
      for (const wrong of [randomUUID(), foreign.id, own, 'nonsense', '']) {
        const connections = [{ target: krill.id }, { target: wrong }]
        const { status, body } = await ann.post(nodes, { id: own, title: 'Whales', connections })
        expect([status, body.detail.length, body.detail[0].type], wrong).to.deep.equal([422, 1, 'value_error'])
        expect(body.detail[0].loc.slice(0, 3), wrong).to.deep.equal(['body', 'connections', 1])
        // The service has chosen the id of the connection.
        expect(body.detail[0].msg, wrong).to.not.include('.json')
      }
      const named = await ann.post(nodes, { title: 'Whales', connections: [{ id: 'food', target: randomUUID() }] })
      expect(named.body.detail[0].msg).to.match(/^connections\/food\.json: /)
      expect(await ann.get(`${nodes}/${own}`)).to.deep.equal(noNode)
    })

    it('refuses ids, types and fields that a batch refuses', async () => {
      const target = (await make()).id
      const wrong: [object[], (string | number)[], string][] = [
        [
          [
            { target, id: 'food' },
            { target, id: 'FOOD' },
          ],
          [1, 'id'],
          'value_error',
        ],
        [[{ target, id: 'a/b' }], [0, 'id'], 'string_pattern_mismatch'],
        [[{ target, type: 'Eats' }], [0, 'type'], 'string_pattern_mismatch'],
        [[{ target, label: '\n' }], [0, 'label'], 'string_pattern_mismatch'],
        [[{ target, expected_head: null }], [0, 'expected_head'], 'extra_forbidden'],
        [[{ type: 'eats' }], [0, 'target'], 'missing'],
        [Array(1001).fill({ target }), [], 'too_long'],
      ]
      for (const [connections, place, type] of wrong) {
        const alone = problem(await ann.post(nodes, { title: 'Whales', connections }))
        expect(alone).to.deep.include({ loc: ['body', 'connections', ...place], type })
        const inBatch = problem(await ann.post(`${nodes}/batch`, { nodes: [{ title: 'Whales', connections }] }))
        expect(inBatch).to.deep.equal({ ...alone, loc: ['body', 'nodes', 0, 'connections', ...place] })
      }
    })
  })

  describe('without a first commit', () => {
    it('is a node without head, text and tags', async () => {
      const answer = await ann.post(nodes, { title: 'Whales', initialize: false })
      expect(answer.status).to.equal(201)
      const { id, created_at, ...body } = answer.body
      expect(body).to.deep.equal({
        org_id: ann.org,
        title: 'Whales',
        slug: 'whales',
        text_content: '',
        tags: [],
        properties: {},
        updated_at: created_at,
        parents: [],
        children: [],
        main_needs_pull_request: false,
        connections: [],
        num_parents: 0,
        num_children: 0,
        num_ancestors: 0,
        num_descendants: 0,
        num_connections: 0,
        type: null,
        type_problems: [],
        clone_url: `${grove.url}/git/${ann.org}/${id}/whales.git`,
      })
      expect(await ann.get(`${nodes}/${id}`)).to.deep.equal({ status: 200, body: answer.body })
    })

    it('has a main without history, and no branch', async () => {
      const node = await make({ initialize: false })
      const page = { total: 0, limit: 50, offset: 0 }
      expect(await ann.get(`${node.at}/tree/main/commits`)).to.deep.equal({
        status: 200,
        body: { node_id: node.id, history: [], ...page },
      })
      expect(await ann.get(`${node.at}/tree/main`)).to.deep.equal({
        status: 200,
        body: { node_id: node.id, branch: 'main', entities: [], ...page },
      })
      expect((await ann.get(`${node.at}/branches`)).body).to.deep.equal({ branches: [], ...page })
      expect((await ann.get(`${node.at}/branches/main`)).body.code).to.equal('branch_not_found')
      expect((await ann.get(`${node.at}/tree/main/commits/${'0'.repeat(40)}`)).body.code).to.equal('commit_not_found')
    })

    it('takes no pull request', async () => {
      const node = await make({ initialize: false })
      const answer = await ann.post(`${node.at}/pull-requests`, { source_branch: 'draft', title: 'More' })
      expect(problem(answer)).to.deep.equal({
        loc: ['body', 'source_branch'],
        type: 'value_error',
        input: 'draft',
      })
    })

    it('has no place for content: each field is named', async () => {
      const parent = await make()
      const edges = { parents: [parent.id], connections: [{ target: parent.id }] }
      const fields = { text_content: 'Whales', tags: ['sea'], properties: { a: 1 }, ...edges }
      const { status, body } = await ann.post(nodes, { title: 'Whales', initialize: false, ...fields })
      expect([status, body.detail.map((one: { loc: string[] }) => one.loc)]).to.deep.equal([
        422,
        [
          ['body', 'text_content'],
          ['body', 'tags'],
          ['body', 'properties'],
          ['body', 'parents'],
          ['body', 'connections'],
        ],
      ])
    })

    it('gets its first commit over REST with expected_head null, and only so', async () => {
      const node = await make({ title: 'Given', initialize: false })
      const commit = { message: 'First', changes: [{ action: 'put', path: 'content.md', content: 'Whales sing.' }] }
      const at = `${node.at}/tree/main/commits`
      expect((await ann.post(at, commit)).body.code).to.equal('branch_not_found')
      const first = await ann.post(at, { ...commit, expected_head: null })
      expect([first.status, first.body.parent_commits, first.body.changes.base_commit_id]).to.deep.equal([
        201,
        [],
        null,
      ])
      expect(await read(node)).to.deep.include({ title: 'Given', text_content: 'Whales sing.', head: first.body.id })
      expect(await ann.post(at, { ...commit, expected_head: null })).to.deep.equal({
        status: 409,
        body: {
          detail: `The branch has moved since you read it (now at ${first.body.id}); nothing was changed`,
          code: 'head_moved',
          current_head: first.body.id,
        },
      })
    })

    it('also gets it by PATCH', async () => {
      const node = await make({ title: 'Given', initialize: false })
      await ann.patch(node.at, { tags: ['sea'], expected_head: null }).then(expecting(200))
      expect(await read(node)).to.deep.include({ title: 'Given', tags: ['sea'] })
      expect(node.git.say('show', 'main:node.json')).to.equal(
        JSON.stringify({ title: 'Given', tags: ['sea'], properties: {} }, null, 2),
      )
    })
  })
})
