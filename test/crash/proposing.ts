/** How clients of a storm open requests, and find those that they opened. */

import { commitOf } from '../support/concurrency-rules.ts'
import { type Actor, ask, pick } from './actor.ts'
import type { Request, SharedNode } from './world.ts'

/** Opens a request with one commit. @param target a branch with rules; default: main */
export async function openRequest(actor: Actor, node: SharedNode, target?: string): Promise<void> {
  const { world, person, requests } = actor
  const name = `p-${world.next()}`
  const branching = { name, ...(target !== undefined && { from: target }) }
  const branched = await ask(actor, 'branch', [201], () => person().post(`${node.at}/branches`, branching))
  if (!branched.answer) return
  const file = commitOf(name, `${name}.txt`)
  const committed = await ask(actor, 'commit to a branch', [201], () =>
    person().post(`${node.at}/tree/${name}/commits`, file),
  )
  if (!committed.answer) return
  const ruled = target !== undefined && { target, attempts: [] }
  const request: Request = { name, status: 'open', branchDeleted: 'no', entries: [], applied: [], ...ruled }
  const opening = { source_branch: name, title: name, ...(target !== undefined && { target_branch: target }) }
  const opened = await ask(actor, 'open', [201], () => person().post(`${node.at}/pull-requests`, opening))
  if (!opened.answer && !opened.unknown) return
  if (opened.answer) request.number = opened.answer.body.pr.number
  node.requests.push(request)
  requests.push({ node, request })
}

/** One of this client that is known to be open: what is unsure waits for the next look. */
export function openRequestOf({ requests, random }: Actor, isWanted: (request: Request) => boolean = () => true) {
  const open = requests.filter(
    ({ request }) =>
      request.number !== undefined && request.status === 'open' && !request.unsure && request.branchDeleted === 'no',
  )
  return pick(
    open.filter(({ request }) => isWanted(request)),
    random,
  )
}

/** How many requests of this client have their branches. */
export function branchesOf({ requests }: Actor, isWanted: (request: Request) => boolean): number {
  return requests.filter(({ request }) => request.branchDeleted === 'no' && isWanted(request)).length
}
