/** /mcp refuses callers, origins, messages, tools and changes. */

import { expect } from 'chai'
import { toolsFor } from '../../server/mcp/tools/table.ts'
import { made, makeNode } from '../support/cast.ts'
import { runGroveCommand } from '../support/command.ts'
import { signUp } from '../support/people.ts'
import { ann, connectHttp, connectStdio, grove, type Model, tokenOf, useScene } from './scene.ts'

async function names({ client }: Model): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name)
}

/** `grove mcp` with nothing on standard input. */
function groveWith(environment: Record<string, string>) {
  return runGroveCommand(grove.dataDir, ['mcp'], { GROVE_URL: '', GROVE_TOKEN: '', ...environment })
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
const accept = { accept: 'application/json, text/event-stream' }

describe('/mcp refuses', () => {
  useScene({ metricsToken: 'secret', logLevel: 'info', rateLimit: true })

  async function post(body: unknown, headers: Record<string, string> = {}, method = 'POST') {
    const sent = typeof body === 'string' || body instanceof Blob ? body : JSON.stringify(body)
    const answer = await fetch(`${grove.url}/mcp`, {
      method,
      headers: { 'content-type': 'application/json', ...accept, ...headers },
      ...(method === 'POST' ? { body: sent } : {}),
    })
    const { status } = answer
    return { status, challenge: answer.headers.get('www-authenticate'), text: await answer.text() }
  }
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

  describe('requests', () => {
    let token: string
    before(async () => {
      token = await tokenOf('read')
    })

    it('without a token, and with a bad one', async () => {
      const metadata = `resource_metadata="${grove.url}/.well-known/oauth-protected-resource/mcp"`
      expect(await post(ping)).to.include({ status: 401, challenge: `Bearer ${metadata}, scope="read propose"` })
      const bad = await post(ping, bearer('grv_bad'))
      expect(bad.status).to.equal(401)
      expect(bad.challenge).to.include(metadata).and.to.include('error="invalid_token"')
      const revoked = await made(ann.post('/auth/tokens', { name: 'Model', access: 'read' }))
      expect((await post(ping, bearer(revoked.token))).status).to.equal(200)
      await made(ann.delete(`/auth/tokens/${revoked.id}`))
      expect((await post(ping, bearer(revoked.token))).status).to.equal(401)
    })

    it('with only a cookie', async () => {
      const cookie = { cookie: `grove=${ann.session.accessToken}`, 'sec-fetch-site': 'same-origin' }
      expect((await post(ping, cookie)).status).to.equal(401)
    })

    it('of pages of another origin, also if the name of this machine is made theirs', async () => {
      const { host } = new URL(grove.url)
      const from = (origin: string) => post(ping, { ...bearer(token), origin })
      expect((await from(`http://${host}`)).status).to.equal(200)
      for (const origin of ['https://evil.example', 'null', `https://${host}`, 'http://localhost'])
        expect((await from(origin)).status, origin).to.equal(403)
    })

    it('of other methods, types, sizes and shapes', async () => {
      const mine = bearer(token)
      for (const method of ['GET', 'DELETE', 'PUT', 'OPTIONS'])
        expect((await post(undefined, mine, method)).status, method).to.equal(405)
      expect((await post('{}', { ...mine, 'content-type': 'text/plain' })).status).to.equal(415)
      expect((await post({ ...ping, params: { x: 'x'.repeat(1_048_576) } }, mine)).status).to.equal(413)
      expect((await post('{\n "id": 1,\n}', mine)).text)
        .to.include('-32700')
        .and.to.include('not JSON in UTF-8: line 3, column 1"')
      expect((await post('', mine)).text).to.include('-32700')
      const broken = new Blob([new Uint8Array(Buffer.from(JSON.stringify({ ...ping, id: '\u00ff' }), 'latin1'))])
      expect((await post(broken, mine)).text)
        .to.include('-32700')
        .and.to.match(/not JSON in UTF-8: line 1, column \d+"/)
      expect((await post('['.repeat(100_000), mine)).status).to.equal(400)
      expect((await post(`${'['.repeat(1_000)}${']'.repeat(1_000)}`, mine)).status).to.equal(400)
      expect((await post([ping, ping], mine)).text).to.include('Send one message per request')
      expect((await post({ ...ping, method: 'subscriptions/listen' }, mine)).text).to.include('-32601')
    })

    it('more requests than a user may send, counting one a call, whatever it asks', async () => {
      const left = async (body: object) => {
        const headers = { 'content-type': 'application/json', ...accept, ...bearer(token) }
        const answer = await fetch(`${grove.url}/mcp`, { method: 'POST', headers, body: JSON.stringify(body) })
        await answer.text()
        return Number(/r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1])
      }
      const node_id = await makeNode({ org: ann.org, owner: ann })
      const params = { name: 'read_node', arguments: { org_id: ann.org, node_id } }
      const before = await left(ping)
      expect(await left({ ...ping, method: 'tools/call', params })).to.equal(before - 1)
    })

    it.deep('tools that are not there, or not for the token, as if they were not there', async () => {
      for (const connect of [connectHttp, connectStdio]) {
        const reader = await connect(token)
        const called = (name: string) => reader.client.callTool({ name, arguments: {} }).then(() => '', String)
        const gone = await called('delete_node')
        expect(gone).to.include('delete_node not found')
        for (const name of ['create_node', 'comment', '__proto__', 'constructor', 'toString'])
          expect(await called(name)).to.equal(gone.replace('delete_node', name))
      }
    })
  })

  for (const [door, connect] of Object.entries({ HTTP: connectHttp, 'standard input': connectStdio }))
    describe(`calls over ${door}`, () => {
      let model: Model
      let org_id: string
      let node_id: string
      const propose = (changes: object[], more: object = {}) =>
        model.refused('propose_change', { org_id, node_id, title: 'Better', changes, ...more })
      const branches = async () => (await made(ann.get(`/orgs/${org_id}/nodes/${node_id}/branches`))).total

      before(async () => {
        org_id = ann.org
        node_id = await makeNode({ org: org_id, owner: ann })
        model = await connect(await tokenOf('write'))
      })

      it('a node.json that breaks a rule, with the file, the line and the reason, and nothing is left', async () => {
        const broken = await propose([
          { path: 'content.md', content: 'Fine.\n' },
          { path: 'node.json', content: '{\n  "title": "Whales",\n}\n' },
        ])
        expect(broken).to.match(/^422 invalid: The request is not valid\n<.*>\nnode\.json: .*line 3.*\n<\/content/)
        expect(await propose([{ path: 'node.json', content: '{"title": 7}' }])).to.match(/\nnode\.json: .*title/)
        expect(await propose([{ path: '../up', content: '' }])).to.match(/\n\.\.\/up: /)
        expect(await propose([{ path: 'parents/x.json', content: '{}' }])).to.include('\nparents/x.json: ')
        expect(await propose([{ path: 'content.md', content: 'a\0b' }])).to.include(
          '\ncontent.md: This file contains a NUL',
        )
        expect(await propose([{ path: 'node.json', content: null }]))
          .to.match(/^409 invalid_content: /)
          .and.to.include('\nnode.json: This file cannot be deleted')
        expect(await branches()).to.equal(1)
      })

      it('a change that changes nothing, and nothing is left', async () => {
        expect(await propose([{ path: 'content.md', content: 'Whales are mammals.' }])).to.match(
          /^409 no_changes: main has this content already\. .*\n<content /,
        )
        expect(await branches()).to.equal(1)
      })

      it('a change of what has moved, with where it is now', async () => {
        const { head } = await made(ann.get(`/orgs/${org_id}/nodes/${node_id}`))
        await made(ann.patch(`/orgs/${org_id}/nodes/${node_id}`, { title: 'Great whales' }))
        const now = (await made(ann.get(`/orgs/${org_id}/nodes/${node_id}`))).head
        const moved = await propose([{ path: 'content.md', content: 'New.\n' }], { expected_head: head })
        expect(moved).to.equal(
          `409 head_moved: main is now at ${now}. Read the node again and propose the change on its current content`,
        )
        expect(await branches()).to.equal(1)
      })

      it('to propose again what a user has closed', async () => {
        const other = await makeNode({ org: org_id, owner: ann })
        const changes = [{ path: 'content.md', content: 'Whales are fish.\n' }]
        const input = { org_id, node_id: other, title: 'Fish', changes }
        await model.ask('propose_change', input)
        await made(ann.patch(`/orgs/${org_id}/nodes/${other}/pull-requests/1`, { status: 'closed' }))
        const closed = await model.refused('propose_change', input)
        expect(closed).to.match(/^409 closed: Proposal 1 made the same change and was closed: \S+\/proposals\/1\. Ask /)
      })

      it('what is not there', async () => {
        const nobodys = '00000000-0000-4000-8000-000000000000'
        expect(await model.refused('read_node', { org_id, node_id: nobodys })).to.match(/^404 node_not_found: /)
        expect(await model.refused('search', { org_id: nobodys, query: 'x' })).to.match(/^404 org_not_found: /)
        expect(await model.refused('read_node', { org_id, node_id, branch: 'gone' })).to.match(/^404 /)
        expect(await model.refused('read_node', { org_id, node_id, path: 'gone.md' })).to.match(
          /^404 file_not_found: read_node .*\n<content /,
        )
        expect(await model.refused('history', { org_id, node_id, branch: 'gone' })).to.match(/^404 branch_not_found: /)
        expect(await model.refused('diff', { org_id, node_id, head: 'gone' })).to.match(/^404 /)
        const unconnected = await model.refused('connect', { org_id, node_id, target: nobodys })
        expect(unconnected).to.match(
          /^409 invalid_content: Nothing was proposed\n(?:.*\n)*connections\/[\da-f]{12}\.json: /,
        )
        expect(await model.refused('read_node', { org_id, node_id, from: 1_000_000 })).to.match(/^422 invalid: from/)
        expect(await branches()).to.equal(1)
        expect((await made(ann.get(`/orgs/${org_id}/nodes/${node_id}/pull-requests?status=all`))).total).to.equal(0)
      })

      it('input that is not what the tool takes', async () => {
        for (const input of [
          {},
          { org_id: 'x', node_id },
          { org_id, node_id, from: -1 },
          { org_id, node_id, other: 1 },
        ])
          expect(await model.refused('read_node', input)).to.include('Invalid arguments for tool read_node')
        const reasons: [object, string][] = [
          [{ node_id }, 'org_id: Required: get the id from list_organisations'],
          [{ org_id, node_id: 'x' }, 'node_id: Not a UUID: get the id from search, list_nodes or neighbours'],
          [{ org_id, node_id, path: 7 }, 'path: Pass a value of type string instead'],
          [{ org_id, node_id, max: 7 }, 'Leave out max. The tool takes org_id, node_id, branch, path, from, max_chars'],
        ]
        for (const [input, reason] of reasons) expect(await model.refused('read_node', input)).to.include(reason)
        expect(await model.refused('search', { org_id })).to.include('query: Required: pass a value of type string')
        for (const max_chars of [1, 1_000_000])
          expect(await model.refused('read_node', { org_id, node_id, max_chars })).to.include('max_chars')
      })

      it.deep('what lies beyond a token of one organisation, and of one node', async () => {
        const other = await signUp(grove, `Bob ${door}`)
        await made(other.put(`/orgs/${other.org}/members/${ann.user.email}`, { role: 'editor' }))
        const bound = await connect(await tokenOf('write', { org_id }))
        expect(await bound.refused('list_nodes', { org_id: other.org })).to.match(/^403 token_scope: /)
        expect(await bound.ask('list_nodes', { org_id })).to.match(/^Nodes: /)
        expect(await bound.ask('list_organisations', {})).to.include(org_id)
        expect(await names(bound)).to.deep.equal(toolsFor({ access: 'write' }).map(({ name }) => name))
        const narrow = await connect(await tokenOf('write', { org_id, node_id }))
        const reads = ['read_node', 'neighbours', 'history', 'diff', 'list_proposals', 'read_discussion']
        const ofNode = [...reads, 'propose_change', 'connect', 'comment', 'suggest']
        expect(await names(narrow)).to.deep.equal(ofNode)
        const { prompts } = await narrow.client.listPrompts()
        expect(prompts.map(({ name }) => name)).to.deep.equal(['review_proposal'])
        const elsewhere = await makeNode({ org: org_id, owner: ann })
        for (const tool of ofNode.slice(0, 3))
          expect(await narrow.refused(tool, { org_id, node_id: elsewhere })).to.match(/^403 token_scope: /)
        expect(await narrow.ask('list_proposals', {})).to.match(/^Proposals: /)
        expect(await narrow.ask('read_node', {})).to.include(node_id)
        expect(await bound.ask('list_nodes', {})).to.match(/^Nodes: /)
        const input = { org_id, node_id, title: 'Bound', changes: [{ path: 'content.md', content: 'Bound.\n' }] }
        expect(await narrow.ask('propose_change', input)).to.include('is open: ')
        expect(narrow.client.getInstructions())
          .to.include(`limited to organisation ${org_id}, and there to node ${node_id}`)
          .and.not.include('Search')
      })
    })

  describe('`grove mcp`', () => {
    it.deep('without an address or a token, or with one that is bad', async () => {
      const none = await groveWith({})
      expect(none).to.include({ code: 2, stdout: '' })
      expect(none.stderr).to.include('GROVE_URL')
      expect(await groveWith({ GROVE_URL: grove.url })).to.include({ code: 2, stdout: '' })
      const open = await groveWith({ GROVE_URL: 'http://grove.example.org', GROVE_TOKEN: 'grv_x' })
      expect(open.code).to.equal(2)
      expect(open.stderr).to.include('https is needed')
    })
  })

  describe('and says so', () => {
    it('in the log, by the names of tools', () => {
      const lines = grove
        .logged()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const calls = lines.filter(({ op }) => op === 'mcp-propose_change')
      expect(calls.map(({ res }) => res.code)).to.include.members(['no_changes', undefined])
      for (const { org, node, actor, token_id } of calls)
        expect([org, node, actor, token_id].every((id) => typeof id === 'string')).to.equal(true)
    })

    it('in the metrics', async () => {
      const metrics = await (await fetch(`${grove.url}/metrics`, { headers: bearer('secret') })).text()
      expect(metrics)
        .to.match(/operation="mcp-propose_change",status="200"/)
        .and.to.match(/operation="mcp",status="401"/)
    })
  })
})
