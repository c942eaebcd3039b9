/** The authors of the commits that a pull request brings in. They cannot approve it. */
import { LRUCache } from 'lru-cache'
import { readCommit } from '../../../gitstore/objects/commits.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import type { NodeAccess } from '../access.ts'

type Node = Pick<NodeAccess, 'repo' | 'history'>

/** Sets by repository and commits, which never change. Each has about 100 bytes for each address. */
const known = new LRUCache<string, ReadonlySet<string>>({ maxSize: 100_000, sizeCalculation: ({ size }) => size + 1 })

/**
 * Reads the authors of the commits that `head` has and `target` lacks. Takes 20 µs for each commit, and no time if they
 * were read before. Call it before a lock, so that the set is known under it.
 *
 * @returns e-mail addresses in lower case
 *
 * @throws the errors of History and readCommit
 */
export async function readCommitAuthors({ repo, history }: Node, target: Oid, head: Oid): Promise<ReadonlySet<string>> {
  const key = `${repo.dir}:${target}:${head}`
  const found = known.get(key)
  if (found) return found
  const pace = createYielder()
  const emails = new Set<string>()
  for (const oid of await history.between(target, head)) {
    emails.add((await readCommit(repo, oid)).author.email.toLowerCase())
    if (pace.shouldYield(1)) await pace.yieldToEventLoop()
  }
  known.set(key, emails)
  return emails
}
