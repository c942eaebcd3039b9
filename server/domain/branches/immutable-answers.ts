/** A cache of responses about commits, which never change. They are frozen, so that their JSON can be cached with them. */
import { LRUCache } from 'lru-cache'
import type { Commit } from './commit-views.ts'

/**
 * Bytes of memory; a response takes three times its characters once its JSON is cached. Measured: 40 KB for a page of
 * 50 commits, 16 KB for 20, 1.5 KB for one. Room for 200 pages of 50, or 6,600 of one.
 */
const answers = new LRUCache<string, object>({ maxSize: 9 * 1024 * 1024, maxEntrySize: 768 * 1024 })

/** `key` names everything the response depends on. `sizeOf`: its characters, approximately. */
export async function immutableAnswer<T extends object>(
  key: string,
  sizeOf: (answer: T) => number,
  make: () => Promise<T>,
): Promise<T> {
  const kept = answers.get(key)
  if (kept) return kept as T // a key begins with its operation, so it has one type of response
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
