/** `grove mcp` as a process: the lines that it is sent, what it answers to each, and how it ends. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { made, makeNode } from '../support/cast.ts'
import { outcomeOf } from '../support/command.ts'
import { ann, connectStdio, grove, tokenOf, useScene } from './scene.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
type Answers = readonly any[]

interface Ended {
  readonly code: number | null
  readonly answers: Answers
  /** On standard error, by line. */
  readonly said: readonly string[]
}

/** All lines at once, then the end of input. */
async function sent(lines: readonly (string | Buffer | object)[], token: string, url = grove.url): Promise<Ended> {
  const child = spawn(process.execPath, [resolve('dist/cli.js'), 'mcp'], {
    env: { PATH: process.env.PATH ?? '', GROVE_URL: url, GROVE_TOKEN: token },
  })
  const outcome = outcomeOf(child)
  const bytes = lines.map((line) =>
    typeof line === 'string' || Buffer.isBuffer(line) ? Buffer.from(line) : Buffer.from(JSON.stringify(line)),
  )
  child.stdin.end(Buffer.concat(bytes.flatMap((line) => [line, Buffer.from('\n')])).subarray(0, -1))
  const { code, stdout, stderr } = await outcome
  const answers = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  return { code, answers, said: stderr.split('\n').filter(Boolean) }
}

const hello = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
const ready = { jsonrpc: '2.0', method: 'notifications/initialized' }
const call = (id: number | string, name: string, input: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: input },
})
const byId = (answers: Answers, id: unknown) => answers.find((answer) => answer.id === id)

describe('the lines of `grove mcp`', () => {
  useScene()
  let token: string
  before(async () => {
    token = await tokenOf('write')
  })

  it('are all answered where input ends before the answers, which change what they say', async () => {
    const org_id = ann.org
    const node_id = await makeNode({ org: org_id, owner: ann })
    const changes = [{ path: 'content.md', content: 'Whales breathe air.\n' }]
    const { code, answers, said } = await sent(
      [
        hello,
        ready,
        call('a', 'propose_change', { org_id, node_id, title: 'Air', changes }),
        ...Array.from({ length: 20 }, (_, n) => call(n + 1, 'read_node', { org_id, node_id })),
      ],
      token,
    )
    expect([code, said]).to.deep.equal([0, []])
    expect(answers.length).to.equal(22)
    expect(byId(answers, 'a').result.content[0].text).to.include('Proposal 1 of')
    for (let n = 1; n <= 20; n++) expect(byId(answers, n).result.content[0].text).to.include('Whales')
    expect((await made(ann.get(`/orgs/${org_id}/nodes/${node_id}/pull-requests`))).total).to.equal(1)
  })

  it('that are no messages are answered so, with one plain line in the log each, and do not end the session', async () => {
    const long = 'x'.repeat(1_048_577)
    const { code, answers, said } = await sent(
      [
        'garbage',
        '{"jsonrpc":"2.0","id":1',
        Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":"'), Buffer.of(0xff), Buffer.from('","method":"ping"}')]),
        { jsonrpc: '2.0' },
        { id: 7, method: 'ping' },
        { jsonrpc: '2.0', id: { deep: true }, method: 'ping' },
        [hello],
        long,
        `${'['.repeat(1_000)}${']'.repeat(1_000)}`,
        '',
        hello,
        ready,
        { jsonrpc: '2.0', id: 8, method: 'ping' },
        { jsonrpc: '2.0', id: 9, method: 'nothing' },
        call(10, '__proto__'),
        call(11, 'constructor'),
        { jsonrpc: '2.0', id: 12, method: 'prompts/get', params: { name: '__proto__' } },
        { jsonrpc: '2.0', id: 13, method: 'subscriptions/listen' },
      ],
      token,
    )
    expect(code).to.equal(0)
    const refused = answers.filter(({ error }) => error !== undefined).map(({ id, error }) => [id, error.code])
    expect(refused).to.have.deep.members([
      ...[1, 2, 3].map(() => [null, -32700]),
      [null, -32600],
      [7, -32600],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [null, -32600],
      [9, -32601],
      [10, -32602],
      [11, -32602],
      [12, -32602],
      [13, -32601],
    ])
    expect(byId(answers, 10).error.message).to.equal('Tool __proto__ not found')
    expect(byId(answers, 12).error.message).to.equal('Prompt __proto__ not found')
    expect(byId(answers, 8).result).to.deep.equal({})
    expect(byId(answers, 0).result.serverInfo.name).to.equal('grove')
    expect(said).to.deep.equal([
      'grove: line 1: The message is not JSON in UTF-8',
      'grove: line 2: The message is not JSON in UTF-8',
      'grove: line 3: The message is not JSON in UTF-8',
      'grove: line 4: The message is not valid JSON-RPC 2.0',
      'grove: line 5: The message is not valid JSON-RPC 2.0',
      'grove: line 6: The message is not valid JSON-RPC 2.0',
      'grove: line 7: Send one message per line',
      'grove: line 8: The message is longer than 1 MiB',
      'grove: line 9: Send one message per line',
    ])
  })

  for (const [what, at, bad, reason] of [
    ['a token that is none', undefined, 'grv_bad', /^401 invalid_token: .*\/me\/tokens .*GROVE_TOKEN/],
    [
      'a service that is down',
      'http://127.0.0.1:9',
      undefined,
      /^0 no_answer: http:\/\/127.0.0.1:9 has not answered\. /,
    ],
  ] as const)
    it(`say of ${what} what to do, in the answer`, async () => {
      const { code, answers, said } = await sent(
        [hello, ready, call(1, 'list_organisations'), { jsonrpc: '2.0', id: 2, method: 'tools/list' }],
        bad ?? token,
        at,
      )
      const { isError, content } = byId(answers, 1).result
      expect(isError).to.equal(true)
      expect(content[0].text).to.match(reason)
      expect(byId(answers, 2).result.tools).to.not.have.length(0)
      expect(said.length, said.join('\n')).to.equal(1)
      expect(said[0]?.replace('grove: ', '')).to.match(reason)
      expect(code).to.equal(1)
    })

  it('say that the service is down where an id is absent, and find the organisation of the token later', async () => {
    let isDown = true
    const { hostname, port } = new URL(grove.url)
    const front = createServer((near) => {
      if (isDown) near.once('data', () => near.destroy())
      else near.pipe(connect(Number(port), hostname)).pipe(near)
    }).unref()
    await once(front.listen(0, '127.0.0.1'), 'listening')
    const { port: own } = front.address() as AddressInfo // it listens on a port
    const url = `http://127.0.0.1:${own}`
    const model = await connectStdio(await tokenOf('read', { org_id: ann.org }), '2025-11-25', { url })
    const down = `0 no_answer: ${url} has not answered. Call again later. If this persists, ask a user to check that the service runs and that GROVE_URL is its URL`
    expect(await model.refused('list_nodes', {})).to.equal(down)
    expect(await model.refused('read_node', { node_id: ann.org })).to.equal(down)
    isDown = false
    expect(await model.ask('list_nodes', {})).to.match(/^Nodes: /)
    expect(await model.refused('read_node', {})).to.include('node_id: Required')
    await model.client.close()
    front.close()
  })

  it('say of a token that ends during a session what to do', async () => {
    const short = await made(ann.post('/auth/tokens', { name: 'Model', access: 'read' }))
    const model = await connectStdio(short.token)
    expect(await model.ask('list_organisations', {})).to.include(ann.org)
    await made(ann.delete(`/auth/tokens/${short.id}`))
    expect(await model.refused('list_organisations', {})).to.match(/^401 invalid_token: .*\/me\/tokens/)
  })
})
