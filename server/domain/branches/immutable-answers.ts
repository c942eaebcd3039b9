/** Answers about commits, which are the same for ever: kept, and frozen, so that their text may be kept with them. */
import { LRUCache } from 'lru-cache'
import type { Commit } from './commit-views.ts'

/**
 * Bytes of memory, of which an answer takes three times its characters once it has its text; measured: 40 KB for a page of
 * 50 commits, 16 KB of 20, 1.5 KB of one. Room for 200 pages of 50, or for 6,600 of one.
 */
const answers = new LRUCache<string, object>({ maxSize: 9 * 1024 * 1024, maxEntrySize: 768 * 1024 })

/** `key` names everything that the answer is worked out from. `sizeOf`: its characters, roughly. */
export async function immutableAnswer<T extends object>(
  key: string,
  sizeOf: (answer: T) => number,
  make: () => Promise<T>,
): Promise<T> {
  const kept = answers.get(key)
  if (kept) return kept as T // one key is only ever used for one kind of answer: it begins with the operation
  const answer = Object.freeze(await make())
  answers.set(key, answer, { size: 3 * sizeOf(answer) + 500 })
  return answer
}

/** Characters of commits as JSON. */
export function lengthOf(commits: readonly Commit[]): number {
  return commits.reduce((sum, { message, author, parent_commits }) => {
    return sum + 250 + message.length + author.length + 43 * parent_commits.length
  }, 0)
}
