/** Who may call which tool: the table of the contract, through /mcp. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { Tool } from '../../server/mcp/tool.ts'
import { tools } from '../../server/mcp/tools.ts'
import type { operations } from '../../spec/types.ts'
import { table } from '../support/attempts.ts'
import { type Caller, callers, castFor, makeNode, type World, worldOf } from '../support/cast.ts'
import { type Client, type Grove, type PersonClient, startGrove } from '../support/grove.ts'
import { expectedStatus, specOperations } from '../support/permissions.ts'

/** By the name of the tool: the operation with the highest need of those that it asks, and what it is asked with. */
const attempts: Readonly<Record<string, readonly [keyof operations, (world: World) => Promise<object> | object]>> = {
  list_organisations: ['listOrgs', () => ({})],
  search: ['searchNodes', ({ org }) => ({ org_id: org, query: 'whales', expand: 'deep' })],
  read_node: ['getNode', ({ org, node }) => ({ org_id: org, node_id: node })],
  list_nodes: ['listNodes', ({ org }) => ({ org_id: org })],
  neighbours: ['getNode', ({ org, node }) => ({ org_id: org, node_id: node })],
  history: ['listCommits', ({ org, node }) => ({ org_id: org, node_id: node })],
  diff: ['compareCommits', ({ org, node, head }) => ({ org_id: org, node_id: node, head })],
  list_proposals: ['listPulls', ({ org, node }) => ({ org_id: org, node_id: node })],
  propose_change: [
    'openPull',
    async (world) => ({
      org_id: world.org,
      node_id: await makeNode(world),
      title: 'Songs',
      changes: [{ path: 'song.md', content: 'Whales sing.\n' }],
    }),
  ],
  create_node: ['createNode', ({ org }) => ({ org_id: org, title: 'Dolphins', id: randomUUID() })],
  connect: ['openPull', async (world) => ({ org_id: world.org, node_id: await makeNode(world), target: world.node })],
}

/** What no tool does: a person does it, on a page. */
const forbidden =
  /^(merge|delete(?!Branch)|remove|revoke|put|update|end|change|accept|reset|create(?!Node$|Branch|Commit))/

describe('the access table through /mcp', () => {
  let grove: Grove
  let worlds: readonly World[]

  before(async () => {
    grove = await startGrove()
    const cast = await castFor(grove)
    worlds = [await worldOf(cast, false), await worldOf(cast, true)]
  })
  after(() => grove.close())

  it('has a row for each tool', () => {
    expect(Object.keys(attempts)).to.deep.equal(tools.map(({ name }) => name))
    for (const { name, operations: asked } of tools) {
      const highest = attempts[name]?.[0]
      expect(asked, name).to.include(highest)
    }
  })

  it('has no tool that merges, deletes or manages, and none that writes for a token that reads', () => {
    for (const { name, operations: asked, writes } of tools) {
      expect(
        asked.filter((id) => forbidden.test(id)),
        name,
      ).to.deep.equal([])
      const change = asked.filter((id) => specOperations.find((one) => one.id === id)?.token === 'write')
      expect(change.length > 0, name).to.equal(writes)
    }
  })

  for (const published of [false, true])
    describe(`under ${published ? 'a published' : 'an unpublished'} organisation`, () => {
      for (const tool of tools) {
        const [id, input] = attempts[tool.name] ?? ['getHealth', () => ({})]
        const statuses = callers.map((caller) => [caller, expectedOf(id, caller, published)] as const)
        it(`${tool.name} answers ${statuses.map(([caller, status]) => `${caller} ${status}`).join(', ')}`, async () => {
          const world = worlds[published ? 1 : 0] as World // before() has made both
          const answered: [Caller, number][] = []
          for (const caller of callers)
            answered.push([caller, await statusOf(grove, tokenOf(world.people[caller]), tool, await input(world))])
          expect(answered).to.deep.equal(statuses)
        })
      }
    })
})

/** As REST, but that it asks everyone for a token. */
function expectedOf(id: keyof operations, caller: Caller, published: boolean): number {
  return caller === 'anonymous' ? 401 : expectedStatus(table[id].need, caller, published, 200)
}

function tokenOf(person: Client): string | undefined {
  return 'session' in person ? (person as PersonClient).session.accessToken : undefined // none of the anonymous
}

/** Of the tool's refusal, 200 without one. */
async function statusOf(grove: Grove, token: string | undefined, { name }: Tool, input: object): Promise<number> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const answer = await fetch(`${grove.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: input, _meta: meta },
    }),
  })
  if (answer.status !== 200) return answer.status
  const { result } = (await answer.json()) as { result: { isError?: boolean; content: readonly { text: string }[] } }
  return result.isError === true ? Number(result.content[0]?.text.slice(0, 3)) : 200
}
