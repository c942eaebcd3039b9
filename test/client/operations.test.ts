/** Each operation of the spec through the client, in a real service. */
import { expect } from 'chai'
import { type Grove as Client, grove as clientOf, type ListId, type OperationId } from '../../spec/client/client.ts'
import { operations, streams } from '../../spec/client/operations.ts'
import document from '../../spec/openapi.json' with { type: 'json' }
import { table } from '../support/attempts.ts'
import { castFor, makeBot, makeWebhook, type World, worldOf } from '../support/cast.ts'
import { type PersonClient, type Client as Plain, signUp } from '../support/people.ts'
import { attemptOf } from '../support/permissions.ts'
import { metricsToken } from '../support/scrapes.ts'
import { useWorld } from '../support/world.ts'

interface Described {
  readonly responses: Readonly<Record<string, { readonly content?: object }>>
}

const ids = Object.keys(operations) as OperationId[] // of an object that has no others

describe('the client', () => {
  const { grove } = useWorld({}, { publicUrl: 'https://grove.example', metricsToken })
  let world: World
  let asked: string[]

  before(async () => {
    world = await worldOf(await castFor(grove), true)
  })
  beforeEach(() => {
    asked = []
  })

  const speakingFor = (person: Plain): Client =>
    clientOf({
      url: grove.url,
      token: (person as PersonClient).session.accessToken, // everybody of the cast has signed up
      fetch: (address, init) => {
        asked.push(`${init?.method} ${new URL(String(address)).pathname}`)
        return fetch(address, init)
      },
    })

  for (const id of ids) {
    it(`asks for ${id}`, async () => {
      const { org, params = {}, query, body, zip, instead } = await attemptOf(id, world)
      const person = id === 'changePassword' ? await signUp(grove, 'Chris Changer') : instead
      const { administrator } = world.people
      const client = speakingFor(person ?? (table[id].need === 'administrator' ? administrator : world.owner))
      const call = client[id] as (input: unknown) => Promise<unknown> // rows hold inputs of all operations
      const answer = await call({
        path: { org_id: org, ...params },
        query: Object.fromEntries(new URLSearchParams(query)),
        body: zip ?? body,
        ...(id === 'getMetrics' ? { headers: { Authorization: `Bearer ${metricsToken}` } } : {}),
      })
      const [method = '', path = ''] = operations[id].split(' ')
      expect(asked).to.have.length(1)
      expect(asked[0]).to.match(new RegExp(`^${method} ${path.replace(/\{\w+\}/g, '[^/]+')}$`))
      expect(kindOf(answer)).to.equal(expectedKind(id))
      if (answer instanceof Response) expect((await answer.arrayBuffer()).byteLength).to.be.greaterThan(0)
    })
  }

  describe('that lists', () => {
    it('finds one array in the answer of each list', async () => {
      const owner = speakingFor(world.owner)
      const { head } = await owner.getNode({ path: { org_id: world.org, node_id: world.node } })
      const webhook_id = await makeWebhook(world)
      const bot_id = await makeBot(world)
      const type_name = 'recipe'
      await owner.putType({ path: { org_id: world.org, type_name }, body: { definition: { title: 'Recipe' } } })
      const others = { webhook_id, bot_id, type_name }
      const onNode = { org_id: world.org, node_id: world.node, branch: 'main', number: 1, commit_id: head, ...others }
      const lists = ids.filter((id) => {
        const [method, path] = operations[id].split(' ')
        return method === 'GET' && path?.includes('admin') === false && /^list/.test(id)
      })
      const queries: Partial<Record<string, object>> = { listTaggedNodes: { tag: 'sea' } }
      for (const id of lists) {
        const asked = { path: onNode, query: queries[id] }
        const answer = await (owner[id] as (input: unknown) => Promise<unknown>)(asked)
        if (typeof answer !== 'object' || !('total' in Object(answer))) continue
        expect(Object.values(Object(answer)).filter(Array.isArray), id).to.have.length(1)
      }
    })

    it('goes through all pages, from where it is told to', async () => {
      const owner = speakingFor(world.owner)
      const path = { org_id: world.org }
      for (let n = 0; n < 3; n++) await owner.createNode({ path, body: { title: `Node ${n}` } })
      const { nodes, total } = await owner.listNodes({ path, query: { limit: 200 } })
      const read = async (query: { limit?: number; offset?: number }) => {
        const listed: string[] = []
        for await (const { id } of owner.each('listNodes', { path, query })) listed.push(id)
        return listed
      }
      asked = []
      const all = nodes.map(({ id }) => id)
      expect(await read({ limit: 1 })).to.deep.equal(all)
      expect(asked).to.have.length(total)
      asked = []
      expect(await read({})).to.deep.equal(all)
      expect(asked).to.have.length(1)
      expect(await read({ limit: 2, offset: 1 })).to.deep.equal(all.slice(1))
      expect(await read({ offset: total + 7 })).to.deep.equal([])
    })

    it('asks for no page before it is needed', async () => {
      for await (const _ of speakingFor(world.owner).each('listNodes', {
        path: { org_id: world.org },
        query: { limit: 1 },
      }))
        break
      expect(asked).to.have.length(1)
      // What is no list by pages does not compile.
      const notLists: readonly Exclude<OperationId, ListId>[] = ['getNode', 'getCommitDiff', 'listLinks']
      expect(notLists).to.have.length(3)
    })
  })

  describe('that writes addresses', () => {
    it('hands on slashes, dots and other letters of branches and paths', async () => {
      const owner = speakingFor(world.owner)
      const path = { org_id: world.org, node_id: world.node }
      const branch = 'feature/ä-#1'
      await owner.createBranch({ path, body: { name: branch } })
      const file = 'songs/..%2F/100 % öl?.md'
      const change = { action: 'put', path: file, content: 'la' } as const
      await owner.createCommit({ path: { ...path, branch }, body: { message: 'Sing', changes: [change] } })
      const { content } = await owner.getFile({ path: { ...path, branch, path: file } })
      expect(content).to.equal('la')
      const raw = await owner.getRaw({ path: { ...path, branch, path: file }, headers: { range: 'bytes=1-1' } })
      expect([raw.status, await raw.text()]).to.deep.equal([206, 'a'])
    })

    it('sends nothing if a parameter is absent or would lead elsewhere', async () => {
      const owner = speakingFor(world.owner)
      const absent = undefined as unknown as string // as JavaScript without types may call it
      for (const node_id of ['', '.', '..', absent]) {
        const refused = await owner.deleteNode({ path: { org_id: world.org, node_id } }).catch((error) => error)
        expect(refused).to.be.an.instanceOf(TypeError)
      }
      expect(asked).to.deep.equal([])
    })
  })
})

function kindOf(answer: unknown): string {
  if (answer instanceof Response) return 'bytes'
  return typeof answer
}

/** As the spec describes the answer. */
function expectedKind(id: OperationId): string {
  const [method = '', path = ''] = operations[id].split(' ')
  const item = document.paths[path as keyof typeof document.paths] as Readonly<Record<string, Described>> // by methods
  const responses = item[method.toLowerCase()]?.responses
  const success = responses?.['200'] ?? responses?.['201'] ?? responses?.['202']
  const content = success?.content
  if (content === undefined) return 'undefined'
  if ('application/json' in content) return 'object'
  return streams.some((one) => one === id) ? 'bytes' : 'string'
}
