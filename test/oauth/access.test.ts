/** The access of connections: level × reach × door × place, against an oracle that knows only the two rules. */

import { expect } from 'chai'
import { alertIn, mainOf, visitOf } from '../pages/forms.ts'
import { made } from '../support/cast.ts'
import { type Connected, connectProgram, movesTo, register } from '../support/connector.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import type { Answer } from '../support/people.ts'
import { ann, grove, useScene } from './scene.ts'

const levels = ['read', 'propose', 'write'] as const
const reaches = ['all', 'org', 'node'] as const
/** Places: the node of the narrowest reach, another node of its organisation, and a node of another organisation. */
const places = ['node', 'sibling', 'elsewhere'] as const

type Level = (typeof levels)[number]
type Reach = (typeof reaches)[number]
type Place = (typeof places)[number]

interface At {
  readonly org: string
  readonly id: string
  /** `/orgs/…/nodes/…` */
  readonly path: string
}

interface Caller {
  readonly level: Level
  readonly reach: Reach
  readonly api: Connected
  readonly mcp: Connected
}

const revision = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28' }
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

type Result = 'done' | 'refused'

/** Acts at one place. Each returns its result by the level that it needs. */
type Acts = (caller: Caller, at: At, tag: string) => Promise<Readonly<Record<Level, Result>>>

/** Returns what must happen. */
function oracle({ level, reach }: Pick<Caller, 'level' | 'reach'>, needed: Level, place: Place): Result {
  const isEnough = levels.indexOf(level) >= levels.indexOf(needed)
  const isInside = { all: true, org: place !== 'elsewhere', node: place === 'node' }[reach]
  return isEnough && isInside ? 'done' : 'refused'
}

describe('the access of a connection', () => {
  useScene()
  let desk: Desk
  let at: Readonly<Record<Place, At>>

  before(async () => {
    desk = await newDesk()
    const place = async (org: string): Promise<At> => {
      const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales', text_content: 'They sing.' }))
      const path = `/orgs/${org}/nodes/${id}`
      await made(ann.post(`${path}/branches`, { name: 'draft' }))
      const changes = [{ action: 'put', path: 'draft.md', content: 'They click.' }]
      await made(ann.post(`${path}/tree/draft/commits`, { message: 'Draft', changes }))
      await made(ann.post(`${path}/pull-requests`, { source_branch: 'draft', title: 'Draft' }))
      return { org, id, path }
    }
    const [here, there] = [
      await made(ann.post('/orgs', { name: 'Atlas' })),
      await made(ann.post('/orgs', { name: 'B' })),
    ]
    at = { node: await place(here.id), sibling: await place(here.id), elsewhere: await place(there.id) }
    const { token } = await made(ann.post('/auth/tokens', { name: 'Setup', access: 'write' }))
    for (const name of places) {
      const url = remoteUrl(grove, at[name].org, at[name].id, token)
      await desk.done(`git clone -q ${url} own-${name}; cd own-${name}; git commit -q --allow-empty -m More`)
    }
  })
  after(() => desk.remove())

  /** @throws Error if the refusal is not that of a token's scope */
  const judged = ({ status, body }: Answer): Result => {
    if (status < 300) return 'done'
    expect({ status, code: body.code }).to.deep.equal({ status: 403, code: 'token_scope' })
    return 'refused'
  }

  const overRest: Acts = async ({ api }, { path }, tag) => ({
    read: judged(await api.get(path)),
    propose: judged(await api.post(`${path}/branches`, { name: `agent/rest-${tag}` })),
    write: judged(await api.post(`${path}/branches`, { name: `rest-${tag}` })),
  })

  const overMcp: Acts = async ({ level, mcp }, { org, id }, tag) => {
    const call = async (name: string, needed: Level, input: object): Promise<Result> => {
      const params = { name, arguments: { org_id: org, node_id: id, ...input }, _meta: meta }
      const headers = { ...revision, 'mcp-method': 'tools/call', 'mcp-name': name }
      const answer = await mcp.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers)
      if (levels.indexOf(level) < levels.indexOf(needed)) {
        expect(answer.headers['www-authenticate']).to.include(`error="insufficient_scope", scope="${needed}"`)
        return judged(answer)
      }
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      const { isError = false, content } = answer.body.result
      if (isError) expect(content[0].text).to.match(/^403 token_scope: /)
      return isError ? 'refused' : 'done'
    }
    const changes = [{ path: `${tag}.md`, content: tag }]
    return {
      read: await call('read_node', 'read', {}),
      propose: await call('propose_change', 'propose', { title: tag, description: '', changes }),
      write: await call('comment', 'write', { number: 1, text: tag }),
    }
  }

  const overGit: Acts = async ({ api }, { org, id }, tag) => {
    const url = remoteUrl(grove, org, id, api.token)
    const own = places.find((place) => at[place].id === id)
    const cloned = await desk.sh(`git clone -q ${url} clone-${own}-${tag}`)
    if (cloned.code !== 0) expect(cloned.text).to.match(/limited to another organisation or node|error: 403/)
    const specs = [`agent/git-${tag}`, `git-${tag}`].map((name) => `HEAD:refs/heads/${name}`)
    const { text } = await desk.sh(`cd own-${own}; git push --porcelain ${url} ${specs.join(' ')}`)
    const pushed = (name: string): Result =>
      text.includes(`*\tHEAD:refs/heads/${name}\t[new branch]`) ? 'done' : 'refused'
    return {
      read: cloned.code === 0 ? 'done' : 'refused',
      propose: pushed(`agent/git-${tag}`),
      write: pushed(`git-${tag}`),
    }
  }

  const doors: Readonly<Record<string, Acts>> = { rest: overRest, mcp: overMcp, git: overGit }
  const callers = levels.flatMap((level) => reaches.map((reach) => ({ level, reach })))

  for (const { level, reach } of callers)
    it.deep(`with ${level}, for ${reach}, is the same over REST, MCP and Git`, async () => {
      const { org, id } = at.node
      const choice = {
        ...{ access: level },
        ...(reach !== 'all' && { org_id: org }),
        ...(reach === 'node' && { node_id: id }),
      }
      const caller = {
        ...{ level, reach },
        api: await connectProgram(grove, ann, choice),
        mcp: await connectProgram(grove, ann, { ...choice, resource: 'mcp' }),
      }
      for (const place of places)
        for (const [door, act] of Object.entries(doors)) {
          const expected = Object.fromEntries(levels.map((needed) => [needed, oracle(caller, needed, place)]))
          const results = await act(caller, at[place], `${level}-${reach}`)
          expect(results, `${door}, ${place}`).to.deep.equal(expected)
        }
    })

  it.deep('has left exactly the branches, proposals and comments of the acts that were done', async () => {
    for (const place of places) {
      const { path } = at[place]
      const tags = (needed: Level) =>
        callers.filter((caller) => oracle(caller, needed, place) === 'done').map((one) => `${one.level}-${one.reach}`)
      const { branches } = (await ann.get(`${path}/branches?limit=100`)).body
      const { pull_requests: pulls } = (await ann.get(`${path}/pull-requests?limit=100`)).body
      const names = (branches as { name: string }[]).map(({ name }) => name).filter((name) => /(rest|git)-/.test(name))
      const expected = [
        ...tags('propose').flatMap((tag) => [`agent/rest-${tag}`, `agent/git-${tag}`]),
        ...tags('write').flatMap((tag) => [`rest-${tag}`, `git-${tag}`]),
      ]
      expect(names, place).to.have.members(expected)
      const titles = (pulls as { title: string }[]).map(({ title }) => title)
      expect(titles, place).to.have.members(['Draft', ...tags('propose')])
      const { threads } = (await ann.get(`${path}/pull-requests/1/threads?limit=100`)).body
      const texts = (threads as { comments: { text: string }[] }[]).map(({ comments: [first] }) => first?.text)
      expect(texts, place).to.have.members(tags('write'))
    }
  })

  it('for one node has only tools that reach it, and is listed with its node', async () => {
    const { org, id } = at.node
    const one = await connectProgram(grove, ann, { access: 'write', org_id: org, node_id: id, resource: 'mcp' })
    const headers = { ...revision, 'mcp-method': 'tools/list' }
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } }
    const { tools } = (await made(one.post('/mcp', message, headers))).result
    const names = (tools as { name: string }[]).map(({ name }) => name)
    expect(names).to.include.members(['read_node', 'propose_change', 'comment'])
    const beyond = ['list_organisations', 'list_nodes', 'create_node', 'search']
    expect(names.filter((name) => beyond.includes(name))).to.deep.equal([])
    const { connections } = await made(ann.get('/auth/connections?limit=1'))
    expect(connections[0]).to.include({ org_id: org, node_id: id, access: 'write', resource: 'mcp' })
    const user = await visitOf(grove, ann)
    const page = mainOf(await user.open('/me/connections'))
    expect(page).to.include(`can publish in node ${id} in Atlas`)
  })

  it('cannot be given for a node without its organisation, or in another one, or that is unknown', async () => {
    const user = await visitOf(grove, ann)
    const { total } = await made(ann.get('/auth/connections'))
    const unknown = '01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02'
    for (const [reach, says] of [
      [{ node_id: at.node.id }, 'A connection for a node also needs its organisation'],
      [{ org_id: at.elsewhere.org, node_id: at.node.id }, 'Node not found'],
      [{ org_id: at.node.org, node_id: unknown }, 'Node not found'],
      [{ org_id: at.node.org, node_id: 'whales' }, 'Node not found'],
      [{ org_id: unknown }, 'Organisation not found'],
    ] as const) {
      const program = await register(grove)
      const answer = await user.send('/oauth/authorize', { ...program.request, ...reach, act: 'allow' })
      expect(movesTo(answer), JSON.stringify(reach)).to.equal(undefined)
      expect(answer.status).to.be.oneOf([404, 422])
      expect(alertIn(answer) ?? mainOf(answer)).to.include(says)
    }
    expect((await made(ann.get('/auth/connections'))).total).to.equal(total)
  })
})
