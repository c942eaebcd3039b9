/** Who may do what (contract §4) as a table: a row for each operation of the spec, and how to ask for it so that it can succeed. */

import { randomUUID } from 'node:crypto'
import document from '../../spec/openapi.json' with { type: 'json' }
import type { operations } from '../../spec/types.ts'
import {
  type Caller,
  callers,
  made,
  makeConnected,
  makeDraft,
  makeNode,
  makeOrg,
  makeProposal,
  proposal,
  type World,
  writing,
} from './cast.ts'
import { type Answer, type Client, password } from './grove.ts'

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
  signUp: { need: 'anyone', attempt: () => ({ body: { email: `${randomUUID()}@example.org`, password } }) },
  logIn: { need: 'anyone', attempt: ({ owner }) => ({ body: { email: owner.user.email, password } }) },
  refreshSession: {
    need: 'anyone',
    attempt: async (world) => ({ body: { refreshToken: await newRefreshToken(world) } }),
  },
  logOut: { need: 'anyone', attempt: async (world) => ({ body: { refreshToken: await newRefreshToken(world) } }) },
  changePassword: { need: 'person', attempt: () => ({ body: { old_password: password, new_password: password } }) },
  getMe: { need: 'person', attempt: () => ({}) },
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
  listCloneUrls: { need: 'public', attempt: () => ({}) },
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
  listConnections: { need: 'public', attempt: onNode },
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
  compareCommits: {
    need: 'public',
    attempt: (world) => ({ ...onNode(world), query: `?base=main&head=${world.head}` }),
  },

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
  searchNodes: { need: 'reader', attempt: () => ({ body: { query: 'whales' } }) },

  getHealth: { need: 'anyone', attempt: () => ({}) },
  getReadiness: { need: 'anyone', attempt: () => ({}) },
  getSpec: { need: 'anyone', attempt: () => ({}) },
  getJwks: { need: 'anyone', attempt: () => ({}) },
  getOpenidConfiguration: { need: 'anyone', attempt: () => ({}) },
  getDocs: { need: 'anyone', attempt: () => ({}) },
}
