/**
 * Questions about a commit's history, answered in `git log`'s order by walking it once for each head and remembering the
 * answer. The functions are the interface: a persistent history index will stand behind them, so that no answer walks.
 */

import { LRUCache } from 'lru-cache'
import { readCommit } from './commits.ts'
import { GitError } from './errors.ts'
import { runGit, runGitOrThrow } from './native.ts'
import { isOid, type Oid, type Repo } from './repo.ts'

/** Logs by folder and head; 2,000,000 ids in all, 16 MB and as much again for the ids. */
const logs = new LRUCache<string, readonly Oid[]>({ maxSize: 2_000_000, sizeCalculation: (log) => log.length })
const walks = new Map<string, Promise<readonly Oid[]>>()
const divergences = new LRUCache<string, Divergence>({ max: 100_000 })
const mergeBases = new LRUCache<string, { readonly oid: Oid | undefined }>({ max: 100_000 })

/** Commits read one by one (0.1 ms loose, 1 ms packed) before git is asked for the rest (5 ms, then 5 µs each). */
const walkAtMost = 50

export interface Divergence {
  /** Commits that only head has. */
  readonly ahead: number
  /** Commits that only base has. */
  readonly behind: number
}

/**
 * All commits reachable from `head`, in exactly the order of `git log head`.
 *
 * @throws GitError object_missing, object_damaged, repo_missing
 */
export async function logOf(repo: Repo, head: Oid): Promise<readonly Oid[]> {
  const key = `${repo.dir}:${head}`
  const known = logs.get(key)
  if (known) return known
  if (repo.pending?.has(head)) return walkLog(repo, head)
  let walk = walks.get(key)
  if (!walk) {
    walk = walkLog({ dir: repo.dir }, head).finally(() => walks.delete(key))
    walks.set(key, walk)
  }
  const log = await walk
  logs.set(key, log)
  return log
}

/** Whether `oid` is `head` or one of its ancestors. @throws as logOf, for `head` */
export async function containsCommit(repo: Repo, head: Oid, oid: Oid): Promise<boolean> {
  return head === oid || (await logOf(repo, head)).includes(oid)
}

/** Whether `ancestor` is `head` or one of its ancestors. @throws as logOf, for `head` */
export function isAncestor(repo: Repo, ancestor: Oid, head: Oid): Promise<boolean> {
  return containsCommit(repo, head, ancestor)
}

/** How far two commits have grown apart, as sets; `git rev-list --count` is wrong under clock skew. @throws as logOf */
export async function divergence(repo: Repo, base: Oid, head: Oid): Promise<Divergence> {
  if (base === head) return { ahead: 0, behind: 0 }
  const key = `${repo.dir}:${base}:${head}`
  const known = divergences.get(key)
  if (known) return known
  const [ours, theirs] = withoutCommonEnd(await logOf(repo, head), await logOf(repo, base))
  const both = new Set(theirs)
  const shared = ours.filter((oid) => both.has(oid)).length
  const answer = { ahead: ours.length - shared, behind: theirs.length - shared }
  if (!repo.pending?.has(base) && !repo.pending?.has(head)) divergences.set(key, answer)
  return answer
}

/** What `head` has and `base` lacks, in the order of head's log, newest first. @throws as logOf */
export async function commitsBetween(repo: Repo, base: Oid, head: Oid): Promise<Oid[]> {
  const [ours, theirs] = withoutCommonEnd(await logOf(repo, head), await logOf(repo, base))
  const known = new Set(theirs)
  return ours.filter((oid) => !known.has(oid))
}

/**
 * The best common ancestor, the first of several; undefined if the histories have nothing in common. Neither may be pending
 * in a draft, unless one contains the other.
 *
 * @throws GitError as logOf, native_failed
 */
export async function mergeBase(repo: Repo, a: Oid, b: Oid): Promise<Oid | undefined> {
  if (await containsCommit(repo, a, b)) return b
  if (await containsCommit(repo, b, a)) return a
  const key = `${repo.dir}:${a}:${b}`
  const known = mergeBases.get(key)
  if (known) return known.oid
  const { code, stdout, stderr } = await runGit(repo, ['merge-base', '--end-of-options', a, b])
  const oid = stdout.toString('latin1').trim()
  if (code > 1 || (code === 0 && !isOid(oid))) throw new GitError('native_failed', 'git merge-base failed', { stderr })
  const answer = { oid: code === 0 ? oid : undefined }
  mergeBases.set(key, answer)
  return answer.oid
}

/** Both logs without what they have in common at their ends, nearly always everything since they parted. */
function withoutCommonEnd(a: readonly Oid[], b: readonly Oid[]): [readonly Oid[], readonly Oid[]] {
  let common = 0
  while (common < Math.min(a.length, b.length) && a.at(-1 - common) === b.at(-1 - common)) common++
  return [a.slice(0, a.length - common), b.slice(0, b.length - common)]
}

/** log(c) = [c] + log(p) wherever c has one parent, whatever the clocks: only a merge needs git's queue. */
async function walkLog(repo: Repo, head: Oid): Promise<readonly Oid[]> {
  const line: Oid[] = []
  for (let oid = head; ; ) {
    const known = logs.get(`${repo.dir}:${oid}`)
    if (known) return line.concat(known)
    if (line.length >= walkAtMost && !repo.pending?.has(oid)) return line.concat(await nativeLog(repo, oid))
    const { parents } = await readCommit(repo, oid)
    const [parent] = parents
    if (parents.length > 1) return line.concat(await queueLog(repo, oid))
    line.push(oid)
    if (parent === undefined) return line
    oid = parent
  }
}

/**
 * Git's own walk: a list by committer date, newest first, equal dates in the order they came.
 * Source: get_revision_1 (revision.c), commit_list_insert_by_date (commit.c).
 */
async function queueLog(repo: Repo, head: Oid): Promise<readonly Oid[]> {
  const shown: Oid[] = []
  const seen = new Set([head])
  /** The next one last. */
  const queue = [await readCommit(repo, head)]
  for (let commit = queue.pop(); commit; commit = queue.pop()) {
    // Alone in the queue, a commit whose log shows nothing twice goes on as that log.
    const rest = queue.length === 0 ? logs.get(`${repo.dir}:${commit.oid}`) : undefined
    if (rest?.every((oid) => oid === rest[0] || !seen.has(oid))) return shown.concat(rest)
    if (shown.length >= walkAtMost && !repo.pending?.has(head)) return nativeLog(repo, head)
    shown.push(commit.oid)
    for (const oid of commit.parents) {
      if (seen.has(oid)) continue
      seen.add(oid)
      const parent = await readCommit(repo, oid)
      queue.splice(firstNotOlder(queue, parent.committer.timestamp), 0, parent)
    }
  }
  return shown
}

function firstNotOlder(queue: readonly { committer: { timestamp: number } }[], timestamp: number): number {
  let low = 0
  let high = queue.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((queue[middle]?.committer.timestamp ?? 0) < timestamp) low = middle + 1
    else high = middle
  }
  return low
}

/** The same order from git itself, which reads packs and commit-graphs faster. */
async function nativeLog(repo: Repo, head: Oid): Promise<readonly Oid[]> {
  const text = (await runGitOrThrow(repo, ['rev-list', '--end-of-options', head])).toString('latin1')
  return text.split('\n').slice(0, -1)
}
