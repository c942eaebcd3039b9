/**
 * Limits a fetch to the objects that the client may see. Used if some refs are hidden from it. Upload-pack itself
 * serves more: in v2 any object by its id, in v0 over HTTP any tree and blob. It acknowledges every object and resolves
 * every ref. It treats the parents of every shallow commit as wanted.
 */

import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { GitError } from '../errors.ts'
import { killGroup, runGitOrThrow, spawnGit, toStartError } from '../native.ts'
import { noOid, type Oid, type Repo } from '../repo.ts'
import { branchRefs } from '../repo-folders.ts'
import { type Fetch, limitToVisible } from './fetch-request.ts'

const walkTimeoutMs = 60_000

/**
 * Removes from a request the objects that the client may not see. The client sees `refs`. A clone, which names only
 * tips, costs nothing. Other requests cost 3 ms per Git process, and the walks.
 *
 * @throws GitError not_offered: it wants a hidden or missing object, both in the same words; or deepen-not names no
 *   ref, or several
 * @throws GitError native_failed, also after a minute
 */
export async function judgeFetch(repo: Repo, refs: ReadonlyMap<string, Oid>, request: Fetch): Promise<Fetch> {
  const tips = [...new Set(refs.values())]
  const deepenNot = resolveDeepenNot(refs, request)
  const unreachable = await firstUnreachable(repo, tips, request.wants)
  if (unreachable !== undefined) throw new GitError('not_offered', `upload-pack: not our ref ${unreachable}`)
  const named = new Set([...request.haves, ...request.shallow])
  return limitToVisible(request, await reachableCommits(repo, tips, named), deepenNot)
}

/** Returns the request with full names of refs, for a client that sees all refs. @throws GitError not_offered */
export function withWholeNames(refs: ReadonlyMap<string, Oid>, request: Fetch): Fetch {
  return { ...request, deepenNot: resolveDeepenNot(refs, request) }
}

/** Resolves names like Git's expand_ref, but only among these refs. */
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

/**
 * Finds one of `oids`, objects of any type, that cannot be reached from `tips`.
 *
 * @throws GitError native_failed, also after a minute
 */
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

/**
 * Selects the `oids` that are tips, or commits reachable from a tip. @throws GitError native_failed, also after a
 * minute
 */
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

/** A commit, and the e-mail address of its author. */
interface Authored {
  readonly oid: Oid
  readonly email: string
}

/**
 * Lists the commits that `tips` reach and no ref does, with their authors.
 *
 * @throws GitError native_failed, also after a minute
 */
export async function newCommits(repo: Repo, tips: readonly Oid[]): Promise<Authored[]> {
  const args = ['rev-list', '--no-commit-header', '--format=%H %ae', '--stdin', '--not', '--all']
  const options = { input: textOf(tips), timeoutMs: walkTimeoutMs, priority: 'transfer' } as const
  const lines = (await runGitOrThrow(repo, args, options)).toString().split('\n').slice(0, -1)
  return lines.map((line) => ({ oid: line.slice(0, 40), email: line.slice(41) }))
}

/** A commit, its author, and the values of its `Co-authored-by` trailers. */
export interface CoAuthored extends Authored {
  readonly coAuthors: readonly string[]
}

/**
 * Yields the commits that `head` reaches and `target` does not. The Git process takes 20 µs for each.
 *
 * @throws GitError native_failed, also after a minute
 */
export async function* listCoAuthored(repo: Repo, target: Oid, head: Oid): AsyncGenerator<CoAuthored> {
  const format = '--format=%H %ae%x00%(trailers:key=Co-authored-by,valueonly,unfold,separator=%x00)'
  const tips = target === noOid ? [head] : [head, `^${target}`]
  for await (const line of walk(repo, ['--no-commit-header', format], tips)) {
    const [email = '', ...coAuthors] = line.slice(41).split('\0')
    yield { oid: line.slice(0, 40), email, coAuthors }
  }
}

/** Yields the lines of `git rev-list`. @throws GitError native_failed, also after a minute */
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
