/** What a client of a storm does, and how it takes the answer: as a yes, as busy, or as nothing that it can rely on. */

import { commitOf } from '../support/concurrency-rules.ts'
import { type Answer, type Client, password } from '../support/grove.ts'
import { countsOf, newOwnNode, type OwnNode, type Request, type SharedNode, type World } from './world.ts'

export interface Actor {
  readonly world: World
  readonly random: () => number
  /** Somewhere where a process lives, if there is one. */
  readonly person: () => Client
  readonly anybody: () => Client
  /** The requests that this client alone merges and closes. */
  readonly requests: { readonly node: SharedNode; readonly request: Request }[]
  readonly nodes: OwnNode[]
  /** Whether an answer other than those expected means neither yes nor no; else it is a problem. */
  readonly tolerated: (answer: Answer) => boolean
}

export function pick<T>(all: readonly T[], random: () => number): T | undefined {
  return all[Math.floor(random() * all.length)]
}

/** Branches of a client that are not deleted yet: what is there at the end is read several times, whole. */
const branchesAtMost = 6

/** By weight. */
const operations: readonly (readonly [number, (actor: Actor) => Promise<void>])[] = [
  [6, commit],
  [4, propose],
  [4, merge],
  [2, close],
  [4, deleteBranch],
  [2, createNode],
  [1, deleteNode],
  [1, signUp],
]

/** One operation, of those that make sense now. */
export async function act(actor: Actor): Promise<void> {
  let at = actor.random() * operations.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, operation] of operations) {
    at -= weight
    if (at < 0) return operation(actor)
  }
}

/** The answer if it has one of the statuses expected; else it is counted as busy (nothing was changed) or as unknown. */
async function ask(
  { world, tolerated }: Actor,
  operation: string,
  expected: readonly number[],
  asking: () => Promise<Answer>,
): Promise<{ readonly answer?: Answer; readonly unknown: boolean }> {
  const counts = countsOf(world, operation)
  const answer = await asking().catch((error: unknown) => {
    if (error instanceof TypeError) return undefined
    throw error
  })
  if (answer && expected.includes(answer.status)) {
    if (answer.status < 300) counts.acknowledged++
    return { answer, unknown: false }
  }
  if (answer?.status === 503 && answer.body?.code === 'busy') {
    counts.busy++
    return { unknown: false }
  }
  if (answer && answer.body?.code !== 'outcome_unknown' && !tolerated(answer))
    world.problems.push(`${operation} was answered ${answer.status} ${JSON.stringify(answer.body)}`)
  counts.unknown++
  return { unknown: true }
}

async function commit(actor: Actor): Promise<void> {
  const { world, person, random } = actor
  const node = pick(world.shared, random)
  if (!node) return
  const path = `${node.at}/tree/main/commits`
  const name = `commit-${world.next()}`
  // One file at a time of a few: the trees of a long storm stay small.
  const body = commitOf(name, `files/${world.next() % 8}.txt`)
  const { answer } = await ask(actor, 'commit', [201], () => person().post(path, body))
  if (answer) node.fresh.push(answer.body.id)
}

async function propose(actor: Actor): Promise<void> {
  const { world, person, random, requests } = actor
  const node = pick(world.shared, random)
  if (!node || requests.filter(({ request }) => request.branchDeleted === 'no').length >= branchesAtMost) return
  const name = `p-${world.next()}`
  const branched = await ask(actor, 'branch', [201], () => person().post(`${node.at}/branches`, { name }))
  if (!branched.answer) return
  const file = commitOf(name, `${name}.txt`)
  const committed = await ask(actor, 'commit to a branch', [201], () =>
    person().post(`${node.at}/tree/${name}/commits`, file),
  )
  if (!committed.answer) return
  const request: Request = { name, status: 'open', branchDeleted: 'no' }
  const opening = { source_branch: name, title: name }
  const opened = await ask(actor, 'open', [201], () => person().post(`${node.at}/pull-requests`, opening))
  if (!opened.answer && !opened.unknown) return
  if (opened.answer) request.number = opened.answer.body.pr.number
  node.requests.push(request)
  requests.push({ node, request })
}

/** One that is known to be open: what is unsure waits for the next look. */
function openOne({ requests, random }: Actor) {
  const open = requests.filter(
    ({ request }) =>
      request.number !== undefined && request.status === 'open' && !request.unsure && request.branchDeleted === 'no',
  )
  return pick(open, random)
}

async function merge(actor: Actor): Promise<void> {
  const one = openOne(actor)
  if (!one) return
  const { node, request } = one
  const at = `${node.at}/pull-requests/${request.number}`
  for (let attempt = 0; attempt < 8; attempt++) {
    request.unsure = 'merged'
    const merged = await ask(actor, 'merge', [200, 409], () => actor.person().post(`${at}/merge`, {}))
    if (merged.answer?.status === 200) request.status = 'merged'
    if (!merged.unknown) delete request.unsure
    if (merged.answer?.status !== 409) return
    if (merged.answer.body.code !== 'diverged')
      actor.world.problems.push(`merge was answered 409 ${JSON.stringify(merged.answer.body)}`)
    // Where no answer comes, the branch is at one head or the other, and has the same files.
    const updated = await ask(actor, 'update branch', [200, 409], () => actor.person().post(`${at}/update-branch`))
    if (!updated.answer) return
  }
}

async function close(actor: Actor): Promise<void> {
  const one = openOne(actor)
  if (!one) return
  const { node, request } = one
  request.unsure = 'closed'
  const path = `${node.at}/pull-requests/${request.number}`
  const { answer, unknown } = await ask(actor, 'close', [200], () => actor.person().patch(path, { status: 'closed' }))
  if (answer) request.status = 'closed'
  if (!unknown) delete request.unsure
}

/** Closes the request too, if it is open. */
async function deleteBranch(actor: Actor): Promise<void> {
  const { requests, random, person } = actor
  const one = pick(
    requests.filter(({ request }) => request.number && !request.unsure && request.branchDeleted === 'no'),
    random,
  )
  if (!one) return
  const { node, request } = one
  request.branchDeleted = 'asked'
  if (request.status === 'open') request.unsure = 'closed'
  const path = `${node.at}/branches/${request.name}`
  const { answer, unknown } = await ask(actor, 'delete a branch', [204], () => person().delete(path))
  if (answer && request.status === 'open') request.status = 'closed'
  if (unknown) return
  request.branchDeleted = answer ? 'done' : 'no'
  delete request.unsure
}

async function createNode(actor: Actor): Promise<void> {
  const { world, person, random, nodes } = actor
  if (nodes.filter(({ deleted }) => deleted === 'no').length > 4) return
  const node = newOwnNode(world)
  // Every other one below another node: such a creation holds the lock of the graph.
  const parents = random() < 0.5 ? world.shared.slice(0, 1).map(({ id }) => id) : []
  const body = { id: node.id, title: `Node ${world.next()}`, text_content: 'Whales sing', tags: ['sea'], parents }
  const { answer, unknown } = await ask(actor, 'create a node', [201], () =>
    person().post(`/orgs/${world.org}/nodes`, body),
  )
  if (!answer && !unknown) return
  node.unsure = unknown
  nodes.push(node)
  world.nodes.push(node)
}

async function deleteNode(actor: Actor): Promise<void> {
  const { person, random, nodes } = actor
  const node = pick(
    nodes.filter(({ deleted, unsure }) => deleted === 'no' && !unsure),
    random,
  )
  if (!node) return
  node.deleted = 'asked'
  const { answer, unknown } = await ask(actor, 'delete a node', [204], () => person().delete(node.at))
  if (!unknown) node.deleted = answer ? 'done' : 'no'
}

async function signUp(actor: Actor): Promise<void> {
  const { world, anybody } = actor
  const email = `c${world.next()}@example.org`
  const { answer, unknown } = await ask(actor, 'sign up', [201], () =>
    anybody().post('/auth/signup', { email, password, name: email }),
  )
  if (answer || unknown) world.accounts.push({ email, unsure: unknown, seen: false })
}
