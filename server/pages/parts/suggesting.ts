/** Reads the text that suggestions of a proposal replace, and decides which can be applied. */

import { newEffort } from '../text/word-diff.ts'
import { readQuotes } from './quotes.ts'
import { mayUpdate } from './rights.ts'
import type { Comment, Conversing, Suggesting, Thread } from './talk.ts'

/** Pages of threads that a conversation reads, and threads on each. */
const most = { pages: 5, threads: 200 } as const
/** Limits of a text that is compared. */
const whole = { files: 20, lines: 500, characters: 65_536 } as const

export function noSuggestions(): Suggesting {
  return { replaced: new Map(), outdated: new Set(), effort: newEffort() }
}

type Reading = Pick<Conversing, 'visit' | 'at' | 'pr' | 'suggesting'>

/** Reads what the suggestions of these threads replace. */
export async function readReplaced({ visit, at, suggesting }: Reading, threads: readonly Thread[]): Promise<void> {
  const some = threads.filter(({ comments }) => comments.some(isSuggestion))
  await addReplaced(
    { visit, at, suggesting },
    some.flatMap(({ comments }) => comments[0] ?? []),
  )
  addOutdated(suggesting, some)
}

/** Does the same for comments of a page of the conversation. */
export async function readReplacedOf(
  { visit, at, pr, suggesting }: Reading,
  comments: readonly Comment[],
): Promise<void> {
  const wanted = new Set(comments.filter(isSuggestion).map(({ thread }) => thread))
  if (wanted.size === 0) return
  const path = { ...at.path, number: pr.number }
  const firsts: Comment[] = []
  for (let page = 0; page < most.pages && firsts.length < wanted.size; page++) {
    const query = { state: 'all', limit: most.threads, offset: page * most.threads } as const
    const { threads } = await visit.api.listThreads({ path, query })
    const some = threads.filter(({ thread }) => wanted.has(thread))
    firsts.push(...some.flatMap(({ comments: [first] }) => first ?? []))
    addOutdated(suggesting, some)
    if (threads.length < most.threads) break
  }
  await addReplaced({ visit, at, suggesting }, firsts)
}

async function addReplaced({ visit, at, suggesting }: Omit<Reading, 'pr'>, firsts: readonly Comment[]): Promise<void> {
  for (const [entry, text] of await readQuotes(visit.api, at.path, firsts, whole)) suggesting.replaced.set(entry, text)
}

function addOutdated({ outdated }: Suggesting, threads: readonly Thread[]): void {
  for (const { thread, is_outdated, comments } of threads)
    if (is_outdated || comments[0]?.deleted_at !== undefined) outdated.add(thread)
}

function isSuggestion({ suggestion }: Comment): boolean {
  return suggestion !== undefined
}

/** True if the visitor may apply suggestions. */
export function mayApply({ at, pr }: Conversing): boolean {
  if (pr.status !== 'open' || pr.merge_reasons.includes('source_branch_missing')) return false
  return mayUpdate(pr, at.org)
}

/** True if the suggestion of the comment can be applied now. */
export function isOpen({ pr, suggesting }: Conversing, { suggestion, applied_at, thread }: Comment): boolean {
  const canChange = pr.status === 'open' && applied_at === undefined
  return suggestion !== undefined && canChange && !suggesting.outdated.has(thread)
}
