/** The machines of a storm report commits, and what they learned about them. */

import { type Actor, ask, askTwice, pick } from './actor.ts'
import type { Reported } from './world.ts'

const names = new WeakMap<Actor, string>()

/** Reports under a name of this client alone: about a commit of main, or the head of a request. */
export async function report(actor: Actor): Promise<void> {
  const { world, random, person } = actor
  const node = pick(world.shared, random)
  const commit = node && (random() < 0.5 ? pick(node.commits.slice(-4), random) : await headOf(actor, node))
  if (!node || commit === undefined) return
  const name = names.get(actor) ?? `machine/${world.next()}`
  names.set(actor, name)
  const reports = node.checks.get(commit) ?? new Map<string, Reported>()
  node.checks.set(commit, reports)
  const one = reports.get(name) ?? { description: undefined }
  if (one.asked !== undefined) return
  reports.set(name, one)
  one.asked = `report ${world.next()}`
  const body = { state: pick(['pending', 'success', 'failure'], random), description: one.asked }
  const path = `${node.at}/checks/${commit}/${encodeURIComponent(name)}`
  const put = () => person().put(path, body)
  const { answer, unknown } = await askTwice(actor, 'report a check', [200, 404], put)
  if (answer?.status === 200) one.description = answer.body.description
  if (!unknown) delete one.asked
}

/** The head of a request, whose branch may be deleted by now. */
async function headOf(actor: Actor, node: Actor['world']['shared'][number]): Promise<string | undefined> {
  const known = node.requests.filter(({ number }) => number !== undefined)
  const request = pick(known.slice(-8), actor.random)
  if (!request) return undefined
  const path = `${node.at}/pull-requests/${request.number}`
  const { answer } = await ask(actor, 'read a request', [200], () => actor.person().get(path))
  return answer?.body.pr.source_commit
}
