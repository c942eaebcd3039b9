/** Commenters and reviewers of a storm act, and record their answers. */

import { randomUUID } from 'node:crypto'
import type { Client } from '../support/people.ts'
import { type Actor, ask, askTwice, pick } from './actor.ts'
import { problem } from './problems.ts'
import type { Entry, EntryState, OwnEntry, Request, SharedNode } from './world.ts'

/** A request of which an answer has told the number, whoever opened it. @param isWanted default: however it ended */
export function anyRequest({ world, random }: Actor, isWanted: (request: Request) => boolean = () => true) {
  const node = pick(world.shared, random)
  const known = node?.requests.filter((one) => one.number !== undefined && isWanted(one)) ?? []
  const request = pick(known.slice(-8), random)
  return node && request && { node, request, at: `${node.at}/pull-requests/${request.number}` }
}

/** Half of those that end without an answer are sent again, which must not double them. */
export async function comment(actor: Actor): Promise<void> {
  const one = anyRequest(actor)
  if (!one) return
  const { world, random, person } = actor
  const { node, request, at } = one
  const firsts = request.entries.filter(({ kind, thread, number }) => kind === 'comment' && !thread && number)
  const thread = random() < 0.5 ? pick(firsts, random)?.number : undefined
  const id = randomUUID()
  const body = { id, text: `comment ${world.next()}`, ...(thread !== undefined && { thread }) }
  const post = () => person().post(`${at}/comments`, body)
  const { answer, unknown } = await askTwice(actor, 'comment', [201], post, [201, 409])
  if (!answer && !unknown) return
  const state: EntryState = { text: body.text, isDeleted: false, isResolved: false, isWithdrawn: false }
  const entry: Entry = { kind: 'comment', id, thread, number: answer?.body.entry, state, isUnsure: !answer }
  if (answer?.status === 201 && (answer.body.id !== id || answer.body.text !== body.text))
    problem(world, `a comment of ${at} was answered with another`, answer)
  request.entries.push(entry)
  if (answer) actor.entries.push({ node, request, entry })
}

function ownEntry({ entries, random }: Actor, kind: Entry['kind']): OwnEntry | undefined {
  return pick(
    entries.slice(-12).filter(({ entry }) => entry.kind === kind && entry.asked === undefined && !entry.isUnsure),
    random,
  )
}

/** Changes an entry, and records what its answer means. */
async function change(
  actor: Actor,
  own: OwnEntry,
  operation: string,
  to: Partial<EntryState>,
  send: () => ReturnType<Client['get']>,
) {
  const { entry } = own
  entry.asked = { ...entry.state, ...to }
  const { answer, unknown } = await ask(actor, operation, [200, 204, 409], send)
  if (answer && answer.status < 300) entry.state = entry.asked
  if (!unknown) delete entry.asked
}

const pathOf = ({ node, request, entry }: OwnEntry, list: string) =>
  `${node.at}/pull-requests/${request.number}/${list}/${entry.number}`

export async function editComment(actor: Actor): Promise<void> {
  const own = ownEntry(actor, 'comment')
  if (!own || own.entry.state.isDeleted) return
  const text = `edited ${actor.world.next()}`
  await change(actor, own, 'edit a comment', { text }, () => actor.person().patch(pathOf(own, 'comments'), { text }))
}

export async function deleteComment(actor: Actor): Promise<void> {
  const own = ownEntry(actor, 'comment')
  if (!own) return
  const to = { text: '', isDeleted: true }
  await change(actor, own, 'delete a comment', to, () => actor.person().delete(pathOf(own, 'comments')))
}

export async function resolve(actor: Actor): Promise<void> {
  const own = ownEntry(actor, 'comment')
  if (!own || own.entry.thread !== undefined) return
  const resolved = actor.random() < 0.7
  await change(actor, own, 'resolve a thread', { isResolved: resolved }, () =>
    actor.person().patch(pathOf(own, 'threads'), { resolved }),
  )
}

/** A verdict of the other person, on the head that it has read, with a comment or without. */
export async function review(actor: Actor): Promise<void> {
  const one = anyRequest(actor, ({ status, unsure }) => status === 'open' && unsure === undefined)
  const verdict = pick(['approve', 'request_changes', 'comment'], actor.random)
  if (one && verdict) await submit(actor, one, verdict)
}

/** The verdict of the other user, if the storm has one. */
export async function submit(
  actor: Actor,
  { node, request }: { readonly node: SharedNode; readonly request: Request },
  verdict: string,
): Promise<void> {
  const reviewer = actor.reviewer()
  if (!reviewer) return
  const { world, random } = actor
  const at = `${node.at}/pull-requests/${request.number}`
  const read = await ask(actor, 'read a request', [200], () => reviewer.get(at))
  if (!read.answer) return
  const text = `review ${world.next()}`
  const comments = random() < 0.5 ? [{ text: `of ${text}` }] : []
  const body = { verdict, text, comments, expected_source_commit: read.answer.body.pr.source_commit }
  const { answer, unknown } = await ask(actor, 'review', [201, 409], () => reviewer.post(`${at}/reviews`, body))
  if (answer?.status === 409 || (!answer && !unknown)) return
  const state: EntryState = { text, isDeleted: false, isResolved: false, isWithdrawn: false }
  const isUnsure = answer === undefined
  const { id, entry: number } = answer?.body ?? {}
  const entry: Entry = { kind: 'verdict', id, thread: undefined, number, state, isUnsure, comments: comments.length }
  request.entries.push(entry)
  if (answer) actor.entries.push({ node, request, entry })
}

export async function withdraw(actor: Actor): Promise<void> {
  const own = ownEntry(actor, 'verdict')
  const reviewer = actor.reviewer()
  if (!own || !reviewer) return
  await change(actor, own, 'withdraw a review', { isWithdrawn: true }, () =>
    reviewer.patch(pathOf(own, 'reviews'), { state: 'withdrawn' }),
  )
}
