import { expect } from 'chai'
import document from '../../spec/openapi.json' with { type: 'json' }
import { newNode, type TestNode } from '../support/node.ts'
import { client, password } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const unknown = { extra: 1, 'a/b~c': null, __proto_: {}, constructor: { prototype: 1 }, number: 7, half: '\ud800' }

describe('members of a body that the spec does not name', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode

  before(async () => {
    node = await newNode(grove, ann)
  })

  it('are ignored when an account is made', async () => {
    const answer = await client(grove).post('/auth/signup', {
      ...unknown,
      email: 'bob@example.org',
      password,
      org_id: ann.org,
      created_at: 'never',
    })
    expect(answer.status).to.equal(201)
    expect(answer.body.user).to.have.all.keys('id', 'email', 'name', 'created_at', 'org_id')
    expect(answer.body.user.org_id).to.not.equal(ann.org)
  })

  it('are ignored when a pull request is opened', async () => {
    await node.proposal('draft')
    const more = { ...unknown, status: 'merged', author: 'Nobody', draft: true }
    const pull = await node.open('draft', more)
    expect(pull).to.include({ number: 1, status: 'open', author: 'Ann', is_draft: false })
    expect(pull).to.not.have.any.keys('extra', 'draft', 'constructor')
  })

  it('are ignored when a search is asked, but not in its scope', async () => {
    const asked = { ...unknown, query: 'whales', limit: 1 }
    const path = `/orgs/${ann.org}/search/retrieve`
    const { status, body } = await ann.post(path, asked)
    expect([status, body.matches.length]).to.deep.equal([200, 1])
    const inScope = await ann.post(path, { ...asked, scope: { node: 'x' } })
    expect([inScope.status, inScope.body.detail]).to.deep.equal([
      422,
      [{ loc: ['body', 'scope', 'node'], msg: 'Extra inputs are not permitted', type: 'extra_forbidden', input: 'x' }],
    ])
  })

  it('do not hide what is wrong with those that it names', async () => {
    const { status, body } = await ann.post(`/orgs/${ann.org}/search/retrieve`, { ...unknown, top_k: 99 })
    expect(status).to.equal(422)
    expect(body.detail.map(({ loc }: { loc: string[] }) => loc[1])).to.have.members(['query', 'top_k'])
  })

  it('pollute nothing', async () => {
    const text = '{"query":"whales","__proto__":{"top_k":99,"polluted":1}}'
    expect((await ann.post(`/orgs/${ann.org}/search/retrieve`, text)).status).to.equal(200)
    expect({}).to.not.have.property('polluted')
  })

  it.deep('are refused everywhere else, at a hundred at once, which is the most that an answer lists', async () => {
    const open = ['NewAccount', 'NewPull', 'SearchRequest']
    const { schemas } = document.components
    const bodies = Object.values(document.paths)
      .flatMap(
        (item) => Object.values(item) as { requestBody?: { content: Record<string, { schema: { $ref: string } }> } }[],
      )
      .flatMap(({ requestBody }) => requestBody?.content['application/json']?.schema.$ref.split('/').at(-1) ?? [])
    for (const name of bodies) {
      const schema: object = schemas[name as keyof typeof schemas]
      expect('additionalProperties' in schema, name).to.equal(!open.includes(name))
    }
    const many = Object.fromEntries(Array.from({ length: 150_000 }, (_, at) => [`member${at}`, at]))
    for (const body of [many, { ...many, email: 'ann@example.org', password }]) {
      const { status, body: answer } = await client(grove).post('/auth/login', body)
      expect([status, answer.detail.length]).to.deep.equal([422, 100])
      // Under /auth/ no answer repeats what it does not know.
      expect(answer.detail[99]).to.deep.include({ type: 'extra_forbidden', loc: ['body', 'member99'] })
    }
  })

  it('do not let a list of any length be looked at item by item', async () => {
    const long = Array.from({ length: 200_000 }, () => 5)
    const asked: [string, object, unknown[]][] = [
      [`/orgs/${ann.org}/nodes`, { title: 'x', parents: long }, ['body', 'parents']],
      [`/orgs/${ann.org}/nodes`, { title: 'x', tags: long }, ['body', 'tags']],
      [`/orgs/${ann.org}/search/retrieve`, { query: 'x', scope: { node_ids: long } }, ['body', 'scope', 'node_ids']],
      [`${node.at}/tree/main/commits`, { message: 'x', changes: long }, ['body', 'changes']],
    ]
    for (const [path, body, loc] of asked) {
      const { status, body: answer } = await ann.post(path, body)
      expect([
        status,
        answer.detail.map((entry: { loc: unknown; type: string }) => [entry.loc, entry.type]),
      ]).to.deep.equal([422, [[loc, 'too_long']]])
    }
    const wrong = {
      message: 'x',
      changes: Array.from({ length: 1000 }, () => ({ action: 'no', path: 5, content: [], more: 1 })),
    }
    expect((await ann.post(`${node.at}/tree/main/commits`, wrong)).body.detail).to.have.length(100)
    const paths = Array.from({ length: 1000 }, () => ({ action: 'put', path: '../x', content: '' }))
    expect(
      (await ann.post(`${node.at}/tree/main/commits`, { message: 'x', changes: paths })).body.detail,
    ).to.have.length(100)
  })
})
