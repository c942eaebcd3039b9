/** The fields of a line in the request log, which never has secrets. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { type Desk, newDesk } from '../support/desk.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
type Line = Record<string, any>

const linesOf = (grove: Grove): Line[] =>
  grove
    .logged()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** The line of a request, which is written once its response is closed. */
async function lineOf(grove: Grove, id: string | undefined): Promise<Line> {
  const found = () => linesOf(grove).find(({ req }) => req?.id === id)
  await until(() => found() !== undefined)
  return found() ?? {}
}

describe('the request log', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { logLevel: 'info' })
  let node: TestNode
  let desk: Desk

  before(async () => {
    node = await newNode(grove, ann)
    desk = await newDesk()
    await desk.done('git config --global http.extraHeader "Authorization: Bearer $TOKEN"', {
      TOKEN: ann.session.accessToken,
    })
  })
  after(() => desk.remove())

  it.deep('has no warning of Node beside it: an answer in pieces to a body in JSON', async () => {
    const texts = Array.from({ length: 3 }, () => newNode(grove, ann, { text_content: 'krill '.repeat(60_000) }))
    await Promise.all(texts)
    const warnings: string[] = []
    const warn = ({ name }: Error) => void warnings.push(name)
    process.on('warning', warn)
    try {
      const found = await ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'krill', include_raw_text: true })
      expect(found.body.nodes.length).to.equal(3)
    } finally {
      process.off('warning', warn)
    }
    expect(warnings).to.deep.equal([])
  })

  it('names the operation, the organisation, the node and the account of a request', async () => {
    const { headers } = await ann.get(node.at)
    const { level, msg, op, org, node: id, actor, token_id, req, res } = await lineOf(grove, headers['x-request-id'])
    const { id: _, remoteAddress, ...rest } = req
    expect({ level, msg, op, org, node: id, actor, token_id, rest, res, remoteAddress }).to.deep.equal({
      level: 30,
      msg: 'request completed',
      op: 'getNode',
      org: ann.org,
      node: node.id,
      actor: ann.user.id,
      token_id: undefined,
      rest: { method: 'GET' },
      res: { statusCode: 200 },
      remoteAddress: '127.0.0.1',
    })
  })

  it('names the personal access token by its id, and the code of a refusal', async () => {
    const { body } = await ann.post('/auth/tokens', { name: 'Laptop', access: 'read' })
    const { headers } = await client(grove, body.token).patch(node.at, { title: 'More' })
    const { actor, token_id, res } = await lineOf(grove, headers['x-request-id'])
    expect({ actor, token_id, res }).to.deep.equal({
      actor: ann.user.id,
      token_id: body.id,
      res: { statusCode: 403, code: 'token_scope' },
    })
  })

  it('counts the bytes of the request and of the response, with their headers', async () => {
    const text_content = 'whale '.repeat(20_000)
    const sent = await ann.patch(node.at, { text_content })
    const read = await ann.get(node.at, { 'accept-encoding': 'identity' })
    const [writing, reading] = [
      await lineOf(grove, sent.headers['x-request-id']),
      await lineOf(grove, read.headers['x-request-id']),
    ]
    expect(writing.bytes_in - text_content.length).to.be.within(100, 1_000)
    expect(reading.bytes_in).to.be.within(100, 1_000)
    expect(reading.bytes_out - Number(read.headers['content-length'])).to.be.within(100, 2_000)
    expect(reading.ms).to.be.a('number')
  })

  it('takes the trace of a valid traceparent, and of no other', async () => {
    const trace = '0af7651916cd43dd8448eb211c80319c'
    const span = 'b7ad6b7169203331'
    const told = async (traceparent: string) =>
      (await lineOf(grove, (await ann.get(node.at, { traceparent })).headers['x-request-id'])).trace_id
    expect(await told(`00-${trace}-${span}-01`)).to.equal(trace)
    expect(await told(`cc-${trace}-${span}-01-what-comes-next`)).to.equal(trace)
    const bad = [
      `00-${trace}-${span}-01-more`,
      `ff-${trace}-${span}-01`,
      `00-${'0'.repeat(32)}-${span}-01`,
      `00-${trace}-${'0'.repeat(16)}-01`,
      `00-${trace.toUpperCase()}-${span}-01`,
      'ann@example.org',
    ]
    for (const traceparent of bad) expect(await told(traceparent), traceparent).to.equal(undefined)
  })

  it.deep('names what git asks for, and warns of a refused push with its reason', async () => {
    await desk.done(
      `git clone -q $URL whales; cd whales; git switch -q -c secret-branch
       printf '{' > node.json; git commit -q -a -m Broken; ! git push -q origin secret-branch`,
      { URL: `${grove.url}/git/${ann.org}/${node.id}.git` },
    )
    const pushes = () => linesOf(grove).filter(({ op }) => op === 'git-receive-pack')
    await until(() => pushes().length > 0)
    expect(
      pushes().map(({ level, msg, org, node: id, actor, refused }) => ({ level, msg, org, id, actor, refused })),
    ).to.deep.equal([
      {
        level: 40,
        msg: 'a push was refused',
        org: ann.org,
        id: node.id,
        actor: ann.user.id,
        refused: ['the content breaks a rule'],
      },
    ])
    const asked = linesOf(grove).map(({ op }) => op)
    expect(asked).to.include.members(['info-refs', 'git-upload-pack', 'git-receive-pack'])
  })

  it.deep('tells how long a request waited for the password queue, if it did', async () => {
    const slow = await startGrove({ logLevel: 'info', slowPasswords: true })
    const { user } = await signUp(slow, 'Ann')
    const logIn = () => client(slow).post('/auth/login', { email: user.email, password })
    const waits = (op: string) => linesOf(slow).flatMap((line) => (line.op === op ? [typeof line.wait_ms] : []))
    await until(async () => {
      await Promise.all(Array.from({ length: 8 }, logIn))
      return waits('logIn').includes('number')
    })
    expect(waits('signUp')).to.deep.equal(['undefined'])
    await slow.close()
  })

  it.deep('never holds an address, a query, or the name of a file', async () => {
    const mark = 'remarkable'
    const email = `${mark}@example.org`
    const asked = await Promise.all([
      ann.put(`/orgs/${ann.org}/members/${email}`, { role: 'reader' }),
      ann.delete(`/orgs/${ann.org}/members/${email}`),
      ann.get(`/orgs/${email}/nodes/${mark}`),
      ann.get(`${node.at}/tree/main/files/${mark}/deep.md`),
      ann.post(`${node.at}/tree/main/commits`, {
        message: mark,
        changes: [{ action: 'put', path: `${mark}.md`, content: mark }],
      }),
      ann.get(`/orgs/${ann.org}/nodes?search=${mark}&limit=1`),
      ann.post(`/orgs/${ann.org}/search/retrieve`, { query: mark }),
      client(grove).post('/auth/login', { email, password: mark }),
      client(grove).get(`/git/${mark}/${email}.git/info/refs?service=${mark}`),
      client(grove).get(`/${mark}/${email}?${mark}`),
      client(grove).get('/healthz', { traceparent: mark, referer: `http://127.0.0.1/${mark}`, 'user-agent': mark }),
    ])
    await desk.done(
      `cd whales; git checkout -q -f main; mkdir -p parents; echo '{}' > parents/${mark}.json; git add .
       git commit -q -m ${mark}; ! git push -q origin main:other`,
    )
    await until(() => linesOf(grove).filter(({ op }) => op === 'git-receive-pack').length === 2)
    for (const { headers } of asked) await lineOf(grove, headers['x-request-id'])
    expect(grove.logged()).to.not.include(mark)
  })
})

describe('LOG_REQUESTS', () => {
  /** The messages of a session with an answer, a refusal and a last request. */
  async function logged(logRequests: 'off' | 'errors' | 'all'): Promise<string[]> {
    const grove = await startGrove({ logLevel: 'info', logRequests })
    const ann = await signUp(grove, 'Ann')
    await ann.get('/orgs')
    await ann.get(`/orgs/${randomUUID()}`)
    await ann.get('/orgs', { expect: 'nothing' })
    await grove.close()
    return linesOf(grove).flatMap(({ req, op, res }) => (req === undefined ? [] : [`${op} ${res.statusCode}`]))
  }

  it('all: every request', async () => {
    expect(await logged('all')).to.include.members(['signUp 201', 'listOrgs 200', 'getOrg 404'])
  })

  it('errors: those that were refused, failed or broke off', async () => {
    expect(await logged('errors')).to.deep.equal(['getOrg 404', 'undefined 417'])
  })

  it('off: none', async () => {
    expect(await logged('off')).to.deep.equal([])
  })
})
