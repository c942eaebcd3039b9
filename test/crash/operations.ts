/** A client of a storm acts. It reads the answer as a yes, as busy, or as unknown. */

import { commitOf } from '../support/concurrency-rules.ts'
import { type Actor, ask, askTwice, pick } from './actor.ts'
import { applySuggestion, changeRules, mergeRuled, proposeRuled, pushRuled, reportCheck } from './consent.ts'
import { credentialOperations } from './credentials.ts'
import { report } from './machines.ts'
import { branchesOf, openRequest, openRequestOf } from './proposing.ts'
import { fetched, made, merged, push } from './pushing.ts'
import { proposeSet } from './sets.ts'
import { comment, deleteComment, editComment, resolve, review, withdraw } from './talk.ts'
import { newOwnNode, type PushedBranch, type Request, type SharedNode } from './world.ts'

/** Branches of a client that are not deleted yet: what is there at the end is read several times, whole. */
const branchesAtMost = 6

type Operations = readonly (readonly [number, (actor: Actor) => Promise<void>])[]

/** By weight: what is written into an organisation. */
const writes: Operations = [
  [6, commit],
  [4, propose],
  [4, merge],
  [2, close],
  [4, deleteBranch],
  [2, createNode],
  [2, writeBatch],
  [1, deleteNode],
  [2, pushCommit],
  [2, pushMerge],
  [2, pushBranch],
  [1, moveBranch],
  [1, pushDeletion],
  [5, comment],
  [2, editComment],
  [1, deleteComment],
  [2, resolve],
  [3, review],
  [1, withdraw],
  [3, report],
  [4, proposeRuled],
  [4, mergeRuled],
  [2, pushRuled],
  [3, reportCheck],
  [2, applySuggestion],
  [0.4, changeRules],
  [3, proposeSet],
]

const operations: Operations = [...writes, ...credentialOperations]

/** One operation, of those that make sense now. */
export function act(actor: Actor): Promise<void> {
  return oneOf(operations, actor)
}

/** One that writes into the organisation, or reads of it. */
export function actInOrg(actor: Actor): Promise<void> {
  return oneOf([...writes, [8, readNode]], actor)
}

async function oneOf(operations: Operations, actor: Actor): Promise<void> {
  let at = actor.random() * operations.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, operation] of operations) {
    at -= weight
    if (at < 0) return operation(actor)
  }
}

async function commit(actor: Actor): Promise<void> {
  const { world, person, random } = actor
  const node = pick(world.shared, random)
  if (!node) return
  const path = `${node.at}/tree/main/commits`
  const name = `commit-${world.next()}`
  // One file at a time of a few: the trees of a long storm stay small.
  const body = commitOf(name, `files/${world.next() % 8}.txt`)
  const { answer, unknown } = await ask(actor, 'commit', [201], () => person().post(path, body))
  if (answer) node.fresh.push(answer.body.id)
  else if (!unknown) node.refused.push(name)
}

async function propose(actor: Actor): Promise<void> {
  const node = pick(actor.world.shared, actor.random)
  if (!node || branchesOf(actor, ({ target }) => target === undefined) >= branchesAtMost) return
  await openRequest(actor, node)
}

/** One that is proposed to main. */
function openOne(actor: Actor) {
  return openRequestOf(actor, ({ target }) => target === undefined)
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
  const one = openRequestOf(actor)
  if (!one) return
  const { node, request } = one
  request.unsure = 'closed'
  const path = `${node.at}/pull-requests/${request.number}`
  const { answer, unknown } = await ask(actor, 'close', [200], () => actor.person().patch(path, { status: 'closed' }))
  if (answer) request.status = 'closed'
  if (!unknown) delete request.unsure
}

async function deleteBranch(actor: Actor): Promise<void> {
  await loseBranch(actor, ({ at }, { name }) =>
    ask(actor, 'delete a branch', [204], () => actor.person().delete(`${at}/branches/${name}`)),
  )
}

async function pushDeletion(actor: Actor): Promise<void> {
  await loseBranch(actor, async (node, { name }) => {
    const clone = await fetched(actor, node, ['main'])
    if (!clone) return { unknown: false }
    const { outcome } = await push(actor, 'push: delete a branch', node, clone, '', `refs/heads/${name}`)
    return { answer: outcome === 'done', unknown: outcome === 'unknown' }
  })
}

/** Closes the request too, if it is open. */
async function loseBranch(
  { requests, random }: Actor,
  remove: (node: SharedNode, request: Request) => Promise<{ readonly answer?: unknown; readonly unknown: boolean }>,
): Promise<void> {
  const one = pick(
    requests.filter(({ request }) => request.number && !request.unsure && request.branchDeleted === 'no'),
    random,
  )
  if (!one) return
  const { node, request } = one
  request.branchDeleted = 'asked'
  if (request.status === 'open') request.unsure = 'closed'
  const { answer, unknown } = await remove(node, request)
  if (answer && request.status === 'open') request.status = 'closed'
  if (unknown) return
  request.branchDeleted = answer ? 'done' : 'no'
  delete request.unsure
}

async function readNode(actor: Actor): Promise<void> {
  const node = pick(actor.world.shared, actor.random)
  if (node) await ask(actor, 'read a node', [200], () => actor.person().get(node.at))
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

/** New nodes, each but the first below the one before, and one of those that this client has. All are there, or none was told of. */
async function writeBatch(actor: Actor): Promise<void> {
  const { world, person, nodes } = actor
  const own = nodes.filter(({ deleted, unsure }) => deleted === 'no' && !unsure)
  if (own.length > 8) return
  const fresh = Array.from({ length: 3 }, () => newOwnNode(world))
  const items = [
    ...fresh.map(({ id }, at) => ({
      id,
      title: `Node ${world.next()}`,
      text_content: 'Whales sing',
      parents: at === 0 ? [] : [fresh[at - 1]?.id],
    })),
    ...own.slice(0, 1).map(({ id }) => ({ id, tags: [`tag-${world.next()}`] })),
  ]
  const path = `/orgs/${world.org}/nodes/batch`
  const put = () => person().put(path, { nodes: items })
  const { answer, unknown } = await askTwice(actor, 'write a batch', [200], put)
  if (!answer && !unknown) return
  for (const node of fresh) {
    node.unsure = unknown
    nodes.push(node)
    world.nodes.push(node)
  }
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

async function pushCommit(actor: Actor): Promise<void> {
  const { world, random } = actor
  const node = pick(world.shared, random)
  const clone = node && (await fetched(actor, node, ['main']))
  if (!node || !clone) return
  const file = { path: `files/${world.next() % 8}.txt`, text: `push-${world.next()}` }
  const commit = await made(clone, 'refs/from/main', [file])
  const { outcome } = await push(actor, 'push: commit', node, clone, commit, 'refs/heads/main')
  if (outcome === 'done') node.fresh.push(commit)
  if (outcome === 'refused') node.refused.push(commit)
}

/** Brings the head of a request into main, which merges it. */
async function pushMerge(actor: Actor): Promise<void> {
  const one = openOne(actor)
  if (!one) return
  const { node, request } = one
  for (let attempt = 0; attempt < 3; attempt++) {
    const clone = await fetched(actor, node, ['main', request.name])
    if (!clone) return
    const commit = await merged(clone, request.name)
    request.unsure = 'merged'
    const { outcome } = await push(actor, 'push: merge', node, clone, commit, 'refs/heads/main')
    if (outcome !== 'unknown') delete request.unsure
    if (outcome === 'done') {
      request.status = 'merged'
      node.fresh.push(commit)
    }
    if (outcome !== 'refused') return
  }
}

/** Branches of a client that only pushes have made. */
const pushedAtMost = 2
/** Each is three objects: git keeps what comes with a hundred as a pack. */
const commitsOfPack = 36

async function pushBranch(actor: Actor): Promise<void> {
  const { world, random, branches } = actor
  const node = pick(world.shared, random)
  if (!node || branches.filter(({ branch }) => branch.head !== null || branch.asked).length >= pushedAtMost) return
  const clone = await fetched(actor, node, ['main'])
  if (!clone) return
  const name = `pushed-${world.next()}`
  const files = Array.from({ length: commitsOfPack }, (_, at) => ({ path: 'pack.txt', text: `${name} ${at}` }))
  const branch: PushedBranch = { name, clone, head: null, asked: await made(clone, 'refs/from/main', files), story: [] }
  node.pushed.push(branch)
  branches.push({ node, branch })
  await pushTo(actor, 'push: a pack', node, branch)
}

/** A commit more, all of it anew, or its end. */
async function moveBranch(actor: Actor): Promise<void> {
  const { world, random, branches } = actor
  const one = pick(
    branches.filter(({ branch }) => branch.head !== null && branch.asked === undefined),
    random,
  )
  const from = pick(['main', 'head', 'none'], random)
  const clone = one && (await fetched(actor, one.node, ['main']))
  if (!one || !clone) return
  const { node, branch } = one
  const file = { path: 'pack.txt', text: `${branch.name} ${world.next()}` }
  branch.asked =
    from === 'none' ? null : await made(clone, from === 'main' ? 'refs/from/main' : `${branch.head}`, [file])
  await pushTo(actor, from === 'none' ? 'push: delete a branch' : 'push: move a branch', node, branch)
}

/** To where it was asked to. */
async function pushTo(actor: Actor, operation: string, node: SharedNode, branch: PushedBranch): Promise<void> {
  const { asked = null, clone, name } = branch
  const { outcome, text } = await push(actor, operation, node, clone, asked ?? '', `refs/heads/${name}`)
  branch.story.push(`${asked}: ${outcome}: ${text}`)
  if (outcome === 'done') branch.head = asked
  if (outcome !== 'unknown') delete branch.asked
}
