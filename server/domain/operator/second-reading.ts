/** Compares what isomorphic-git and gitstore/ read of the same repositories. */

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isGitError } from '../../../gitstore/errors.ts'
import { lexists } from '../../../gitstore/fs-exists.ts'
import { readCommit, readMessage } from '../../../gitstore/objects/commits.ts'
import { readObject } from '../../../gitstore/objects/objects.ts'
import { encodeName } from '../../../gitstore/objects/tree-names.ts'
import { readTree } from '../../../gitstore/objects/trees.ts'
import { listRefs } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { StoredRepository } from '../indexing/stored-repositories.ts'
import { drawShare } from './bounds.ts'
import { damageFinding, type Finding } from './repository-findings.ts'
import { contentFacts, messageFact, openSecondReader, personFact, type Reading, unreadable } from './second-reader.ts'

export interface SecondReading {
  /** Repositories and objects that both readers have read. */
  readonly repositories: number
  readonly objects: number
  readonly findings: readonly Finding[]
}

/** Objects that are read of a repository, beginning at its refs. */
const maxObjects = 100_000
/** Differences that are named for a repository. */
const maxNamed = 20
/** Milliseconds in which refs that move, and packs that are replaced, settle. */
const recheckDelayMs = 1_000

/**
 * Reads a share of the repositories with both readers: every ref, commit, tree and file. A difference is a fault if it
 * is found twice.
 *
 * @param percent the share of the repositories, which are drawn at random
 * @throws system errors; the signal's reason
 */
export async function readTwice(
  root: string,
  stored: readonly StoredRepository[],
  percent: number,
  signal: AbortSignal,
  onProgress: (done: number, total: number) => void,
): Promise<SecondReading> {
  const drawn = drawShare(stored, percent)
  const seen = new Map<StoredRepository, Comparison>()
  for (const one of drawn) {
    seen.set(one, await compare({ dir: join(root, one.path) }, signal))
    onProgress(seen.size, drawn.length)
  }
  const doubtful = [...seen].filter(([, { differences }]) => differences.length > 0)
  if (doubtful.length > 0) await sleep(recheckDelayMs)
  for (const [one, before] of doubtful) {
    const again = await compare({ dir: join(root, one.path) }, signal)
    const differences = again.differences.filter((difference) => before.differences.includes(difference))
    seen.set(one, { ...again, differences })
  }
  const objects = [...seen.values()].map((one) => one.objects)
  return {
    repositories: objects.filter((count) => count > 0).length,
    objects: objects.reduce((sum, count) => sum + count, 0),
    findings: [...seen].flatMap(([{ path }, found]) => findingsOf(path, lexists(join(root, path)) ? found : undefined)),
  }
}

/** @param found undefined for a repository that was deleted after the listing */
function findingsOf(path: string, found: Comparison | undefined): Finding[] {
  return [
    ...(found?.differences.slice(0, maxNamed) ?? []).map((reason) => damageFinding('repository', path, reason)),
    ...(found?.notes ?? []).map((reason): Finding => ({ kind: 'note', subject: 'repository', path, reason })),
  ]
}

interface Comparison {
  readonly objects: number
  readonly differences: readonly string[]
  readonly notes: readonly string[]
}

/** Reads refs and objects with both. Trusts neither: an object is read if either of them names it. */
async function compare(repo: Repo, signal: AbortSignal): Promise<Comparison> {
  const reason = await unreadable(repo.dir)
  if (reason !== undefined) return { objects: 0, differences: [], notes: [`was not read a second time: ${reason}`] }
  const second = openSecondReader(repo.dir)
  const differences: string[] = []
  const [ours, theirs] = await Promise.all([
    attempt(async () => listRefs(repo, 'refs/', 'afresh')),
    attempt(() => second.readRefs()),
  ])
  if (typeof ours === 'string' || typeof theirs === 'string')
    return { objects: 0, differences: unequal('refs', ours, theirs), notes: [] }
  for (const ref of new Set([...ours.keys(), ...theirs.keys()]))
    if (ours.get(ref) !== theirs.get(ref)) differences.push(difference(ref, 'id', ours.get(ref), theirs.get(ref)))

  const oids = new Set([...ours.values(), ...theirs.values()])
  const [large, refused]: [Oid[], string[]] = [[], []]
  let objects = 0
  // A set also visits what is added during the loop.
  for (const oid of oids) {
    signal.throwIfAborted()
    if (objects === maxObjects) break
    const one = await attempt(() => readOurs(repo, oid))
    if (one === undefined) large.push(oid)
    else {
      const other = await attempt(() => second.read(oid))
      objects++
      if (typeof other === 'object' && other.refusal !== undefined) refused.push(`${oid} (${other.refusal})`)
      else if (typeof one === 'string' || typeof other === 'string') differences.push(...unequal(oid, one, other))
      else differences.push(...unlike(oid, one, other))
      for (const link of typeof one === 'object' ? one.links : []) oids.add(link)
      for (const link of typeof other === 'object' ? other.links : []) oids.add(link)
    }
  }
  return { objects, differences, notes: notesOf(large, refused, oids.size - objects - large.length) }
}

/** Returns the result, or why there is none. */
async function attempt<T>(work: () => Promise<T>): Promise<T | string> {
  return work().catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
}

/** Reads as the service reads. Undefined for an object that the service refuses for its size. */
async function readOurs(repo: Repo, oid: Oid): Promise<Reading | undefined> {
  try {
    const { type, content } = await readObject(repo, oid)
    if (type === 'blob') return { type, facts: contentFacts(content), links: [] }
    if (type === 'tag') {
      const [, object = '', kind = ''] = /^object ([0-9a-f]{40})\ntype (\w+)\n/.exec(content.toString('latin1')) ?? []
      return { type, facts: { object, type: kind }, links: [object] }
    }
    if (type === 'commit') {
      const { tree, parents, author, committer } = await readCommit(repo, oid)
      const message = messageFact(await readMessage(repo, oid))
      const facts = { author: personFact(author), committer: personFact(committer), message }
      return { type, facts: { tree, parents: parents.join(' '), ...facts }, links: [tree, ...parents] }
    }
    const entries = await readTree(repo, oid)
    const facts = entries.map((one) => [`entry ${encodeName(one.name).toString('utf8')}`, `${one.mode} ${one.oid}`])
    return {
      type,
      facts: Object.fromEntries(facts),
      links: entries.flatMap((entry) => (entry.mode === '160000' ? [] : [entry.oid])),
    }
  } catch (error) {
    if (isGitError(error, 'limit_exceeded')) return undefined
    throw error
  }
}

/** Lists where two readings differ. Skips the fields of a commit that isomorphic-git leaves out. */
function unlike(oid: Oid, ours: Reading, theirs: Reading): string[] {
  if (ours.type !== theirs.type) return [difference(oid, 'type', ours.type, theirs.type)]
  const names = new Set([...Object.keys(theirs.facts), ...(ours.type === 'commit' ? [] : Object.keys(ours.facts))])
  return [...names]
    .filter((name) => ours.facts[name] !== theirs.facts[name])
    .map((name) => difference(`${ours.type} ${oid}`, name, ours.facts[name], theirs.facts[name]))
}

function unequal(name: string, ours: unknown, theirs: unknown): string[] {
  const outcome = (one: unknown) => (typeof one === 'string' ? `fails (${one})` : 'succeeds')
  return [`${name}: reading ${outcome(ours)}, but with isomorphic-git it ${outcome(theirs)}`]
}

function difference(name: string, part: string, ours: string | undefined, theirs: string | undefined): string {
  const shown = (value: string | undefined) => (value === undefined ? 'missing' : JSON.stringify(value.slice(0, 120)))
  return `${name}: ${part} is ${shown(ours)}, but isomorphic-git reads ${shown(theirs)}`
}

function notesOf(large: readonly Oid[], refused: readonly string[], unread: number): string[] {
  const others = (list: readonly string[]) => `${list[0]}${list.length > 1 ? ` and ${list.length - 1} more` : ''}`
  return [
    ...(large.length > 0 ? [`too large to be read a second time: ${others(large)}`] : []),
    ...(refused.length > 0 ? [`isomorphic-git does not parse ${others(refused)}`] : []),
    ...(unread > 0 ? [`only ${maxObjects} objects were read a second time`] : []),
  ]
}
