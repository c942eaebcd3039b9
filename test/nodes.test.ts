import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Answer, type Grove, type PersonClient, signUp, startGrove } from './support/grove.ts'
import { expecting, newNode, type TestNode } from './support/node.ts'

const noNode = { status: 404, body: { detail: 'Node not found', code: 'node_not_found' } }
const noParent = { status: 404, body: { detail: 'The node has no such parent', code: 'parent_not_found' } }
const noSuchParent = {
  status: 404,
  body: { detail: 'There is no such node to be the parent', code: 'parent_not_found' },
}
const noConnection = {
  status: 404,
  body: { detail: 'The node holds no such connection', code: 'connection_not_found' },
}

describe('nodes', () => {
  let grove: Grove
  let ann: PersonClient
  let nodes: string

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    nodes = `/orgs/${ann.org}/nodes`
  })
  after(() => grove.close())

  function make(fields: object = {}): Promise<TestNode> {
    return newNode(grove, ann, fields)
  }

  async function emptyOrg(): Promise<PersonClient> {
    const { body } = await ann.post('/orgs', { name: 'Atlas' }).then(expecting(201))
    return { ...ann, org: body.id }
  }

  async function read(node: Pick<TestNode, 'at'>): Promise<Answer['body']> {
    return (await ann.get(node.at).then(expecting(200))).body
  }

  /** The one problem that a 422 names. */
  function problem({ status, body }: Answer): object {
    expect([status, body.detail.length]).to.deep.equal([422, 1])
    const { msg, ...rest } = body.detail[0]
    return rest
  }

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
        text_content: '# Whales\n\nThey sing.\n',
        tags: ['sea', 'mammal'],
        properties: { species: 90, habitats: [{ name: 'sea', depth: null }] },
        parents: [{ id: parent.id, title: 'Oceans', label: '' }],
        children: [],
        connections: [],
        num_parents: 1,
        num_children: 0,
        num_ancestors: 1,
        num_descendants: 0,
        clone_url: `${grove.url}/git/${ann.org}/${id}.git`,
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
      for (const title of ['Whales\ud83d', 'Whales\0']) {
        for (const answer of [
          await ann.post(nodes, { title }),
          await ann.post(nodes, { title, initialize: false }),
          await ann.patch(node.at, { title }),
        ]) {
          expect(problem(answer)).to.deep.equal({ loc: ['body', 'title'], type: 'value_error' })
        }
      }
      for (const tags of [['\ud83d'], ['\0']]) {
        const ctx = { path: 'node.json', reason: 'tags must be an array of at most 100 texts of 1 to 100 characters' }
        expect(problem(await ann.post(nodes, { title: 'Whales', tags }))).to.deep.include({ loc: ['body'], ctx })
      }
      expect((await ann.post(nodes, { title: 'Whales', properties: { a: '\ud83d', b: '\0' } })).status).to.equal(201)
    })

    it('refuses an id that is in use and says where the node is', async () => {
      const node = await make()
      const before = await read(node)
      const answer = await ann.post(nodes, { id: node.id.toUpperCase(), title: 'Another' })
      expect(answer).to.deep.equal({
        status: 409,
        body: { detail: 'A node with this id exists', code: 'node_exists' },
      })
      expect(answer.headers.location).to.equal(node.at)
      expect(await read(node)).to.deep.equal(before)
    })

    it('refuses the id of a node of another organisation and says no more', async () => {
      const node = await make()
      const { org } = await emptyOrg()
      const answer = await ann.post(`/orgs/${org}/nodes`, { id: node.id, title: 'Another' })
      expect(answer).to.deep.equal({ status: 409, body: { detail: 'This id is taken', code: 'node_exists' } })
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
        text_content: '',
        tags: [],
        properties: {},
        updated_at: created_at,
        parents: [],
        children: [],
        connections: [],
        num_parents: 0,
        num_children: 0,
        num_ancestors: 0,
        num_descendants: 0,
        clone_url: `${grove.url}/git/${ann.org}/${id}.git`,
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
          detail: 'The branch is not at the expected head; nothing was changed',
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

  describe('the list', () => {
    let atlas: PersonClient
    let made: TestNode[]
    const list = (query = '') => ann.get(`/orgs/${atlas.org}/nodes${query}`)
    const idsOf = ({ body }: Answer): string[] => body.nodes.map((node: { id: string }) => node.id)

    before(async () => {
      atlas = await emptyOrg()
      const oceans = await newNode(grove, atlas, { title: 'Oceans', tags: ['sea'] })
      const whales = await newNode(grove, atlas, { title: 'Whales', tags: ['sea', 'mammal'], parents: [oceans.id] })
      const bears = await newNode(grove, atlas, { title: 'Bears', tags: ['mammal'] })
      const empty = await newNode(grove, atlas, { title: 'Empty', initialize: false })
      made = [oceans, whales, bears, empty]
    })

    it('has the oldest first, each in short', async () => {
      const answer = await list()
      expect(idsOf(answer)).to.deep.equal(made.map((node) => node.id))
      const { body: whales } = await ann.get(made[1]?.at ?? '')
      const summary = ['id', 'org_id', 'title', 'tags', 'properties', 'created_at', 'updated_at', 'head']
      expect(answer.body.nodes[1]).to.deep.equal(Object.fromEntries(summary.map((name) => [name, whales[name]])))
      expect(answer.body).to.include({ total: 4, limit: 50, offset: 0 })
      expect(answer.headers).to.not.have.property('link')
    })

    it('comes in pages with a link to the next, all parameters kept', async () => {
      const first = await list('?tag=sea&limit=1')
      expect([idsOf(first), first.body.total]).to.deep.equal([[made[0]?.id], 2])
      const next = `/orgs/${atlas.org}/nodes?tag=sea&limit=1&offset=1`
      expect(first.headers.link).to.equal(`<${next}>; rel="next"`)
      const second = await ann.get(next)
      expect(idsOf(second)).to.deep.equal([made[1]?.id])
      expect(second.headers).to.not.have.property('link')
    })

    it('is empty past its end, with the true total', async () => {
      expect(await list('?offset=4')).to.deep.equal({
        status: 200,
        body: { nodes: [], total: 4, limit: 50, offset: 4 },
      })
      expect((await list('?offset=9007199254740991')).body).to.include({ total: 4 })
    })

    it('refuses a limit and an offset out of bounds', async () => {
      const answers = await Promise.all(['?limit=0', '?limit=201', '?offset=-1', '?limit=ten'].map(list))
      expect(answers.map(({ status, body }) => [status, body.detail[0].loc, body.detail[0].type])).to.deep.equal([
        [422, ['query', 'limit'], 'greater_than_equal'],
        [422, ['query', 'limit'], 'less_than_equal'],
        [422, ['query', 'offset'], 'greater_than_equal'],
        [422, ['query', 'limit'], 'int_parsing'],
      ])
    })

    it('is narrowed by tag and by parent, together where both are given', async () => {
      const [oceans, whales, bears] = made.map((node) => node.id)
      expect(idsOf(await list('?tag=mammal'))).to.deep.equal([whales, bears])
      expect(idsOf(await list(`?parent_id=${oceans}`))).to.deep.equal([whales])
      expect(idsOf(await list(`?parent_id=${oceans}&tag=mammal`))).to.deep.equal([whales])
      expect(idsOf(await list(`?parent_id=${whales}&tag=mammal`))).to.deep.equal([])
    })

    it('is empty for a tag or a parent that is nowhere', async () => {
      for (const query of ['?tag=Sea', '?tag=%25', `?parent_id=${randomUUID()}`, '?parent_id=nonsense']) {
        expect((await list(query)).body, query).to.deep.equal({ nodes: [], total: 0, limit: 50, offset: 0 })
      }
    })

    it('shows no children of a parent that is deleted', async () => {
      const { org } = await emptyOrg()
      const parent = await newNode(grove, { ...ann, org })
      await newNode(grove, { ...ann, org }, { parents: [parent.id] })
      await ann.delete(parent.at).then(expecting(204))
      const { body } = await ann.get(`/orgs/${org}/nodes?parent_id=${parent.id}`)
      expect(body).to.deep.equal({ nodes: [], total: 0, limit: 50, offset: 0 })
    })
  })

  describe('changing one', () => {
    it('is one commit on main', async () => {
      const node = await make({ text_content: 'Whales.', tags: ['sea'], properties: { a: 1, b: 2 } })
      const fields = {
        title: 'Dolphins',
        text_content: 'Dolphins.',
        tags: ['sea', 'mammal', 'sea'],
        properties: { c: { d: [] } },
      }
      const { status, body } = await ann.patch(node.at, { ...fields, message: 'All of it' })
      expect(status).to.equal(200)
      expect(body).to.deep.include({ ...fields, tags: ['sea', 'mammal'], head: node.git.head() })
      expect(await read(node)).to.deep.equal(body)
      const { history } = (await ann.get(`${node.at}/tree/main/commits`)).body
      expect(history.map((commit: { message: string }) => commit.message)).to.deep.equal(['All of it', 'Create node'])
    })

    it('leaves as it is what is not given, and what is null', async () => {
      const node = await make({ text_content: 'Whales.', tags: ['sea'], properties: { a: 1 } })
      await ann.patch(node.at, { title: 'Dolphins', tags: null }).then(expecting(200))
      expect(await read(node)).to.deep.include({
        title: 'Dolphins',
        text_content: 'Whales.',
        tags: ['sea'],
        properties: { a: 1 },
      })
    })

    it('takes away tags, properties and text that are given empty', async () => {
      const node = await make({ text_content: 'Whales.', tags: ['sea'], properties: { a: 1 } })
      await ann.patch(node.at, { text_content: '', tags: [], properties: {} }).then(expecting(200))
      expect(await read(node)).to.deep.include({ text_content: '', tags: [], properties: {} })
    })

    it('is no commit where nothing changes', async () => {
      const fields = { title: 'Whales', text_content: 'Whales.', tags: ['sea'], properties: { a: 1 } }
      const node = await make(fields)
      const body = await read(node)
      for (const same of [{}, fields, { title: 'Whales' }, { message: 'Nothing' }]) {
        expect(await ann.patch(node.at, same)).to.deep.equal({ status: 200, body })
      }
      expect(node.git.log()).to.have.length(1)
    })

    it('keeps the keys of node.json that are none of ours', async () => {
      const node = await make({ tags: ['sea'] })
      const file = { licence: 'CC0', title: 'Whales', tags: ['sea'], properties: {}, more: { a: [1] } }
      await node.commit('main', { 'node.json': JSON.stringify(file) })
      await ann.patch(node.at, { title: 'Dolphins' }).then(expecting(200))
      expect(JSON.parse(node.git.say('show', 'main:node.json'))).to.deep.equal({ ...file, title: 'Dolphins' })
    })

    it('works where node.json begins with a byte order mark', async () => {
      const node = await make()
      await node.commit('main', { 'node.json': `\ufeff${JSON.stringify({ title: 'Marked', more: 1 })}` })
      expect((await ann.patch(node.at, { tags: ['sea'] })).body).to.deep.include({ title: 'Marked', tags: ['sea'] })
      expect(JSON.parse(node.git.say('show', 'main:node.json'))).to.include({ title: 'Marked', more: 1 })
    })

    it('happens only at the expected head', async () => {
      const node = await make()
      const first = node.git.head()
      const second = await node.commit('main', { 'a.md': 'a' })
      const moved = {
        status: 409,
        body: {
          detail: 'The branch is not at the expected head; nothing was changed',
          code: 'head_moved',
          current_head: second,
        },
      }
      expect(await ann.patch(node.at, { title: 'Dolphins', expected_head: first })).to.deep.equal(moved)
      expect(await ann.patch(node.at, { title: 'Dolphins', expected_head: null })).to.deep.equal(moved)
      expect(node.git.head()).to.equal(second)
      expect((await ann.patch(node.at, { title: 'Dolphins', expected_head: second })).status).to.equal(200)
    })

    it('refuses what has the wrong shape', async () => {
      const node = await make()
      const wrong: [object, (string | number)[], string][] = [
        [{ title: ' ' }, ['body', 'title'], 'string_pattern_mismatch'],
        [{ title: '' }, ['body', 'title'], 'string_too_short'],
        [{ title: 7 }, ['body', 'title'], 'string_type'],
        [{ tags: [''] }, ['body', 'tags', 0], 'string_too_short'],
        [{ tags: 'sea' }, ['body', 'tags'], 'list_type'],
        [{ properties: [] }, ['body', 'properties'], 'dict_type'],
        [{ message: '\n' }, ['body', 'message'], 'string_pattern_mismatch'],
        [{ expected_head: 'main' }, ['body', 'expected_head'], 'string_pattern_mismatch'],
        [{ parents: [] }, ['body', 'parents'], 'extra_forbidden'],
      ]
      for (const [change, loc, type] of wrong) {
        const { status, body } = await ann.patch(node.at, change)
        const [first] = body.detail
        expect([status, first.loc, first.type], JSON.stringify(change)).to.deep.equal([422, loc, type])
      }
      expect(node.git.log()).to.have.length(1)
    })
  })

  describe('what main holds', () => {
    it('is the text of README.md where there is no content.md', async () => {
      const node = await make()
      await node.commit('main', { 'README.md': '# Read me', 'docs/README.md': '# Not me' })
      expect((await read(node)).text_content).to.equal('# Read me')
      await node.commit('main', { 'content.md': '# Me first' })
      expect((await read(node)).text_content).to.equal('# Me first')
      await node.commit('main', { 'content.md': null })
      expect((await read(node)).text_content).to.equal('# Read me')
    })

    it('is the title of creation where node.json has none, or is not there', async () => {
      const node = await make({ title: 'Given', tags: ['sea'] })
      await node.commit('main', { 'node.json': '{"tags": ["land"]}' })
      expect(await read(node)).to.deep.include({ title: 'Given', tags: ['land'], properties: {} })
      await node.commit('main', { 'node.json': null })
      expect(await read(node)).to.deep.include({ title: 'Given', tags: [], properties: {} })
      await ann.patch(node.at, { properties: { a: 1 } }).then(expecting(200))
      expect(JSON.parse(node.git.say('show', 'main:node.json'))).to.deep.equal({
        title: 'Given',
        tags: [],
        properties: { a: 1 },
      })
    })

    it('is told of main alone, whatever other branches say', async () => {
      const node = await make({ title: 'Main' })
      await node.branch('draft')
      await node.commit('draft', { 'node.json': '{"title": "Draft"}', 'content.md': 'Draft' })
      expect(await read(node)).to.deep.include({ title: 'Main', text_content: '' })
    })

    it('counts a tag once that node.json names twice', async () => {
      const node = await make()
      await node.commit('main', { 'node.json': '{"tags": ["sea", "sea"]}' })
      expect((await read(node)).tags).to.deep.equal(['sea'])
      expect((await ann.get(`${nodes}?tag=sea&limit=200`)).status).to.equal(200)
    })
  })

  describe('deleting one', () => {
    it('leaves nothing under it', async () => {
      const node = await make()
      await node.proposal('draft')
      await node.open('draft')
      const [head, total] = [node.git.head(), (await ann.get(nodes)).body.total]
      expect(await ann.delete(node.at)).to.deep.equal({ status: 204, body: undefined })
      const paths = [
        '',
        '/branches',
        '/branches/main',
        '/tags',
        '/tree/main',
        '/tree/main/files/node.json',
        '/tree/main/commits',
        `/tree/main/commits/${head}`,
        '/compare?base=main&head=main',
        '/pull-requests',
        '/pull-requests/1',
      ]
      for (const path of paths) expect(await ann.get(`${node.at}${path}`), path).to.deep.equal(noNode)
      expect(await ann.patch(node.at, { title: 'Dolphins' })).to.deep.equal(noNode)
      expect(await ann.delete(node.at)).to.deep.equal(noNode)
      expect((await ann.get(nodes)).body.total).to.equal(total - 1)
    })

    it('hides its edges from what it was linked with', async () => {
      const above = await make({ title: 'Above' })
      const node = await make({ parents: [above.id] })
      const below = await make({ title: 'Below', parents: [node.id] })
      await ann.post(`${node.at}/connections`, { target: above.id }).then(expecting(201))
      await ann.post(`${below.at}/connections`, { target: node.id }).then(expecting(201))
      await ann.delete(node.at).then(expecting(204))
      const alone = {
        parents: [],
        children: [],
        connections: [],
        num_parents: 0,
        num_children: 0,
        num_ancestors: 0,
        num_descendants: 0,
      }
      expect(await read(above)).to.deep.include(alone)
      expect(await read(below)).to.deep.include(alone)
    })

    it('does not lock what still names it in a file', async () => {
      const node = await make()
      const below = await make({ parents: [node.id] })
      await ann.post(`${below.at}/connections`, { target: node.id, id: 'gone' }).then(expecting(201))
      await ann.delete(node.at).then(expecting(204))
      expect((await ann.patch(below.at, { title: 'Below' })).status).to.equal(200)
      expect((await ann.patch(`${below.at}/connections/gone`, { label: 'once' })).status).to.equal(200)
      expect((await ann.delete(`${below.at}/connections/gone`)).status).to.equal(204)
      expect((await ann.delete(`${below.at}/parents/${node.id}`)).status).to.equal(204)
    })

    it('puts its repository into the trash, whole', async () => {
      const node = await make()
      const head = node.git.head()
      await ann.delete(node.at).then(expecting(204))
      const trash = join(grove.dataDir, 'trash', ann.org)
      const trashed = readdirSync(trash).filter((name) => name.startsWith(node.id))
      expect([existsSync(node.git.dir), trashed.length]).to.deep.equal([false, 1])
      expect(
        node.git
          .run(['--git-dir', join(trash, trashed[0] ?? ''), 'rev-parse', 'main'])
          .toString()
          .trim(),
      ).to.equal(head)
    })

    it('frees its id', async () => {
      const { id, at } = await make({ title: 'Old' })
      await ann.delete(at).then(expecting(204))
      expect((await ann.post(nodes, { id, title: 'New' })).body).to.include({ id, title: 'New' })
    })

    it('by ten at once succeeds once', async () => {
      const node = await make()
      const answers = await Promise.all(Array.from({ length: 10 }, () => ann.delete(node.at)))
      expect(answers.map((answer) => answer.status).sort()).to.deep.equal([204, ...Array(9).fill(404)])
    })
  })

  describe('parents', () => {
    it('are put by one commit on the child, which names both', async () => {
      const [parent, child] = [await make({ title: 'Oceans' }), await make()]
      const answer = await ann.put(`${child.at}/parents/${parent.id}`, { label: 'lives in' })
      expect(answer.status).to.equal(200)
      expect(answer.body).to.deep.include({
        parents: [{ id: parent.id, title: 'Oceans', label: 'lives in' }],
        num_parents: 1,
        num_ancestors: 1,
      })
      expect(await read(child)).to.deep.equal(answer.body)
      expect(await read(parent)).to.deep.include({
        children: [{ id: child.id, title: 'Whales', label: 'lives in' }],
        num_children: 1,
        num_descendants: 1,
      })
      expect(child.git.log()).to.have.length(2)
      expect(parent.git.log()).to.have.length(1)
      expect(child.git.say('show', `main:parents/${parent.id}.json`)).to.equal('{\n  "label": "lives in"\n}')
    })

    it('are put again without another commit, the label kept unless a new one is given', async () => {
      const [parent, child] = [await make(), await make()]
      const path = `${child.at}/parents/${parent.id}`
      const first = await ann.put(path, { label: 'lives in' })
      expect(await ann.put(path)).to.deep.equal(first)
      expect(await ann.put(path, {})).to.deep.equal(first)
      expect(await ann.put(path, { label: null })).to.deep.equal(first)
      expect(child.git.log()).to.have.length(2)
      expect((await ann.put(path, { label: 'dives in' })).body.parents[0].label).to.equal('dives in')
      expect((await ann.put(path, { label: '' })).body.parents[0].label).to.equal('')
      expect(child.git.log()).to.have.length(4)
    })

    it('are refused where they close a cycle, over any number of levels', async () => {
      const chain = [await make()]
      for (let level = 0; level < 4; level++) chain.push(await make({ parents: [chain[level]?.id] }))
      const [top] = chain
      for (const below of chain) {
        const answer = await ann.put(`${top?.at}/parents/${below.id}`)
        expect(problem(answer)).to.deep.include({ loc: ['path', 'parent_id'], type: 'value_error' })
      }
      expect(top?.git.log()).to.have.length(1)
    })

    it('are refused by a commit that closes a cycle, whole', async () => {
      const above = await make()
      const below = await make({ parents: [above.id] })
      const path = `parents/${below.id}.json`
      const changes = [
        { action: 'put', path: 'a.md', content: 'a' },
        { action: 'put', path, content: '{}' },
      ]
      const answer = await ann.post(`${above.at}/tree/main/commits`, { message: 'Cycle', changes })
      const reason = `node ${below.id} is a descendant of this node: a cycle`
      expect(problem(answer)).to.deep.equal({
        loc: ['body', 'changes', 1],
        type: 'value_error',
        ctx: { path, reason },
      })
      expect(above.git.log()).to.have.length(1)
    })

    it('close no cycle when two are put together', async () => {
      for (let round = 0; round < 5; round++) {
        const [one, other] = [await make(), await make()]
        const answers = await Promise.all([
          ann.put(`${one.at}/parents/${other.id}`),
          ann.put(`${other.at}/parents/${one.id}`),
        ])
        expect(answers.map((answer) => answer.status).sort()).to.deep.equal([200, 422])
      }
    })

    it('may be diamonds', async () => {
      const top = await make()
      const [left, right] = [await make({ parents: [top.id] }), await make({ parents: [top.id] })]
      const bottom = await make({ parents: [left.id, right.id] })
      expect((await ann.put(`${bottom.at}/parents/${top.id}`)).body).to.include({ num_parents: 3, num_ancestors: 3 })
      expect(await read(top)).to.include({ num_children: 3, num_descendants: 3 })
    })

    it('are nodes of the same organisation that exist', async () => {
      const node = await make()
      const gone = await make()
      await ann.delete(gone.at).then(expecting(204))
      const foreign = await newNode(grove, await emptyOrg())
      for (const parent of [randomUUID(), gone.id, foreign.id, node.id.toUpperCase(), 'nonsense']) {
        expect(await ann.put(`${node.at}/parents/${parent}`), parent).to.deep.equal(noSuchParent)
      }
      for (const parent of [foreign.id, gone.id]) {
        const change = { action: 'put', path: `parents/${parent}.json`, content: '{}' }
        const answer = await ann.post(`${node.at}/tree/main/commits`, { message: 'Edge', changes: [change] })
        expect(problem(answer)).to.deep.include({ loc: ['body', 'changes', 0] })
      }
    })

    it('are taken away by one commit, once', async () => {
      const parent = await make()
      const child = await make({ parents: [parent.id] })
      const path = `${child.at}/parents/${parent.id}`
      expect(await ann.delete(path)).to.deep.equal({ status: 204, body: undefined })
      expect(await read(child)).to.deep.include({ parents: [], num_ancestors: 0 })
      expect(await ann.delete(path)).to.deep.equal(noParent)
      expect(await ann.delete(`${child.at}/parents/nonsense`)).to.deep.equal(noParent)
      expect(child.git.log()).to.have.length(2)
    })

    it('are not taken for files that only look alike', async () => {
      const parent = await make()
      const child = await make({ parents: [parent.id] })
      await child.commit('main', { [`parents/old/${parent.id}.json`]: '{}' })
      expect(await ann.delete(`${child.at}/parents/old%2F${parent.id}`)).to.deep.equal(noParent)
      expect((await read(child)).parents).to.have.length(1)
    })

    it('move only at the expected head', async () => {
      const [parent, child] = [await make(), await make()]
      const path = `${child.at}/parents/${parent.id}`
      const stale = '0123456789012345678901234567890123456789'
      expect((await ann.put(path, { expected_head: stale })).body).to.include({
        code: 'head_moved',
        current_head: child.git.head(),
      })
      expect((await ann.put(path, { expected_head: child.git.head() })).status).to.equal(200)
      expect((await ann.delete(`${path}?expected_head=${stale}`)).body).to.include({
        code: 'head_moved',
        current_head: child.git.head(),
      })
      expect((await ann.delete(`${path}?expected_head=${child.git.head()}`)).status).to.equal(204)
    })
  })

  describe('connections', () => {
    let whales: TestNode
    let krill: TestNode

    beforeEach(async () => {
      whales = await make()
      krill = await make({ title: 'Krill' })
    })

    it('are made by one commit on the node that holds them, and seen from both ends', async () => {
      const sent = { target: krill.id, type: 'feeds_on', label: 'by the tonne', id: 'krill' }
      const answer = await ann.post(`${whales.at}/connections`, sent)
      const connection = { ...sent, node_id: whales.id, source: whales.id }
      expect(answer).to.deep.equal({ status: 201, body: connection })
      expect(answer.headers.location).to.equal(`${whales.at}/connections/krill`)
      expect((await read(whales)).connections).to.deep.equal([connection])
      expect((await read(krill)).connections).to.deep.equal([connection])
      expect(whales.git.say('show', 'main:connections/krill.json')).to.equal(
        JSON.stringify({ target: krill.id, type: 'feeds_on', label: 'by the tonne' }, null, 2),
      )
      expect([whales.git.log().length, krill.git.log().length]).to.deep.equal([2, 1])
    })

    it('have an id and the type related_to of their own accord', async () => {
      const { status, body } = await ann.post(`${whales.at}/connections`, { target: krill.id })
      const { id, ...rest } = body
      expect([status, /^[A-Za-z0-9_-]{12}$/.test(id)]).to.deep.equal([201, true])
      expect(rest).to.deep.equal({
        node_id: whales.id,
        source: whales.id,
        target: krill.id,
        type: 'related_to',
        label: '',
      })
    })

    it('may be several between the same two nodes, and form cycles', async () => {
      await ann.post(`${whales.at}/connections`, { target: krill.id }).then(expecting(201))
      await ann.post(`${whales.at}/connections`, { target: krill.id, type: 'feeds_on' }).then(expecting(201))
      await ann.post(`${krill.at}/connections`, { target: whales.id, type: 'feeds' }).then(expecting(201))
      expect((await read(whales)).connections).to.have.length(3)
      expect((await read(whales)).num_ancestors).to.equal(0)
    })

    it('have a slug as their type', async () => {
      for (const type of ['is_a', 'a', `a${'9'.repeat(63)}`]) {
        expect((await ann.post(`${whales.at}/connections`, { target: krill.id, type })).status, type).to.equal(201)
      }
      for (const type of ['', 'Is_a', 'is a', 'is-a', '1a', '_a', 'é', `a${'9'.repeat(64)}`]) {
        const answer = await ann.post(`${whales.at}/connections`, { target: krill.id, type })
        expect(problem(answer), type).to.deep.include({ loc: ['body', 'type'], type: 'string_pattern_mismatch' })
      }
    })

    it('lead to another node of the same organisation that exists', async () => {
      const gone = await make()
      await ann.delete(gone.at).then(expecting(204))
      const foreign = await newNode(grove, await emptyOrg())
      await ann.post(`${whales.at}/connections`, { target: krill.id, id: 'food' }).then(expecting(201))
      for (const target of [whales.id, randomUUID(), gone.id, foreign.id, 'nonsense', '']) {
        for (const answer of [
          await ann.post(`${whales.at}/connections`, { target }),
          await ann.patch(`${whales.at}/connections/food`, { target }),
        ]) {
          expect(problem(answer), target).to.deep.include({ loc: ['body', 'target'], type: 'value_error' })
        }
      }
      expect(whales.git.log()).to.have.length(2)
    })

    it('have an id once, whatever its case', async () => {
      await ann.post(`${whales.at}/connections`, { target: krill.id, id: 'food' }).then(expecting(201))
      for (const id of ['food', 'FOOD']) {
        expect(await ann.post(`${whales.at}/connections`, { target: krill.id, id })).to.deep.equal({
          status: 409,
          body: { detail: 'A connection with this id exists', code: 'connection_exists' },
        })
      }
      expect((await ann.post(`${krill.at}/connections`, { target: whales.id, id: 'food' })).status).to.equal(201)
    })

    it('have an id that can be the name of a file', async () => {
      for (const id of ['', 'a/b', '..', 'a.b', 'a b', 'é', 'a'.repeat(65)]) {
        const answer = await ann.post(`${whales.at}/connections`, { target: krill.id, id })
        expect(problem(answer), id).to.deep.include({ loc: ['body', 'id'], type: 'string_pattern_mismatch' })
      }
    })

    it('change in what is given, by one commit, or none', async () => {
      const bears = await make()
      const sent = { target: krill.id, type: 'feeds_on', label: 'by the tonne', id: 'food' }
      const { body: before } = await ann.post(`${whales.at}/connections`, sent)
      const path = `${whales.at}/connections/food`
      expect(await ann.patch(path, { type: 'eats' })).to.deep.equal({ status: 200, body: { ...before, type: 'eats' } })
      const after = { ...before, target: bears.id, type: 'eats', label: '' }
      expect(await ann.patch(path, { target: bears.id, label: '' })).to.deep.equal({ status: 200, body: after })
      expect(whales.git.log()).to.have.length(4)
      for (const same of [{}, { type: 'eats' }, { label: null }]) {
        expect(await ann.patch(path, same)).to.deep.equal({ status: 200, body: after })
      }
      expect(whales.git.log()).to.have.length(4)
      expect((await read(bears)).connections).to.deep.equal([after])
      expect((await read(krill)).connections).to.deep.equal([])
    })

    it('are removed by one commit, once', async () => {
      await ann.post(`${whales.at}/connections`, { target: krill.id, id: 'food' }).then(expecting(201))
      const path = `${whales.at}/connections/food`
      expect(await ann.delete(path)).to.deep.equal({ status: 204, body: undefined })
      expect((await read(krill)).connections).to.deep.equal([])
      expect(await ann.delete(path)).to.deep.equal(noConnection)
      expect(await ann.patch(path, { label: 'once' })).to.deep.equal(noConnection)
      expect(whales.git.log()).to.have.length(3)
    })

    it('are changed and removed at the node that holds them, and nowhere else', async () => {
      await ann.post(`${whales.at}/connections`, { target: krill.id, id: 'food' }).then(expecting(201))
      for (const path of [`${krill.at}/connections/food`, `${whales.at}/connections/f%2Food`]) {
        expect(await ann.patch(path, { label: 'once' })).to.deep.equal(noConnection)
        expect(await ann.delete(path)).to.deep.equal(noConnection)
      }
    })

    it('move only at the expected head', async () => {
      const expected_head = '0123456789012345678901234567890123456789'
      const connections = `${whales.at}/connections`
      await ann.post(connections, { target: krill.id, id: 'food' }).then(expecting(201))
      const answers = [
        await ann.post(connections, { target: krill.id, expected_head }),
        await ann.patch(`${connections}/food`, { label: 'once', expected_head }),
        await ann.delete(`${connections}/food?expected_head=${expected_head}`),
      ]
      const current_head = whales.git.head()
      expect(answers.map(({ status, body }) => [status, body.code, body.current_head])).to.deep.equal(
        Array(3).fill([409, 'head_moved', current_head]),
      )
      expect((await ann.delete(`${connections}/food?expected_head=${current_head}`)).status).to.equal(204)
    })
  })
})
