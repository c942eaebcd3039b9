/** A cache of responses about commits, which never change, by what they depend on, each with its JSON once it was sent. */
import { LRUCache } from 'lru-cache'
import type { Commit } from './commit-views.ts'

/** A response that never changes. The HTTP layer keeps its serialised form here. */
export class ImmutableAnswer<Body extends object> {
  readonly body: Body
  /** Undefined until it is sent for the second time. */
  serialised: { readonly bytes: Buffer; readonly tag: string } | undefined
  wasSent = false

  constructor(body: Body) {
    this.body = body
  }
}

/**
 * Bytes of memory; a response takes three times its characters once its JSON is cached. Measured: 40 KB for a page of
 * 50 commits, 16 KB for 20, 1.5 KB for one. Room for 200 pages of 50, or 6,600 of one.
 */
const answers = new LRUCache<string, ImmutableAnswer<object>>({ maxSize: 9 * 1024 * 1024, maxEntrySize: 768 * 1024 })

/** `key` names the kind of the response and everything it depends on. `sizeOf`: its characters, approximately. */
export async function immutableAnswer<Body extends object>(
  key: string,
  sizeOf: (body: Body) => number,
  make: () => Promise<Body>,
): Promise<ImmutableAnswer<Body>> {
  const kept = answers.get(key)

  if (kept) return kept as ImmutableAnswer<Body> // a key begins with its operation, so it has one type of response
  const answer = new ImmutableAnswer(await make())
  answers.set(key, answer, { size: 3 * sizeOf(answer.body) + 500 })
  return answer
}

/** Characters of commits as JSON. */
export function lengthOf(commits: readonly Commit[]): number {
  return commits.reduce((sum, { message, author, parent_commits }) => {
    return sum + 250 + message.length + author.length + 43 * parent_commits.length
  }, 0)
}
