/** Who may call which tool: the table of the contract, through /mcp. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { tools } from '../../server/mcp/tools/table.ts'
import type { operations } from '../../spec/types.ts'
import { type Caller, callers, castFor, made, makeNode, type World, worldOf } from '../support/cast.ts'
import { callMcp } from '../support/mcp-calls.ts'
import type { Client, PersonClient } from '../support/people.ts'
import { expectedStatus, ownNeed, specOperations } from '../support/permissions.ts'
import { useWorld } from '../support/world.ts'

/** A call, and the operations that it reaches, the one with the highest need first. */
interface Row {
  readonly asks: readonly [keyof operations, ...(keyof operations)[]]
  readonly input: (world: World) => Promise<object> | object
  /** Of who may; default: 200. */
  readonly success?: number
}

const onNode = ({ org, node }: World) => ({ org_id: org, node_id: node })
const onPull = (world: World) => ({ ...onNode(world), number: 1 })
const makeEntry = async ({ org, node, owner }: World, kind: 'comments' | 'reviews') => {
  const pull = `/orgs/${org}/nodes/${node}/pull-requests/1`
  const { pr } = await made(owner.get(pull))
  const body = { text: 'Whales sing.', ...(kind === 'reviews' && { expected_source_commit: pr.source_commit }) }
  return (await made(owner.post(`${pull}/${kind}`, body))).entry
}
const change = async (world: World, content: string) => ({
  org_id: world.org,
  node_id: await makeNode(world),
  title: 'Songs',
  changes: [{ path: 'song.md', content }],
})
const connection = async (world: World) => ({ ...onNode(world), node_id: await makeNode(world), target: world.node })
const defineType = async ({ org, owner }: World) => {
  await made(owner.put(`/orgs/${org}/types/whale`, { definition: { title: 'Whale' } }))
  return 'whale'
}
/** A call that the owner has already made, so that the proposal exists. */
const again = (tool: string, input: (world: World) => Promise<object>) => async (world: World) => {
  const given = await input(world)
  expect(await statusOf(world.grove, tokenOf(world.owner), 'tools/call', tool, given)).to.equal(200)
  return given
}

/** A change of a node that a change set deletes. */
const inSet = async (world: World) => {
  const given = await change(world, 'They sing in a set.\n')
  const body = { title: 'Fewer', deletions: [{ node_id: given.node_id }] }
  await made(world.owner.post(`/orgs/${world.org}/change-sets`, body))
  return given
}

/** By the name of the tool. */
const attempts: Readonly<Record<string, readonly Row[]>> = {
  list_organisations: [{ asks: ['listOrgs'], input: () => ({}) }],
  search: [
    { asks: ['searchNodes'], input: ({ org }) => ({ org_id: org, query: 'whales', expand: 'deep' }) },
    { asks: ['searchNodes', 'suggestTitles'], input: ({ org }) => ({ org_id: org, query: 'xyzzy' }) },
  ],
  read_node: [
    { asks: ['getNode', 'listLinks', 'listEntities'], input: onNode },
    { asks: ['getNode', 'getFile'], input: (world) => ({ ...onNode(world), path: 'content.md', branch: 'main' }) },
  ],
  list_nodes: [
    { asks: ['listNodes'], input: ({ org }) => ({ org_id: org }) },
    { asks: ['queryNodes'], input: ({ org }) => ({ org_id: org, where: 'title~whale', facets: ['tag'] }) },
  ],
  list_properties: [{ asks: ['listProperties'], input: ({ org }) => ({ org_id: org }) }],
  list_types: [
    { asks: ['listTypes'], input: ({ org }) => ({ org_id: org }) },
    { asks: ['getType'], input: async (world) => ({ org_id: world.org, type: await defineType(world) }) },
  ],
  neighbours: [{ asks: ['getNode'], input: onNode }],
  history: [{ asks: ['listCommits'], input: onNode }],
  diff: [{ asks: ['compareCommits'], input: (world) => ({ ...onNode(world), head: world.head }) }],
  list_proposals: [
    { asks: ['listPulls'], input: onNode },
    { asks: ['listOrgPulls'], input: ({ org }) => ({ org_id: org }) },
  ],
  read_discussion: [
    { asks: ['getPull', 'listThreads', 'listReviews'], input: onPull },
    {
      asks: ['getChangeSet', 'listThreads', 'listReviews'],
      input: async ({ org, owner }) => {
        const body = { title: 'Songs', nodes: [{ title: 'Songs' }] }
        const { change_set } = await made(owner.post(`/orgs/${org}/change-sets`, body))
        return { org_id: org, change_set: change_set.number }
      },
    },
    { asks: ['getComment'], input: async (world) => ({ ...onPull(world), entry: await makeEntry(world, 'comments') }) },
    { asks: ['getReview'], input: async (world) => ({ ...onPull(world), entry: await makeEntry(world, 'reviews') }) },
  ],
  waiting: [
    { asks: ['listWaiting'], input: () => ({}) },
    { asks: ['listOrgWaiting'], input: ({ org }) => ({ org_id: org }) },
  ],
  list_trash: [{ asks: ['listTrash'], input: ({ org }) => ({ org_id: org }) }],
  propose_change: [
    { asks: ['getChangeSet', 'listPulls', 'listCommits'], input: inSet, success: 409 },
    {
      asks: ['openPull', 'getBranch', 'createBranch', 'createCommit', 'compareCommits'],
      input: (world) => change(world, 'They sing.\n'),
    },
    {
      asks: ['openPull', 'listPulls', 'getPull', 'compareCommits'],
      input: again('propose_change', (world) => change(world, 'They sing again.\n')),
    },
    {
      asks: ['openPull', 'getFile', 'createCommit', 'compareCommits'],
      input: async (world) => ({ ...(await change(world, 'They dive.\n')), set_properties: { depth: 12 } }),
    },
    {
      asks: ['createCommit', 'deleteBranch'],
      input: async (world) => ({ ...(await change(world, '')), changes: [{ path: 'gone.md', content: null }] }),
      success: 422,
    },
  ],
  propose_changes: [
    {
      asks: ['openChangeSet'],
      input: ({ org }) => ({ org_id: org, title: 'Songs', items: [{ title: 'Songs' }], max_chars: 3_000 }),
    },
    {
      asks: ['openChangeSet', 'getBranch', 'getFile'],
      input: async (world) => ({
        ...{ org_id: world.org, title: 'Songs' },
        items: [{ node_id: await makeNode(world), set_properties: { depth: 12 } }],
      }),
    },
  ],
  create_node: [{ asks: ['createNode'], input: ({ org }) => ({ org_id: org, title: 'Dolphins', id: randomUUID() }) }],
  connect: [
    {
      asks: ['getChangeSet', 'listPulls', 'listCommits', 'getFile'],
      input: async (world) => ({ ...(await connection(world)), node_id: (await inSet(world)).node_id }),
      success: 409,
    },
    { asks: ['openPull', 'getBranch', 'createBranch', 'createCommit', 'compareCommits'], input: connection },
    { asks: ['openPull', 'listPulls', 'getPull', 'compareCommits'], input: again('connect', connection) },
    {
      asks: ['openPull', 'deleteBranch'],
      input: async (world) => ({ ...(await connection(world)), target: randomUUID() }),
      success: 409,
    },
  ],
  comment: [
    {
      asks: ['createComment', 'getPull'],
      input: (world) => ({ ...onPull(world), text: randomUUID(), path: 'content.md', first_line: 1 }),
    },
    {
      asks: ['createComment', 'getComment'],
      // Each caller says the same, and the owner has said it before.
      input: again('comment', async (world) => ({ ...onPull(world), text: 'Whales sing.' })),
    },
  ],
  suggest: [
    {
      asks: ['createComment', 'getPull'],
      input: (world) => ({ ...onPull(world), replacement: randomUUID(), path: 'content.md', first_line: 1 }),
    },
    {
      asks: ['createComment', 'getComment'],
      input: again('suggest', async (world) => ({
        ...{ ...onPull(world), replacement: 'Whales sing.', path: 'content.md', first_line: 1 },
      })),
    },
  ],
}

/** Every operation with which a tool may change something. None of them can let a change in. */
const changing: readonly (keyof operations)[] = [
  'createBranch',
  'createComment',
  'createCommit',
  'createNode',
  'deleteBranch',
  'openChangeSet',
  'openPull',
]

/** Methods of MCP other than calls of tools. */
const others: readonly (Row & { readonly method: string; readonly name?: string })[] = [
  {
    method: 'prompts/get',
    name: 'review_proposal',
    asks: ['getPull', 'getPullDiff'],
    input: (world) => ({ arguments: { ...onNode(world), number: '1' } }),
  },
  {
    method: 'resources/read',
    asks: ['getNode', 'listLinks', 'listEntities'],
    input: ({ org, node }) => ({ uri: `grove://${org}/${node}` }),
  },
  {
    method: 'resources/read',
    asks: ['getType'],
    input: async (world) => ({ uri: `grove://${world.org}/types/${await defineType(world)}` }),
  },
]

/** The operations that no tool has, because a user does them on a page. */
const forbidden =
  /^(merge|submit|delete(?!Branch)|remove|revoke|put|update|end|change|accept|reset|create(?!Node$|Branch|Commit|Comment$))/

describe('the access table through /mcp', () => {
  const { grove } = useWorld({}, { logLevel: 'error' })
  let worlds: readonly World[]

  before(async () => {
    const cast = await castFor(grove)
    worlds = [await worldOf(cast, false), await worldOf(cast, true)]
  })

  it('has a row for each tool', () => {
    expect(Object.keys(attempts)).to.deep.equal(tools.map(({ name }) => name))
    for (const { name, operations: asked } of tools) {
      const tried = attempts[name]?.flatMap(({ asks }) => asks) ?? []
      // getOrg is for tokens of one organisation, which the next test has.
      expect([...new Set(tried), ...(asked.includes('getOrg') ? ['getOrg'] : [])], name).to.have.members([...asked])
    }
  })

  it.deep('lists the organisation of a token of it, for who may read it', async () => {
    for (const world of worlds)
      for (const caller of ['reader', 'contributor', 'editor', 'maintainer', 'owner'] as const) {
        const person = world.people[caller]
        const { token } = await made(person.post('/auth/tokens', { name: 'x', access: 'read', org_id: world.org }))
        expect(await statusOf(grove, token, 'tools/call', 'list_organisations', {}), caller).to.equal(200)
        const input = { org_id: worlds.find(({ org }) => org !== world.org)?.org }
        expect(await statusOf(grove, token, 'tools/call', 'list_nodes', input), caller).to.equal(403)
      }
  })

  it('has no tool that merges, deletes or manages, and each takes the access of its operations', () => {
    const levels = ['read', 'propose', 'write']
    for (const { name, operations: asked, access } of tools) {
      expect(
        asked.filter((id) => forbidden.test(id)),
        name,
      ).to.deep.equal([])
      const needs = asked.map((id) => levels.indexOf(specOperations.find((one) => one.id === id)?.token ?? ''))
      expect(levels[Math.max(...needs)], name).to.equal(access)
    }
  })

  it('has no tool that approves, asks for changes, resolves or dismisses, whatever it is called', () => {
    const asked = new Set(tools.flatMap(({ operations: all }) => all))
    const isChange = ({ id, method, token }: (typeof specOperations)[number]) =>
      asked.has(id) && (token !== 'read' || (method !== 'GET' && id !== 'searchNodes' && id !== 'queryNodes'))
    const found = specOperations.filter(isChange).map(({ id }) => id)
    expect(found.sort()).to.deep.equal([...changing])
  })

  it('gives a tool only the operations that it names', async () => {
    const [world] = worlds
    const name = 'list_nodes'
    // As http.ts imports it: a static import may be another instance of the module.
    const served = await import('../../server/mcp/tools/table.ts')
    const tool = served.tools.find((one) => one.name === name) as { operations: readonly string[] } | undefined
    const { operations: named } = tool ?? { operations: [] }
    expect(named).to.deep.equal(['listNodes', 'queryNodes'])
    const input = { org_id: world?.org }
    const token = tokenOf(world?.owner as PersonClient) // before() has made it
    Object.assign(tool ?? {}, { operations: ['getNode'] })
    try {
      expect(await statusOf(grove, token, 'tools/call', name, input)).to.equal(500)
      expect(grove.logged()).to.include('api.listNodes is not a function')
    } finally {
      Object.assign(tool ?? {}, { operations: named })
    }
    expect(await statusOf(grove, token, 'tools/call', name, input)).to.equal(200)
  })

  for (const published of [false, true])
    describe(`under ${published ? 'a published' : 'an unpublished'} organisation`, () => {
      const rows = [
        ...tools.flatMap(({ name }) => (attempts[name] ?? []).map((row) => ({ ...row, method: 'tools/call', name }))),
        ...others,
      ]
      for (const { method, name, asks, input, success = 200 } of rows) {
        const statuses = callers.map((caller) => [caller, expectedOf(asks[0], caller, published, success)] as const)
        const said = statuses.map(([caller, status]) => `${caller} ${status}`).join(', ')
        it(`${name ?? method}, for ${asks.join(', ')}, answers ${said}`, async () => {
          const world = worlds[published ? 1 : 0] as World // before() has made both
          const answered: [Caller, number][] = []
          for (const caller of callers) {
            const token = tokenOf(world.people[caller])
            answered.push([caller, await statusOf(grove, token, method, name, await input(world))])
          }
          expect(answered).to.deep.equal(statuses)
        })
      }
    })
})

/** As REST, but that it asks everyone for a token, and that contributors get branches of their own. */
function expectedOf(id: keyof operations, caller: Caller, published: boolean, success: number): number {
  return caller === 'anonymous' ? 401 : expectedStatus(ownNeed(id), caller, published, success)
}

function tokenOf(person: Client): string | undefined {
  return 'session' in person ? (person as PersonClient).session.accessToken : undefined // none of the anonymous
}

/** Of the refusal, 200 without one. */
async function statusOf(
  grove: { readonly url: string },
  token: string | undefined,
  method: string,
  name: string | undefined,
  input: object,
): Promise<number> {
  const { status, result, error } = await callMcp(grove, token, method, name, input)
  if (status === 401) return 401
  if (error !== undefined) return /not found/i.test(error.message) ? 404 : Number(error.message.slice(0, 3))
  return result?.isError === true ? Number(result.content?.[0]?.text.slice(0, 3)) : 200
}
