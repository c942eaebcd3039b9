/**
 * Limits a fetch to the objects that the client may see, where some refs are hidden from it. Upload-pack itself serves more: in
 * v2 any object by its id, in v0 over HTTP any tree and blob. It acknowledges every object, resolves every ref, and treats the
 * parents of every shallow commit as wanted.
 */

import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { GitError } from '../errors.ts'
import { killGroup, runGitOrThrow, spawnGit, toStartError } from '../native.ts'
import type { Oid, Repo } from '../repo.ts'
import { branchRefs } from '../repo-folders.ts'
import { type Fetch, limitToVisible } from './fetch-request.ts'

const walkTimeoutMs = 60_000

/**
 * The request of a client that sees `refs`, without the objects that it may not see.
 * A clone, which names tips only, costs nothing; other requests cost 3 ms a git process, and the walks.
 *
 * @throws GitError not_offered: it wants an object that it may not see or that does not exist, in the same words; deepen-not
 *   names no ref, or several; native_failed, also after a minute
 */
export async function judgeFetch(repo: Repo, refs: ReadonlyMap<string, Oid>, request: Fetch): Promise<Fetch> {
  const tips = [...new Set(refs.values())]
  const deepenNot = resolveDeepenNot(refs, request)
  const unreachable = await firstUnreachable(repo, tips, request.wants)
  if (unreachable !== undefined) throw new GitError('not_offered', `upload-pack: not our ref ${unreachable}`)
  const named = new Set([...request.haves, ...request.shallow])
  return limitToVisible(request, await reachableCommits(repo, tips, named), deepenNot)
}

/** The request with the full names of refs, of a client from which nothing is hidden. @throws GitError not_offered */
export function withWholeNames(refs: ReadonlyMap<string, Oid>, request: Fetch): Fetch {
  return { ...request, deepenNot: resolveDeepenNot(refs, request) }
}

/** As git's expand_ref, among these refs only. */
function resolveDeepenNot(refs: ReadonlyMap<string, Oid>, { deepenNot }: Fetch): Set<string> {
  const resolved = [...deepenNot].map((name) => {
    const found = ['', 'refs/', 'refs/tags/', branchRefs].map((place) => place + name).filter((ref) => refs.has(ref))
    const [ref] = found
    if (ref === undefined || found.length > 1)
      throw new GitError('not_offered', `deepen-not names no ref, or several: ${JSON.stringify(name.slice(0, 100))}`)
    return ref
  })
  return new Set(resolved)
}

/** One of `oids`, objects of any type, that cannot be reached from `tips`. @throws GitError native_failed, also after a minute */
async function firstUnreachable(repo: Repo, tips: readonly Oid[], oids: ReadonlySet<Oid>): Promise<Oid | undefined> {
  const missing = new Set(oids)
  for (const tip of tips) missing.delete(tip)
  if (missing.size === 0 || tips.length === 0) return firstOf(missing)
  for await (const oid of walk(repo, ['--objects', '--no-object-names'], tips)) {
    if (missing.delete(oid) && missing.size === 0) return undefined
  }
  return firstOf(missing)
}

function firstOf(oids: ReadonlySet<Oid>): Oid | undefined {
  const [first] = oids
  return first
}

/** Those of `oids` that are tips, or commits reachable from one. @throws GitError native_failed, also after a minute */
async function reachableCommits(repo: Repo, tips: readonly Oid[], oids: ReadonlySet<Oid>): Promise<Set<Oid>> {
  const reachable = new Set(tips.filter((tip) => oids.has(tip)))
  const rest = [...oids].filter((oid) => !reachable.has(oid))
  if (rest.length === 0 || tips.length === 0) return reachable
  const types = await runGitOrThrow(repo, ['cat-file', '--batch-check=%(objecttype) %(objectname)'], {
    input: textOf(rest),
    timeoutMs: walkTimeoutMs,
    priority: 'transfer',
  })
  const commits = [...types.toString('latin1').matchAll(/^commit ([0-9a-f]{40})$/gm)].flatMap(([, oid]) => oid ?? [])
  if (commits.length === 0) return reachable
  const hidden = new Set<Oid>()
  const asked = new Set(commits)
  for await (const oid of walk(repo, [], [...commits, ...tips.map((tip) => `^${tip}`)]))
    if (asked.has(oid)) hidden.add(oid)
  for (const oid of commits) if (!hidden.has(oid)) reachable.add(oid)
  return reachable
}

/** What `git rev-list` lists. @throws GitError native_failed, also after a minute */
async function* walk(repo: Repo, options: readonly string[], revisions: readonly string[]): AsyncGenerator<Oid> {
  const child = spawnGit(repo, ['rev-list', ...options, '--stdin'], { priority: 'transfer', timeoutMs: walkTimeoutMs })
  const closed = once(child, 'close').catch((cause: unknown) => {
    throw toStartError(cause)
  })
  closed.catch(() => undefined)
  child.stdin.end(textOf(revisions))
  child.stderr.resume()
  try {
    yield* createInterface({ input: child.stdout })
    const [code] = await closed
    if (code !== 0) throw new GitError('native_failed', 'git rev-list failed', { code })
  } finally {
    killGroup(child)
  }
}

function textOf(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(''))
}
