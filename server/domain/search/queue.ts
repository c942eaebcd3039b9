/** Limits the questions of one organisation that wait for the search thread: how many, and how long. */
import type { Deps } from '../../deps.ts'
import { Refusal } from '../../errors.ts'
import type { OrgAccess } from '../access.ts'

/** Questions of one organisation that wait in this process, those of the public leaving room for members, and how long they wait. */
const maxWaiting = { members: 64, public: 32 } as const
const waitTimeoutMs = 120_000

/** By organisation: the questions that wait or are answered. */
const waiting = new Map<string, number>()

/**
 * What `ask` finds; undefined from it means that there is no such organisation.
 *
 * @param label of the metric
 * @throws Refusal busy (too many questions, or the index takes long to make), org_not_found; what `ask` throws
 */
export async function inQueue<T>(
  deps: Deps,
  { org, role }: OrgAccess,
  label: string,
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const asked = waiting.get(org.id) ?? 0
  if (asked >= maxWaiting[role === null ? 'public' : 'members'])
    throw new Refusal('busy', 'Too many searches of this organisation wait; try again')
  waiting.set(org.id, asked + 1)
  const stop = deps.metrics.searchSeconds.startTimer({ expansion: label })
  const answer = ask().finally(() => {
    const left = (waiting.get(org.id) ?? 1) - 1
    if (left > 0) waiting.set(org.id, left)
    else waiting.delete(org.id)
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
