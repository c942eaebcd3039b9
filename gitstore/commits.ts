/** Commit objects, parsed. */

import { LRUCache } from 'lru-cache'
import { GitError } from './errors.ts'
import { cleanIdentity } from './names.ts'
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

export interface CommitFields {
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly author: Person
  readonly committer: Person
  /** Stored without CR and NUL, without leading line breaks, and with exactly one at its end. */
  readonly message: string
}

/** Commits by folder and id, 6,000 of the ordinary kind; they never change. Sizes are estimates of the heap. */
const commits = new LRUCache<string, { readonly commit: Commit; readonly bytes: number }>({
  maxSize: 8_000_000,
  maxEntrySize: 64_000,
  sizeCalculation: ({ bytes }) => bytes,
})

/** @throws GitError object_missing (also if `oid` is another kind of object), object_damaged, repo_missing */
export async function readCommit(repo: Repo, oid: Oid): Promise<Commit> {
  const known = commits.get(`${repo.dir}:${oid}`)
  if (known) return known.commit
  const { type, content } = await readObject(repo, oid)
  if (type !== 'commit') throw new GitError('object_missing', `Object ${oid} is a ${type}, not a commit`, { oid })
  return repo.pending?.has(oid) ? parseCommit(oid, content) : rememberCommit(repo, oid, content)
}

/** The commit, kept for `readCommit`: for what is on disk alone. @throws GitError object_damaged */
export function rememberCommit(repo: Repo, oid: Oid, content: Buffer): Commit {
  const commit = parseCommit(oid, content)
  commits.set(`${repo.dir}:${oid}`, { commit, bytes: commitOverhead + content.length })
  return commit
}

/** Bytes of heap for a commit and its key beyond its content. Measured: 1,280 for an ordinary one of 270. */
const commitOverhead = 1_000

/** The commit, or undefined if there is none by that id. @throws GitError object_damaged, repo_missing */
export async function findCommit(repo: Repo, oid: Oid): Promise<Commit | undefined> {
  try {
    return await readCommit(repo, oid)
  } catch (error) {
    if (error instanceof GitError && error.code === 'object_missing') return undefined
    throw error
  }
}

/** The content of a commit object, byte for byte as isomorphic-git's writeCommit has it. */
export function commitContent({ tree, parents, author, committer, message }: CommitFields): Buffer {
  const text = message.replace(/[\r\0]/g, '').replace(/^\n+/, '')
  const lines = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${personText(author)}`,
    `committer ${personText(committer)}`,
    '',
    `${text.replace(/\n+$/, '')}\n`,
  ]
  return Buffer.from(lines.join('\n'))
}

function personText({ name, email, timestamp, timezoneOffset }: Person): string {
  const west = timezoneOffset > 0 || Object.is(timezoneOffset, -0)
  const minutes = Math.abs(timezoneOffset)
  const zone = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join('')
  return `${cleanIdentity(name)} <${cleanIdentity(email)}> ${timestamp} ${west ? '-' : '+'}${zone}`
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
