/** Clients of a storm propose to branches with rules, report checks, apply, merge and override. */

import { randomUUID } from 'node:crypto'
import type { Client } from '../support/people.ts'
import { type Actor, ask, pick } from './actor.ts'
import { problem } from './problems.ts'
import { branchesOf, openRequest, openRequestOf } from './proposing.ts'
import { fetched, push } from './pushing.ts'
import { anyRequest, submit } from './talk.ts'
import type { Entry, Request, SharedNode, Span, StormRule, World } from './world.ts'

/** The name of the check that some rules demand. */
export const checkName = 'links'

const ruled = 'ruled-*'
const variants: readonly (readonly Omit<StormRule, 'branches'>[])[] = [
  [{ approvals: 1 }],
  [{ approvals: 1, keep: 'same_commit' }],
  [{ approvals: 1 }, { checks: [{ name: checkName }] }],
  [{ resolved: true }, { approvals: 1 }],
]

/** A list of rules that the organisation never had. */
export function newRules(world: World, variant: number): StormRule[] {
  const branches = [ruled, `version-${world.next()}`]
  return (variants[variant] ?? []).map((rule) => ({ branches, ...rule }))
}

/** By another list, while nobody else changes them. */
export async function changeRules(actor: Actor): Promise<void> {
  const { world, person, random } = actor
  const last = world.rules.at(-1)
  if (last?.ended === undefined) return
  const version: Span & { rules: StormRule[] } = {
    begun: performance.now(),
    rules: newRules(world, Math.floor(random() * variants.length)),
  }
  world.rules.push(version)
  const { answer, unknown } = await ask(actor, 'change rules', [200], () =>
    person().patch(`/orgs/${world.org}`, { rules: version.rules }),
  )
  if (answer) version.ended = performance.now()
  else if (!unknown) world.rules.pop()
}

/** Sources of requests into branches with rules that a client keeps. */
const ruledAtMost = 4

/** Each client has a branch with rules at each node. */
export async function proposeRuled(actor: Actor): Promise<void> {
  const { world, person, random, targets } = actor
  const node = pick(world.shared, random)
  if (!node || branchesOf(actor, (request) => request.target !== undefined) >= ruledAtMost) return
  const name = targets.get(node.id) ?? `ruled-${world.next()}`
  if (!targets.has(node.id)) {
    const { answer } = await ask(actor, 'branch with rules', [201], () =>
      person().post(`${node.at}/branches`, { name }),
    )
    if (!answer) return
    targets.set(node.id, name)
  }
  await openRequest(actor, node, name)
}

/** A request that a client acts on. */
interface One {
  readonly node: SharedNode
  readonly request: Request
}

const consentCodes = ['changes_requested', 'approvals_missing', 'checks_failed', 'checks_missing', 'threads_open']

export async function mergeRuled(actor: Actor): Promise<void> {
  const one = openRequestOf(actor, ({ target }) => target !== undefined)
  if (!one) return
  const { world, person, random } = actor
  const { node, request } = one
  await consentTo(actor, one)
  const at = `${node.at}/pull-requests/${request.number}`
  const overrides = random() < 0.15
  const body = overrides ? { override: { reason: `reason ${world.next()}` } } : {}
  const operation = overrides ? 'override rules' : 'merge under rules'
  const { answer } = await attempt(request, () =>
    ask(actor, operation, [200, 409], () => person().post(`${at}/merge`, body)),
  )
  if (answer?.status === 200) request.status = 'merged'
  if (answer?.status !== 409) return
  if (answer.body.code === 'diverged')
    await ask(actor, 'update branch', [200, 409], () => person().post(`${at}/update-branch`))
  else if (!consentCodes.includes(answer.body.code)) problem(world, `${operation} of ${at}`, answer)
}

/** Keeps the span of a merge, and that it may be merged without an answer. */
async function attempt<T extends { readonly unknown: boolean }>(request: Request, work: () => Promise<T>): Promise<T> {
  const span: Span = { begun: performance.now() }
  request.attempts?.push(span)
  request.unsure = 'merged'
  const result = await work()
  if (!result.unknown) {
    span.ended = performance.now()
    delete request.unsure
  }
  return result
}

/** Pushes the head of a request to its target. */
export async function pushRuled(actor: Actor): Promise<void> {
  const one = openRequestOf(actor, ({ target }) => target !== undefined)
  if (one) await consentTo(actor, one)
  const clone = one && (await fetched(actor, one.node, [one.request.name]))
  if (!one || !clone) return
  const { node, request } = one
  const head = (await clone.desk.done(`git -C ${clone.folder} rev-parse refs/from/${request.name}`)).trim()
  const { outcome } = await attempt(request, async () => {
    const pushed = await push(actor, 'push under rules', node, clone, head, `refs/heads/${request.target}`)
    return { ...pushed, unknown: pushed.outcome === 'unknown' }
  })
  if (outcome === 'done') request.status = 'merged'
}

const isOpenRuled = ({ status, unsure, target }: Request) => status === 'open' && !unsure && target !== undefined

/** By the other user mostly: reports of the opener do not count. */
export async function reportCheck(actor: Actor): Promise<void> {
  const { random, person } = actor
  const one = anyRequest(actor, isOpenRuled)
  const state = random() < 0.75 ? 'success' : pick(['failure', 'pending'], random)
  const by = random() < 0.75 ? (actor.reviewer() ?? person()) : person()
  if (one && state) await report(actor, one, state, by)
}

/** Reports about the head that is read before. */
async function report(actor: Actor, { node, request }: One, state: string, by: Client): Promise<void> {
  const at = `${node.at}/pull-requests/${request.number}`
  const read = await ask(actor, 'read a request', [200], () => by.get(at))
  if (!read.answer) return
  const body = { state, description: `report ${actor.world.next()}` }
  const path = `${node.at}/checks/${read.answer.body.pr.source_commit}/${checkName}`
  const { answer } = await ask(actor, 'report a check', [200, 404, 409], () => by.put(path, body))
  if (answer?.status === 200) node.reports.push(body.description)
}

/** The usual requirements of rules, so that some merges are allowed. */
async function consentTo(actor: Actor, one: One): Promise<void> {
  const { random } = actor
  const reviewer = actor.reviewer()
  if (!reviewer || random() < 0.2) return
  await report(actor, one, 'success', reviewer)
  if (random() < 0.8) await submit(actor, one, 'approve')
}

/** Suggests another text of the only line of a request, and applies it. */
export async function applySuggestion(actor: Actor): Promise<void> {
  const one = anyRequest(actor, isOpenRuled)
  if (!one) return
  const { world, person } = actor
  const { node, request, at } = one
  const read = await ask(actor, 'read a request', [200], () => person().get(at))
  if (!read.answer) return
  const head = read.answer.body.pr.source_commit
  const text = `suggestion ${world.next()}`
  const anchor = { commit: head, path: `${request.name}.txt`, first_line: 1, num_lines: 1 }
  const id = randomUUID()
  const body = { id, text, suggestion: `sung ${world.next()}`, anchor }
  const written = await ask(actor, 'suggest', [201, 409], () => person().post(`${at}/comments`, body))
  // Another client may have closed it, or moved its branch.
  if (written.answer?.status === 409 || (!written.answer && !written.unknown)) return
  const state = { text, isDeleted: false, isResolved: false, isWithdrawn: false }
  const number: number | undefined = written.answer?.body.entry
  const entry: Entry = { kind: 'comment', id, thread: undefined, number, state, isUnsure: !written.answer }
  request.entries.push(entry)
  if (number === undefined) return
  actor.entries.push({ node, request, entry })
  entry.asked = { ...state, isResolved: true }
  const { answer, unknown } = await ask(actor, 'apply a suggestion', [200, 409], () =>
    person().post(`${at}/suggestions`, { comments: [number], expected_source_commit: head }),
  )
  if (answer?.status === 200) {
    entry.state = entry.asked
    request.applied?.push(answer.body.commit_id)
  }
  if (!unknown) delete entry.asked
}
