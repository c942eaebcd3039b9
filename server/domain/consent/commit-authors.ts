/** The users who made the commits that a pull request brings in. They cannot approve it. */
import { createCache } from '../../../gitstore/caching/caches.ts'
import { readCommit, readMessage } from '../../../gitstore/objects/commits.ts'
import { findEntry } from '../../../gitstore/objects/trees.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { type CoAuthored, listCoAuthored } from '../../../gitstore/transfer/reachability.ts'
import { createYielder } from '../../../gitstore/yielder.ts'
import type { NodeAccess } from '../access.ts'
import { comparableEmail } from '../format/hidden-emails.ts'
import { pushedFolder } from '../format/paths.ts'
import { coAuthorsOf, emailOfCoAuthor } from '../format/trailers.ts'
import { openPushers } from '../ledger/ledger.ts'
import { leavable } from './same-change.ts'

type Node = Pick<NodeAccess, 'repo' | 'history'>

/**
 * The authors of commits, and the users who pushed commits by others. Git believes any author. Applying a suggestion
 * names its author as co-author.
 */
export interface CommitMakers {
  /** E-mail addresses of authors and co-authors, as `comparableEmail` returns them. */
  readonly emails: ReadonlySet<string>
  /** Ids of users. */
  readonly pushers: ReadonlySet<string>
}

export const noMakers: CommitMakers = { emails: new Set(), pushers: new Set() }

/** Sets by repository, commits and records of pushes, which never change. */
const known = createCache<CommitMakers>('commit_makers', {
  sizeCalculation: ({ emails, pushers }) => emails.size + pushers.size + 1,
})

/** Sets that are being read, for all who wait for them. */
const reading = new Map<string, Promise<CommitMakers>>()

/**
 * Reads the authors and pushers of the commits that `head` has and `target` lacks. Takes 20 µs for each commit, and no
 * time if they were read before. Continues after the signal, because other callers may wait for it. Call it before a
 * lock, so that the set is known under it.
 *
 * @param ledger the ledger commit that says who pushed
 *
 * @throws the signal's reason, and the errors of History, readCommit and listCoAuthored
 */
export async function readCommitMakers(
  node: Node,
  ledger: Oid,
  { target, head }: Range,
  signal?: AbortSignal,
): Promise<CommitMakers> {
  signal?.throwIfAborted()
  const { repo } = node
  const { tree } = await readCommit(repo, ledger)
  const pushed = await findEntry(repo, tree, pushedFolder)
  const key = `${repo.dir}:${target}:${head}:${pushed?.oid}`
  const found = known.get(key)
  if (found) return found
  const work = reading.get(key) ?? readMakers(node, tree, { target, head }, key).finally(() => reading.delete(key))
  reading.set(key, work)
  return leavable(work, signal)
}

interface Range {
  readonly target: Oid
  readonly head: Oid
}

async function readMakers(node: Node, tree: Oid, range: Range, key: string): Promise<CommitMakers> {
  const pace = createYielder()
  const emails = new Set<string>()
  const pushers = new Set<string>()
  const findPushers = openPushers(node.repo, tree)
  for await (const { oid, email, coAuthors } of authorsOf(node, range)) {
    emails.add(comparableEmail(email))
    for (const one of coAuthors) emails.add(comparableEmail(emailOfCoAuthor(one) ?? email))
    for (const id of await findPushers(oid)) pushers.add(id)
    if (pace.shouldYield(1)) await pace.yieldToEventLoop()
  }
  known.set(key, { emails, pushers })
  return { emails, pushers }
}

/** The most commits that are read here. Each takes 200 µs if it is in a large pack, and a Git process takes 5 ms. */
const mostReadHere = 500

async function* authorsOf({ repo, history }: Node, { target, head }: Range): AsyncGenerator<CoAuthored> {
  const commits = await history.between(target, head)
  if (commits.length > mostReadHere) yield* listCoAuthored(repo, target, head)
  else
    for (const oid of commits) {
      const { email } = (await readCommit(repo, oid)).author
      yield { oid, email, coAuthors: coAuthorsOf(await readMessage(repo, oid)) }
    }
}
