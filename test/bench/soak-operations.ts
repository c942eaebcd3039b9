/** The operations of a soak's clients, and the valid answers. */

/** A node that only one client writes to, so that the answer to each write is known in advance. */
interface OwnNode {
  readonly id: string
  readonly at: string
  /** Branches that have commits but no pull request. */
  readonly proposals: string[]
  readonly open: { readonly number: number; readonly branch: string }[]
  readonly connections: string[]
}

export interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: each operation names the fields that it reads
  readonly body: any // any shape: the spec has one for each operation
  readonly etag: string
}

export type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>

export interface Actor {
  readonly at: number
  readonly nodes: OwnNode[]
  readonly random: () => number
  made: number
  etag: string
}

/** The reply to an operation, and the valid statuses. */
export interface Asked {
  readonly reply: Reply
  readonly expected: readonly number[]
}

export interface Operation {
  readonly name: string
  /** How often, relative to other operations. */
  readonly weight: number
  /** Undefined if the actor has nothing to apply it to. */
  readonly act: (actor: Actor) => Promise<Asked | undefined>
}

/** The limit of a client's nodes. It deletes the oldest for a new one. */
const ownAtMost = 5

function pick<T>(items: readonly T[], random: () => number): T | undefined {
  return items[Math.floor(random() * items.length)]
}

const words = ['whale', 'krill', 'kelp', 'algae', 'shark', 'coral', 'tide', 'plankton', 'otter', 'squid']

function sentence(random: () => number): string {
  return Array.from({ length: 30 }, () => pick(words, random)).join(' ')
}

/** The operations that write. A client writes to its own nodes, and all clients commit to one shared node. */
export function writes(ask: Ask, org: string, common: string): Operation[] {
  const commit = (at: string, branch: string, path: string, content: string) =>
    ask('POST', `${at}/tree/${branch}/commits`, { message: 'A change', changes: [{ action: 'put', path, content }] })
  const ownNode = (actor: Actor) => pick(actor.nodes, actor.random)
  const create = async (actor: Actor) => {
    const text_content = sentence(actor.random)
    const fields = { title: `Node ${actor.made++}`, text_content, tags: ['sea'], parents: [common] }
    const reply = await ask('POST', `${org}/nodes`, fields)
    if (reply.status === 201) {
      const { id } = reply.body
      actor.nodes.push({ id, at: `${org}/nodes/${id}`, proposals: [], open: [], connections: [] })
    }
    return { reply, expected: [201] }
  }
  return [
    {
      name: 'create a node',
      weight: 2,
      act: async (actor) => (actor.nodes.length < ownAtMost ? create(actor) : undefined),
    },
    {
      name: 'delete a node',
      weight: 1,
      act: async ({ nodes }) => {
        const node = nodes.length === ownAtMost ? nodes.shift() : undefined
        return node && { reply: await ask('DELETE', node.at), expected: [204] }
      },
    },
    {
      name: 'commit to main',
      weight: 4,
      act: async (actor) => {
        const node = ownNode(actor)
        const content = `${actor.made++} ${sentence(actor.random)}`
        return node && { reply: await commit(node.at, 'main', 'content.md', content), expected: [201] }
      },
    },
    {
      name: 'commit to a node of all',
      weight: 2,
      act: async (actor) => {
        const path = `client-${actor.at}.md`
        return { reply: await commit(`${org}/nodes/${common}`, 'main', path, `${actor.made++}`), expected: [201] }
      },
    },
    {
      name: 'change a node',
      weight: 2,
      act: async (actor) => {
        const node = ownNode(actor)
        return node && { reply: await ask('PATCH', node.at, { title: `Node ${actor.made++}` }), expected: [200] }
      },
    },
    {
      name: 'add a connection',
      weight: 1,
      act: async (actor) => {
        const node = ownNode(actor)
        if (!node || node.connections.length > 5) return undefined
        const reply = await ask('POST', `${node.at}/connections`, { target: common, type: 'feeds_on' })
        if (reply.status === 201) node.connections.push(reply.body.id)
        return { reply, expected: [201] }
      },
    },
    {
      name: 'remove a connection',
      weight: 1,
      act: async (actor) => {
        const node = ownNode(actor)
        const id = node?.connections.shift()
        return node && id !== undefined
          ? { reply: await ask('DELETE', `${node.at}/connections/${id}`), expected: [204] }
          : undefined
      },
    },
    ...proposals(ask, commit, ownNode),
  ]
}

/** Makes a branch and a commit, opens a pull request, merges or closes it, and deletes the branch. */
function proposals(
  ask: Ask,
  commit: (at: string, branch: string, path: string, content: string) => Promise<Reply>,
  ownNode: (actor: Actor) => OwnNode | undefined,
): Operation[] {
  return [
    {
      name: 'make a branch and commit to it',
      weight: 2,
      act: async (actor) => {
        const node = ownNode(actor)
        if (!node || node.proposals.length + node.open.length > 4) return undefined
        const name = `proposal-${actor.made++}`
        const reply = await ask('POST', `${node.at}/branches`, { name })
        if (reply.status !== 201) return { reply, expected: [201] }
        const committed = await commit(node.at, name, `${name}.md`, sentence(actor.random))
        if (committed.status === 201) node.proposals.push(name)
        return { reply: committed, expected: [201] }
      },
    },
    {
      name: 'open a pull request',
      weight: 2,
      act: async (actor) => {
        const node = ownNode(actor)
        const branch = node?.proposals.shift()
        if (!node || branch === undefined) return undefined
        const reply = await ask('POST', `${node.at}/pull-requests`, { source_branch: branch, title: branch })
        if (reply.status === 201) node.open.push({ number: reply.body.pr.number, branch })
        return { reply, expected: [201] }
      },
    },
    {
      name: 'rebase and merge a pull request',
      weight: 1,
      act: async (actor) => {
        const node = ownNode(actor)
        const pull = node?.open.shift()
        if (!node || !pull) return undefined
        const at = `${node.at}/pull-requests/${pull.number}`
        const rebased = await ask('POST', `${at}/update-branch`, {})
        if (rebased.status !== 200) return { reply: rebased, expected: [200] }
        const merged = await ask('POST', `${at}/merge`, {})
        if (merged.status !== 200) return { reply: merged, expected: [200] }
        return { reply: await ask('DELETE', `${node.at}/branches/${pull.branch}`), expected: [204] }
      },
    },
    {
      name: 'close a pull request',
      weight: 1,
      act: async (actor) => {
        const node = ownNode(actor)
        const pull = node?.open.shift()
        if (!node || !pull) return undefined
        const closed = await ask('PATCH', `${node.at}/pull-requests/${pull.number}`, { status: 'closed' })
        if (closed.status !== 200) return { reply: closed, expected: [200] }
        return { reply: await ask('DELETE', `${node.at}/branches/${pull.branch}`), expected: [204] }
      },
    },
  ]
}

/** Reads of every kind, of all writers' nodes. 404 is valid, because a writer may have deleted the node. */
export function reads(ask: Ask, orgId: string, common: string, actors: readonly Actor[]): Operation[] {
  const org = `/orgs/${orgId}`
  const get = (path: string, headers?: Record<string, string>) => ask('GET', path, undefined, headers)
  const ofAnyNode = (name: string, weight: number, path: (node: OwnNode) => string | undefined): Operation => ({
    name,
    weight,
    act: async ({ random }) => {
      const node = pick(
        actors.flatMap(({ nodes }) => nodes),
        random,
      )
      const rest = node && path(node)
      return rest === undefined ? undefined : { reply: await get(`${node?.at}${rest}`), expected: [200, 404] }
    },
  })
  const always = (name: string, weight: number, path: string, expected = 200): Operation => ({
    name,
    weight,
    act: async () => ({ reply: await get(path), expected: [expected] }),
  })
  const ofPull = (name: string, rest: string) =>
    ofAnyNode(name, 2, ({ open }) => (open[0] ? `/pull-requests/${open[0].number}${rest}` : undefined))
  const search = (depth: string): Operation => ({
    name: `search, depth ${depth}`,
    weight: 3,
    act: async ({ random }) => {
      const query = `${pick(words, random)} ${pick(words, random)}`
      return { reply: await ask('POST', `${org}/search/retrieve`, { query, expansion_depth: depth }), expected: [200] }
    },
  })
  return [
    ofAnyNode('read a node', 6, () => ''),
    ofAnyNode('list branches', 3, () => '/branches'),
    ofAnyNode('list tags', 1, () => '/tags'),
    ofAnyNode('read a tree', 3, () => '/tree/main'),
    ofAnyNode('read a file', 3, () => '/tree/main/files/content.md'),
    ofAnyNode('page of history', 6, () => '/tree/main/commits?limit=20'),
    ofAnyNode('compare', 2, ({ open }) => open[0] && `/compare?base=main&head=${open[0].branch}`),
    ofAnyNode('list pull requests', 3, () => '/pull-requests?status=all'),
    ofPull('read a pull request', ''),
    ofPull('commits of a pull request', '/commits'),
    ofPull('changes of a pull request', '/changes'),
    {
      name: 'read a commit',
      weight: 4,
      act: async ({ random }) => {
        const at = `${org}/nodes/${common}/tree/main/commits`
        const offset = Math.floor(random() * 20)
        const page = await get(`${at}?limit=1&offset=${offset}`)
        const id = page.body?.history?.[0]?.id
        return id === undefined
          ? { reply: page, expected: [200] }
          : { reply: await get(`${at}/${id}`), expected: [200] }
      },
    },
    search('none'),
    search('deep'),
    {
      name: 'public graph',
      weight: 4,
      act: async (actor) => {
        const headers = { 'accept-encoding': 'gzip', ...(actor.etag === '' ? {} : { 'if-none-match': actor.etag }) }
        const reply = await get(`/public/orgs/${orgId}/graph`, headers)
        actor.etag = reply.etag
        return { reply, expected: [200, 304] }
      },
    },
    always('list nodes', 3, `${org}/nodes?tag=sea`),
    always('list members', 1, `${org}/members`),
    always('list organisations', 1, '/orgs'),
    always('who am I', 1, '/auth/me'),
    always('healthz', 2, '/healthz'),
    always('readyz', 1, '/readyz'),
    always('missing node', 1, `${org}/nodes/00000000-0000-7000-8000-000000000000`, 404),
    always('invalid limit', 1, `${org}/nodes?limit=0`, 422),
  ]
}
