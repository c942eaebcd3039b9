/** Commit objects, parsed. */

import { LRUCache } from 'lru-cache'
import { GitError } from './errors.ts'
import { readObject } from './objects.ts'
import { isOid, type Oid, type Repo } from './repo.ts'

export interface Person {
  readonly name: string
  readonly email: string
  /** Seconds since 1970. */
  readonly timestamp: number
  /** Minutes as isomorphic-git and Date count them: +0100 is -60; -0000 is -0. */
  readonly timezoneOffset: number
}

export interface Commit {
  readonly oid: Oid
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly author: Person
  readonly committer: Person
  /** As stored, decoded by the commit's `encoding` header. */
  readonly message: string
}

/** Commits by folder and id; they never change. About 50 MB when full of ordinary ones. */
const commits = new LRUCache<string, Commit>({ max: 50_000 })
const maxCachedBytes = 16_384

/** @throws GitError object_missing (also if `oid` is another kind of object), object_damaged, repo_missing */
export async function readCommit(repo: Repo, oid: Oid): Promise<Commit> {
  const key = `${repo.dir}:${oid}`
  const known = commits.get(key)
  if (known) return known
  const { type, content } = await readObject(repo, oid)
  if (type !== 'commit') throw new GitError('object_missing', `Object ${oid} is a ${type}, not a commit`, { oid })
  const commit = parseCommit(oid, content)
  if (!repo.pending?.has(oid) && content.length <= maxCachedBytes) commits.set(key, commit)
  return commit
}

/** The commit, or undefined if there is none by that id. @throws GitError object_damaged, repo_missing */
export async function findCommit(repo: Repo, oid: Oid): Promise<Commit | undefined> {
  try {
    return await readCommit(repo, oid)
  } catch (error) {
    if (error instanceof GitError && error.code === 'object_missing') return undefined
    throw error
  }
}

/** Reads as git does: one `tree`, the `parent` lines that follow it, then the first of each other header. */
function parseCommit(oid: Oid, content: Buffer): Commit {
  const blank = content.indexOf('\n\n')
  const headerBytes = blank < 0 ? content : content.subarray(0, blank)
  const encoding = /^encoding (\S+)$/m.exec(headerBytes.toString('latin1'))?.[1]
  const [first = '', ...lines] = decode(headerBytes, encoding).split('\n')
  const tree = first.slice('tree '.length)
  if (!first.startsWith('tree ') || !isOid(tree))
    throw new GitError('object_damaged', `Commit ${oid} names no tree`, { oid })
  const parents: Oid[] = []
  while (lines[parents.length]?.startsWith('parent '))
    parents.push(lines[parents.length]?.slice('parent '.length) ?? '')
  const rest = lines.slice(parents.length)
  return {
    oid,
    tree,
    parents,
    author: parsePerson(rest.find((line) => line.startsWith('author '))),
    committer: parsePerson(rest.find((line) => line.startsWith('committer '))),
    message: blank < 0 ? '' : decode(content.subarray(blank + 2), encoding),
  }
}

/** `author Ann <ann@example.org> 1700000000 +0100`. What is malformed reads as empty or 0, as git reads it. */
function parsePerson(line = ''): Person {
  const parts =
    /^\w+ (?<name>[^<]*?) ?<(?<email>[^>]*)>(?: *(?<time>\d+))?(?: (?<sign>[+-])(?<hours>\d\d)(?<minutes>\d\d)$)?/.exec(
      line,
    )
  const { name = '', email = '', time = '0', sign, hours = '0', minutes = '0' } = parts?.groups ?? {}
  const east = Number(hours) * 60 + Number(minutes)
  return { name, email, timestamp: Number(time), timezoneOffset: sign === '-' ? east || -0 : -east || 0 }
}

function decode(bytes: Buffer, encoding: string | undefined): string {
  if (encoding === undefined) return bytes.toString('utf8')
  try {
    return new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes)
  } catch {
    return bytes.toString('utf8') // an encoding nobody knows
  }
}
