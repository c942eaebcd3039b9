/** Creating a node, with a first commit and without. */

import { randomUUID } from 'node:crypto'
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
      const fields = { text_content: 'Whales', tags: ['sea'], properties: { a: 1 }, parents: [parent.id] }
      const { status, body } = await ann.post(nodes, { title: 'Whales', initialize: false, ...fields })
      expect([status, body.detail.map((one: { loc: string[] }) => one.loc)]).to.deep.equal([
        422,
        [
          ['body', 'text_content'],
          ['body', 'tags'],
          ['body', 'properties'],
          ['body', 'parents'],
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

    it('gets it by PATCH, too', async () => {
      const node = await make({ title: 'Given', initialize: false })
      await ann.patch(node.at, { tags: ['sea'], expected_head: null }).then(expecting(200))
      expect(await read(node)).to.deep.include({ title: 'Given', tags: ['sea'] })
      expect(node.git.say('show', 'main:node.json')).to.equal(
        JSON.stringify({ title: 'Given', tags: ['sea'], properties: {} }, null, 2),
      )
    })
  })
})
