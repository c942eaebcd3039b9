/** Retrieval within one organisation. */
import type { SearchQuestion } from '../../../index/search/retrieve.ts'
import type { Deps } from '../../deps.ts'
import { Refusal } from '../../errors.ts'
import { orgFor } from '../access.ts'
import type { Actor } from '../actor.ts'
import type { OrgAt } from '../at.ts'
import { refuseLongQuery } from '../format/limits.ts'
import type { SearchAnswer } from './search-thread.ts'

/** Questions of one organisation that wait in this process, those of the public leaving room for members, and how long they wait. */
const maxWaiting = { members: 64, public: 32 } as const
const waitTimeoutMs = 120_000

/** By organisation: the questions that wait or are answered. */
const waiting = new Map<string, number>()

/** @throws Refusal as orgFor; busy (too many questions, or the index takes long to make); search_unavailable */
export async function retrieve(deps: Deps, actor: Actor, at: OrgAt, question: SearchQuestion): Promise<SearchAnswer> {
  const { orgId } = at
  const { role } = await orgFor(deps, actor, at, 'public')
  refuseLongQuery(question.query)
  const asked = waiting.get(orgId) ?? 0
  if (asked >= maxWaiting[role === null ? 'public' : 'members'])
    throw new Refusal('busy', 'Too many searches of this organisation wait; try again')
  waiting.set(orgId, asked + 1)
  const stop = deps.metrics.searchSeconds.startTimer({ expansion: question.expansion_depth })
  const answer = deps.search.ask(orgId, question).finally(() => {
    const left = (waiting.get(orgId) ?? 1) - 1
    if (left > 0) waiting.set(orgId, left)
    else waiting.delete(orgId)
  })
  const found = await withinTime(answer).finally(stop)
  if (found === undefined) throw new Refusal('org_not_found', 'The organisation was deleted meanwhile')
  return found
}

/** The thread goes on with what takes longer, for the next question. @throws Refusal busy */
async function withinTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const clock = new Promise<never>((_, reject) => {
    const late = new Refusal('busy', 'The search index of this organisation is being made; try again')
    timer = setTimeout(() => reject(late), waitTimeoutMs)
  })
  try {
    return await Promise.race([answer, clock])
  } finally {
    clearTimeout(timer)
  }
}
