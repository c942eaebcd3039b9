/** Each door with each credential: the trailer of its commits, and what answers say of them. */

import { expect } from 'chai'
import { ann, connectHttp, connectStdio, grove, useScene } from '../mcp/scene.ts'
import { made } from '../support/cast.ts'
import { gitIn } from '../support/git.ts'
import { expecting, newNode } from '../support/node.ts'
import { client } from '../support/people.ts'

type Credential = 'session' | 'token'

interface Row {
  readonly door: 'rest' | 'mcp' | 'stdio'
  readonly credential: Credential
  /** The header Grove-Agent. */
  readonly agent?: string
  /** The trailer without the end of the id. Undefined: none. */
  readonly trailer?: string
  readonly name?: string
}

const rows: readonly Row[] = [
  { door: 'rest', credential: 'session' },
  { door: 'rest', credential: 'token' },
  { door: 'rest', credential: 'session', agent: 'scribe', trailer: 'rest agent:scribe', name: 'scribe' },
  { door: 'rest', credential: 'token', agent: 'scribe', trailer: 'rest agent:scribe', name: 'scribe' },
  { door: 'mcp', credential: 'session', trailer: 'mcp session', name: 'a session' },
  { door: 'mcp', credential: 'token', trailer: 'mcp token', name: 'a token' },
  { door: 'stdio', credential: 'token', trailer: 'rest agent:grove-mcp', name: 'grove-mcp' },
]

describe('the provenance of a commit', () => {
  useScene()

  const issued = async (credential: Credential) => {
    if (credential === 'session') return { secret: ann.session.accessToken, end: '' }
    const { token, id } = await made(ann.post('/auth/tokens', { name: 'Secret name', access: 'write' }))
    return { secret: token, end: ` ${id.slice(-8)}` }
  }
  const message = 'Say more\n\nReviewed-by: Bob'

  for (const { door, credential, agent, trailer, name } of rows)
    it(`of ${credential} through ${door}${agent === undefined ? '' : ' with a name'} is ${trailer ?? 'none'}`, async () => {
      const node = await newNode(grove, ann)
      const { secret, end } = await issued(credential)
      const headers = agent === undefined ? {} : { 'grove-agent': agent }
      if (door === 'rest') {
        const changes = [{ action: 'put', path: 'a.txt', content: 'a' }]
        await client(grove, secret)
          .post(`${node.at}/tree/main/commits`, { message, changes }, headers)
          .then(expecting(201))
      } else {
        const model = await (door === 'mcp' ? connectHttp(secret) : connectStdio(secret))
        const changes = [{ path: 'a.txt', content: 'a' }]
        await model.ask('propose_change', {
          org_id: ann.org,
          node_id: node.id,
          title: 'Say more',
          description: '',
          changes,
        })
      }
      const git = gitIn(grove, ann.org, node.id)
      const head = git
        .lines('for-each-ref', '--sort=-committerdate', '--format=%(objectname)', 'refs/heads')
        .find((oid) => git.say('log', '-1', '--format=%s', oid) === 'Say more')
      const full = trailer === undefined ? undefined : `Grove-Via: ${trailer}${end}`
      const shown = git.say('log', '-1', door === 'rest' ? '--format=%B' : '--format=%(trailers)', head ?? '')
      expect(shown).to.equal([...(door === 'rest' ? [message] : []), ...(full ? [full] : [])].join('\n'))
      expect(git.say('log', '-1', '--format=%an %cn', head ?? '')).to.equal('Ann Ann')
      const { via } = (await ann.get(`${node.at}/tree/${head}/commits/${head}`).then(expecting(200))).body
      const [said, program] = trailer?.split(' ') ?? []
      expect(via).to.deep.equal(trailer && { door: said, client: program, client_name: name, recorded: 'message' })
    }).timeout(60_000)

  it('is the same for each operation that writes a commit', async () => {
    const { secret, end } = await issued('token')
    const node = await newNode(grove, ann)
    const headers = { 'grove-agent': 'scribe' }
    const agent = client(grove, secret)
    const before = node.git.head()
    const made = (await agent.post(`/orgs/${ann.org}/nodes`, { title: 'New' }, headers).then(expecting(201))).body.id
    const { nodes } = (
      await agent
        .post(`/orgs/${ann.org}/nodes/batch`, { nodes: [{ ref: 'a', title: 'A', message: 'Batch' }] }, headers)
        .then(expecting(201))
    ).body
    await agent.patch(node.at, { title: 'Renamed' }, headers).then(expecting(200))
    await agent.post(`${node.at}/branches/main/restore`, { commit: before }, headers).then(expecting(201))
    const expected = `Grove-Via: rest agent:scribe${end}`
    for (const [id, count] of [
      [made, 1],
      [nodes[0].id, 1],
      [node.id, 2],
    ])
      expect(gitIn(grove, ann.org, id).lines('log', `-${count}`, '--format=%(trailers:unfold)', 'main')).to.deep.equal(
        Array.from({ length: count }, () => expected),
      )
  })

  it('stays with a commit whose branch is updated, is added to others, and follows an undo', async () => {
    const node = await newNode(grove, ann)
    await node.proposal('draft')
    const headers = { 'grove-agent': 'first' }
    const changes = [{ action: 'put', path: 'b.txt', content: 'b' }]
    await ann.post(`${node.at}/tree/draft/commits`, { message: 'By a program', changes }, headers).then(expecting(201))
    const { number } = await node.open('draft')
    await node.commit('main', { 'c.txt': 'c' })
    const pull = `${node.at}/pull-requests/${number}`
    await ann.post(`${pull}/update-branch`, undefined, { 'grove-agent': 'second' }).then(expecting(200))
    const shown = () => node.git.lines('log', '-2', '--format=%s: %(trailers:valueonly)', 'draft')
    expect(shown()).to.deep.equal(['By a program: rest agent:first', 'Propose draft: rest agent:second'])
    await ann.post(`${pull}/merge`).then(expecting(200))
    await ann.post(`${pull}/undo`, {}, { 'grove-agent': 'third' }).then(expecting(201))
    expect(node.git.say('log', '-1', '--format=%(trailers)', `undo-${number}`)).to.equal('Grove-Via: rest agent:third')
  })

  it('is shown as a claim if a push or Git brought it, and cleaned', async () => {
    const node = await newNode(grove, ann)
    const shapes: [string, object | undefined][] = [
      [
        'mcp https://claude.ai/oauth/x 9f3e58ac',
        { door: 'mcp', client: 'https://claude.ai/oauth/x', client_name: 'claude.ai' },
      ],
      ['rest agent:claude.ai', { door: 'rest', client: 'agent:claude.ai', client_name: '“claude.ai”' }],
      ['mcp dcr:Claude.ai/x 9f3e58ac', { door: 'mcp', client: 'dcr:Claude.ai/x', client_name: '“Claude.ai/x”' }],
      ['rest agent:build-1.2/x', { door: 'rest', client: 'agent:build-1.2/x', client_name: 'build-1.2/x' }],
      ['mcp dcr:Claude Code 9f3e58ac', { door: 'mcp', client: 'dcr:Claude Code', client_name: 'Claude Code' }],
      [
        'rest dcr:a\u202eb --> <script> \u0007',
        { door: 'rest', client: 'dcr:a b -- script', client_name: 'a b -- script' },
      ],
      [
        `rest agent:${'x'.repeat(500)}`,
        { door: 'rest', client: `agent:${'x'.repeat(194)}`, client_name: 'x'.repeat(194) },
      ],
      ['nowhere token 00000000', undefined],
      ['mcp', undefined],
      ['mcp \u202e', undefined],
    ]
    for (const [value, expected] of shapes) {
      const parents = [node.git.head()]
      node.git.point('main', node.git.commit({ parents, files: { x: value }, message: `S\n\nGrove-Via: ${value}\n` }))
      const { history } = (await ann.get(`${node.at}/tree/main/commits`).then(expecting(200))).body
      expect(history[0].via, value).to.deep.equal(expected && { ...expected, recorded: 'message' })
    }
  })
})
