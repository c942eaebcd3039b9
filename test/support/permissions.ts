/** Who may do what (contract §4) as a table: a row for each operation of the spec, and how to ask for it so that it can succeed. */

import { randomUUID } from 'node:crypto'
import document from '../../spec/openapi.json' with { type: 'json' }
import type { operations } from '../../spec/types.ts'
import { type Answer, type Client, client, type PersonClient, password, signUp } from './grove.ts'

/** The least first: whoever comes later in the list may do what those before may. */
export const callers = ['anonymous', 'stranger', 'reader', 'editor', 'maintainer', 'owner'] as const
export type Caller = (typeof callers)[number]

/**
 * `anyone`: Authorization is not even looked at; `published`: the same, once the organisation is published; `public`:
 * members always, anyone once it is published; `person`: whoever is signed in; `own`: the owner, whose it is, and nobody
 * else finds it; else the least role.
 */
type Need = 'anyone' | 'published' | 'public' | 'person' | 'own' | 'reader' | 'editor' | 'maintainer' | 'owner'

/** What stands for the path's parameters, the query and the body. */
export interface Attempt {
  /** Default: the world's. */
  readonly org?: string
  readonly params?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: unknown
}

interface Row {
  readonly need: Need
  /** Makes what the request needs, anew wherever the request uses it up. */
  attempt(world: World): Attempt | Promise<Attempt>
}

/** Who is who. */
export interface Cast {
  readonly people: Readonly<Record<Caller, Client>>
  readonly owner: PersonClient
  readonly members: Readonly<Record<'reader' | 'editor' | 'maintainer', PersonClient>>
  /** Has an account and is no member. */
  readonly guest: PersonClient
}

/** An organisation with a member of each role, and a node that reads may share. */
export interface World extends Cast {
  readonly org: string
  readonly published: boolean
  /** A node with the branch `draft`, one commit ahead of main, and the pull request 1 for it. */
  readonly node: string
  readonly head: string
  /** The blob of content.md on main. */
  readonly blob: string
}

/** What the contract says that the operation answers; `success` is the 2xx of the spec. */
export function expectedStatus(need: Need, caller: Caller, published: boolean, success: number): number {
  if (need === 'anyone') return success
  if (need === 'published') return published ? success : 404
  if (caller === 'anonymous') return need === 'public' && published ? success : 401
  if (need === 'person') return success
  if (need === 'own') return caller === 'owner' ? success : 404
  if (caller === 'stranger' && !published) return 404
  if (need === 'public') return success
  return callers.indexOf(caller) >= callers.indexOf(need) ? success : 403
}

/** Which of the spec's three kinds of `security` the row means. */
export function expectedSecurity(id: keyof operations): Operation['security'] {
  const { need } = table[id]
  if (need === 'anyone' || need === 'published') return 'none'
  return need === 'public' || id === 'changePassword' ? 'optional' : 'required'
}

export interface Operation {
  readonly id: keyof operations
  readonly method: string
  readonly path: string
  readonly security: 'none' | 'optional' | 'required'
  /** `read`, `write`, or `none`: which personal access token the spec says that it takes. */
  readonly token: string
  readonly success: number
}

interface SpecOperation {
  readonly operationId: string
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly responses: Readonly<Record<string, unknown>>
}

export const specOperations: readonly Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, SpecOperation>) // each path has a type of its own
    .filter(([method]) => method !== 'parameters')
    .map(([method, { operationId, security, responses }]) => ({
      id: operationId as keyof operations, // both are generated from openapi.yaml
      method: method.toUpperCase(),
      path,
      security: securityOf(security),
      token: security?.find((way) => way.token !== undefined)?.token?.[0] ?? 'none',
      success: Number(Object.keys(responses).find((status) => status.startsWith('2'))),
    })),
)

function securityOf(security: SpecOperation['security']): Operation['security'] {
  if (security?.length === 0) return 'none'
  return security?.some((way) => Object.keys(way).length === 0) === true ? 'optional' : 'required'
}

/** What stays of the template is a parameter that the attempt forgot. */
export function send(who: Client, { method, path }: Operation, attempt: Attempt): Promise<Answer> {
  const { org, params = {}, query = '', body } = attempt
  const given: Readonly<Record<string, string | undefined>> = { ...params, org_id: org }
  const url = path.replace(/\{(\w+)\}/g, (name, key) => encodeURIComponent(given[key] ?? name))
  if (method === 'GET') return who.get(url + query)
  if (method === 'DELETE') return who.delete(url + query)
  if (method === 'PUT') return who.put(url + query, body)
  return method === 'PATCH' ? who.patch(url + query, body) : who.post(url + query, body)
}

export async function castFor(grove: { readonly url: string }): Promise<Cast> {
  const [owner, maintainer, editor, reader, stranger, guest] = [
    await signUp(grove, 'Olga Owner'),
    await signUp(grove, 'Max Maintainer'),
    await signUp(grove, 'Eda Editor'),
    await signUp(grove, 'Rob Reader'),
    await signUp(grove, 'Sue Stranger'),
    await signUp(grove, 'Gil Guest'),
  ]
  const people = { anonymous: client(grove), stranger, reader, editor, maintainer, owner }
  return { owner, people, members: { reader, editor, maintainer }, guest }
}

export async function worldOf(cast: Cast, published: boolean): Promise<World> {
  const { owner } = cast
  const org = await makeOrg(cast, published)
  const world = { ...cast, org, published, node: '', head: '', blob: '' }
  const node = await makeProposal(world)
  const entities = await made(owner.get(`/orgs/${org}/nodes/${node}/tree/main`))
  const text = entities.entities.find((entity: { entity_key: string }) => entity.entity_key === 'content.md')
  return { ...world, node, head: entities.commit_id, blob: text.object_id }
}

/** An organisation of the owner's, the others members by their roles. */
export async function makeOrg(
  { owner, members }: Pick<Cast, 'owner' | 'members'>,
  published: boolean,
): Promise<string> {
  const { id } = await made(owner.post('/orgs', { name: 'Atlas', published }))
  for (const [role, { user }] of Object.entries(members)) {
    await made(owner.put(`/orgs/${id}/members/${user.email}`, { role }))
  }
  return id
}

/** The body of an answer that must be a success. @throws Error */
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects
export async function made(sent: Promise<Answer>): Promise<any> {
  const { status, body } = await sent
  if (status < 200 || status > 299) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}

type Makers = Pick<World, 'org' | 'owner'>

async function makeNode({ org, owner }: Makers, fields: object = {}): Promise<string> {
  const text_content = 'Whales are mammals.'
  return (await made(owner.post(`/orgs/${org}/nodes`, { title: 'Whales', text_content, ...fields }))).id
}

/** A node whose branch `draft` is one commit ahead of main. */
async function makeDraft(world: Makers): Promise<string> {
  const node = await makeNode(world)
  const at = `/orgs/${world.org}/nodes/${node}`
  await made(world.owner.post(`${at}/branches`, { name: 'draft' }))
  await made(world.owner.post(`${at}/tree/draft/commits`, writing('draft.md')))
  return node
}

/** The same, with the pull request 1 for it. */
async function makeProposal(world: Makers): Promise<string> {
  const node = await makeDraft(world)
  await made(world.owner.post(`/orgs/${world.org}/nodes/${node}/pull-requests`, proposal))
  return node
}

async function makeConnected(world: World): Promise<string> {
  const node = await makeNode(world)
  await made(world.owner.post(`/orgs/${world.org}/nodes/${node}/connections`, { target: world.node, id: 'krill' }))
  return node
}

const proposal = { source_branch: 'draft', title: 'More' }

function writing(path: string) {
  return { message: `Write ${path}`, changes: [{ action: 'put', path, content: 'Whales sing.' }] }
}

async function newRefreshToken({ owner, people }: World): Promise<string> {
  return (await made(people.anonymous.post('/auth/login', { email: owner.user.email, password }))).refreshToken
}

/** The attempt of that operation in that world, complete. */
export async function attemptOf(id: keyof operations, world: World): Promise<Attempt> {
  return { org: world.org, ...(await table[id].attempt(world)) }
}

const onNode = ({ node }: World): Attempt => ({ params: { node_id: node } })
const onMain = ({ node }: World): Attempt => ({ params: { node_id: node, branch: 'main' } })
const onPull = ({ node }: World): Attempt => ({ params: { node_id: node, number: '1' } })

export const table: Readonly<Record<keyof operations, Row>> = {
  signup: { need: 'anyone', attempt: () => ({ body: { email: `${randomUUID()}@example.org`, password } }) },
  login: { need: 'anyone', attempt: ({ owner }) => ({ body: { email: owner.user.email, password } }) },
  refresh: { need: 'anyone', attempt: async (world) => ({ body: { refreshToken: await newRefreshToken(world) } }) },
  logout: { need: 'anyone', attempt: async (world) => ({ body: { refreshToken: await newRefreshToken(world) } }) },
  changePassword: { need: 'person', attempt: () => ({ body: { old_password: password, new_password: password } }) },
  me: { need: 'person', attempt: () => ({}) },
  createToken: { need: 'person', attempt: () => ({ body: { name: 'Laptop', access: 'read' } }) },
  listTokens: { need: 'person', attempt: () => ({}) },
  revokeToken: {
    need: 'own',
    attempt: async ({ owner }) => ({
      params: { token_id: (await made(owner.post('/auth/tokens', { name: 'Laptop', access: 'read' }))).id },
    }),
  },

  createOrg: { need: 'person', attempt: () => ({ body: { name: 'Another' } }) },
  listOrgs: { need: 'person', attempt: () => ({}) },
  getOrg: { need: 'public', attempt: () => ({}) },
  listRepositories: { need: 'public', attempt: () => ({}) },
  updateOrg: { need: 'owner', attempt: () => ({ body: { name: `Atlas ${randomUUID()}` } }) },
  deleteOrg: { need: 'owner', attempt: async (world) => ({ org: await makeOrg(world, world.published) }) },
  listMembers: { need: 'reader', attempt: () => ({}) },
  putMember: {
    need: 'owner',
    attempt: ({ guest }) => ({ params: { email: guest.user.email }, body: { role: 'reader' } }),
  },
  removeMember: {
    need: 'owner',
    attempt: async ({ owner, org, guest }) => {
      await made(owner.put(`/orgs/${org}/members/${guest.user.email}`, { role: 'reader' }))
      return { params: { email: guest.user.email } }
    },
  },

  createNode: {
    need: 'editor',
    attempt: ({ node }) => ({ body: { id: randomUUID(), title: 'Dolphins', parents: [node] } }),
  },
  listNodes: { need: 'reader', attempt: () => ({}) },
  getNode: { need: 'public', attempt: onNode },
  updateNode: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeNode(world) }, body: { title: 'Dolphins' } }),
  },
  deleteNode: { need: 'maintainer', attempt: async (world) => ({ params: { node_id: await makeNode(world) } }) },
  putParent: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeNode(world), parent_id: world.node }, body: {} }),
  },
  removeParent: {
    need: 'editor',
    attempt: async (world) => ({
      params: { node_id: await makeNode(world, { parents: [world.node] }), parent_id: world.node },
    }),
  },
  addConnection: {
    need: 'editor',
    attempt: async (world) => ({
      params: { node_id: await makeNode(world) },
      body: { target: world.node, id: 'krill' },
    }),
  },
  updateConnection: {
    need: 'editor',
    attempt: async (world) => ({
      params: { node_id: await makeConnected(world), connection_id: 'krill' },
      body: { type: 'feeds_on' },
    }),
  },
  removeConnection: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeConnected(world), connection_id: 'krill' } }),
  },

  listBranches: { need: 'public', attempt: onNode },
  createBranch: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeNode(world) }, body: { name: 'draft' } }),
  },
  getBranch: { need: 'public', attempt: onMain },
  deleteBranch: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeDraft(world), branch: 'draft' } }),
  },
  listTags: { need: 'public', attempt: onNode },

  listEntities: { need: 'public', attempt: onMain },
  getFile: {
    need: 'public',
    attempt: ({ node }) => ({ params: { node_id: node, branch: 'main', path: 'content.md' } }),
  },
  getObject: { need: 'public', attempt: ({ node, blob }) => ({ params: { node_id: node, object_id: blob } }) },
  listCommits: { need: 'public', attempt: onMain },
  createCommit: {
    need: 'editor',
    attempt: async (world) => ({
      params: { node_id: await makeNode(world), branch: 'main' },
      body: writing('song.md'),
    }),
  },
  getCommit: {
    need: 'public',
    attempt: ({ node, head }) => ({ params: { node_id: node, branch: 'main', commit_id: head } }),
  },
  compare: { need: 'public', attempt: (world) => ({ ...onNode(world), query: `?base=main&head=${world.head}` }) },

  openPull: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeDraft(world) }, body: proposal }),
  },
  listPulls: { need: 'reader', attempt: onNode },
  getPull: { need: 'reader', attempt: onPull },
  updatePull: {
    need: 'editor',
    attempt: async (world) => ({
      params: { node_id: await makeProposal(world), number: '1' },
      body: { status: 'closed' },
    }),
  },
  mergePull: {
    need: 'editor',
    attempt: async (world) => ({ params: { node_id: await makeProposal(world), number: '1' }, body: {} }),
  },
  updatePullBranch: {
    need: 'editor',
    attempt: async (world) => {
      const node_id = await makeProposal(world)
      await made(world.owner.post(`/orgs/${world.org}/nodes/${node_id}/tree/main/commits`, writing('song.md')))
      return { params: { node_id, number: '1' }, body: {} }
    },
  },
  listPullCommits: { need: 'reader', attempt: onPull },
  getPullChanges: { need: 'reader', attempt: onPull },

  getPublicGraph: { need: 'published', attempt: () => ({}) },
  retrieve: { need: 'reader', attempt: () => ({ body: { query: 'whales' } }) },

  healthz: { need: 'anyone', attempt: () => ({}) },
  readyz: { need: 'anyone', attempt: () => ({}) },
  getSpec: { need: 'anyone', attempt: () => ({}) },
  docs: { need: 'anyone', attempt: () => ({}) },
}
