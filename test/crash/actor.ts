/** A client of a storm, and how it takes an answer. */

import type { Desk } from '../support/desk.ts'
import { Unanswered } from '../support/exchange.ts'
import type { Answer, Client } from '../support/people.ts'
import type { Address } from './pushing.ts'
import {
  countsOf,
  type OwnEntry,
  type OwnNode,
  type PushedBranch,
  type Request,
  type SharedNode,
  type World,
} from './world.ts'

export interface Actor {
  readonly world: World
  readonly random: () => number
  /** Somewhere where a process lives, if there is one. */
  readonly person: () => Client
  readonly anybody: () => Client
  /** Another person, who reviews, if the storm has one. */
  readonly reviewer: () => Client | undefined
  /** The comments and reviews that this client alone changes. */
  readonly entries: OwnEntry[]
  /** The requests that this client alone merges and closes. */
  readonly requests: { readonly node: SharedNode; readonly request: Request }[]
  readonly nodes: OwnNode[]
  /** The branches with rules that this client alone proposes to, by node. */
  readonly targets: Map<string, string>
  readonly branches: { readonly node: SharedNode; readonly branch: PushedBranch }[]
  /** Where git finds the node, and may push: its address, and what stands before the command. */
  readonly remote: (node: SharedNode) => Address
  /** Where this client has its clones, once it has any. */
  desk?: Promise<Desk>
  /** Whether an answer other than those expected means neither yes nor no; else it is a problem. */
  readonly tolerated: (answer: Answer) => boolean
  /** The codes of a 503 after which nothing has changed. */
  readonly refusals: readonly string[]
}

export function pick<T>(all: readonly T[], random: () => number): T | undefined {
  return all[Math.floor(random() * all.length)]
}

/** The answer if it has one of the statuses expected; else it is counted as busy (it was refused, and nothing was changed) or as unknown. */
export async function ask(
  { world, tolerated, refusals }: Actor,
  operation: string,
  expected: readonly number[],
  asking: () => Promise<Answer>,
): Promise<{ readonly answer?: Answer; readonly unknown: boolean }> {
  const counts = countsOf(world, operation)
  const answer = await asking().catch((error: unknown) => {
    if (error instanceof Unanswered) return undefined
    throw error
  })
  if (answer && expected.includes(answer.status)) {
    if (answer.status < 300) counts.acknowledged++
    return { answer, unknown: false }
  }
  if (answer?.status === 503 && refusals.includes(answer.body?.code)) {
    counts.busy++
    return { unknown: false }
  }
  if (answer && answer.body?.code !== 'outcome_unknown' && !tolerated(answer))
    world.problems.push(`${operation} was answered ${answer.status} ${JSON.stringify(answer.body)}`)
  counts.unknown++
  return { unknown: true }
}

/**
 * Asks, and asks again for half of the requests without an answer. If the second is refused, nothing is known of the first.
 *
 * @param repeating what may be expected of a second request. Default: the same
 */
export async function askTwice(
  actor: Actor,
  operation: string,
  expected: readonly number[],
  asking: () => Promise<Answer>,
  repeating = expected,
): ReturnType<typeof ask> {
  const first = await ask(actor, operation, expected, asking)
  if (!first.unknown || actor.random() >= 0.5) return first
  const { answer } = await ask(actor, `${operation} again`, repeating, asking)
  return answer ? { answer, unknown: false } : first
}
