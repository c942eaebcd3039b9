/** Parses and encodes commit objects. */

import { TextDecoder } from 'node:util'
import { createCache } from '../caching/caches.ts'
import { createSemaphore } from '../concurrency/semaphore.ts'
import { GitError } from '../errors.ts'
import * as limits from '../limits.ts'
import { cleanIdentity } from '../names.ts'
import { isOid, type Oid, type Repo } from '../repo.ts'
import { readObject } from './objects.ts'

/** The end of the year 9999, in seconds since 1970. ISO 8601 has four digits for years up to then. */
export const latestTime = 253_402_300_799

export interface Person {
  readonly name: string
  readonly email: string
  /** Seconds since 1970. */
  readonly timestamp: number
  /** Minutes as isomorphic-git and Date count them: +0100 is -60, and -0000 is -0. */
  readonly timezoneOffset: number
}

export interface Commit {
  readonly oid: Oid
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly author: Person
  readonly committer: Person
  /** The stored message or its first 64 KiB, decoded by the commit's `encoding` header. */
  readonly message: string
  /** True if the message is longer. `readMessage` reads all of it. */
  readonly messageIsCut: boolean
}

export interface CommitFields {
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly author: Person
  readonly committer: Person
  /** Stored without CR, NUL and leading line breaks, and with one final line break. */
  readonly message: string
}

/** Commits by folder and id: some 6,000 ordinary ones, which never change. Sizes are estimates of the heap. */
const commits = createCache<{ readonly commit: Commit; readonly bytes: number }>('commits', {
  sizeCalculation: ({ bytes }) => bytes,
})

/** Bounds how many commits, of at most 8 MiB each, this process holds at once. */
const contentReaders = createSemaphore({ running: 16 })

/** @throws GitError object_missing (also if `oid` is another kind of object), object_damaged, repo_missing */
export async function readCommit(repo: Repo, oid: Oid): Promise<Commit> {
  const known = commits.get(`${repo.dir}:${oid}`)
  if (known) return known.commit
  return contentReaders.run({}, async () => {
    const content = await readContent(repo, oid)
    return repo.pending?.has(oid) ? parseCommit(oid, content) : rememberCommit(repo, oid, content)
  })
}

/** Returns the whole message, of at most 8 MiB. @throws the errors of readCommit */
export async function readMessage(repo: Repo, oid: Oid): Promise<string> {
  const { message, messageIsCut } = await readCommit(repo, oid)
  if (!messageIsCut) return message
  return contentReaders.run({}, async () => {
    const content = await readContent(repo, oid)
    return messageOf(content, decoderOf(headerOf(content)), content.length).message
  })
}

async function readContent(repo: Repo, oid: Oid): Promise<Buffer> {
  const { type, content } = await readObject(repo, oid)
  if (type !== 'commit') throw new GitError('object_missing', `Object ${oid} is a ${type}, not a commit`, { oid })
  return content
}

/** Caches a commit that is on disk. @throws GitError object_damaged */
export function rememberCommit(repo: Repo, oid: Oid, content: Buffer): Commit {
  const commit = parseCommit(oid, content)
  const bytes = commit.messageIsCut ? headerOf(content).length + limits.listedMessageBytes : content.length
  commits.set(`${repo.dir}:${oid}`, { commit, bytes: commitOverheadBytes + bytes })
  return commit
}

/**
 * Bytes of heap for a commit and its key, in addition to its content. Measured: 1,280 for an ordinary commit of 270
 * bytes.
 */
const commitOverheadBytes = 1_000

/** The commit, or undefined if it does not exist. @throws GitError object_damaged, repo_missing */
export async function findCommit(repo: Repo, oid: Oid): Promise<Commit | undefined> {
  try {
    return await readCommit(repo, oid)
  } catch (error) {
    if (error instanceof GitError && error.code === 'object_missing') return undefined
    throw error
  }
}

/** The content of a commit object, byte for byte as isomorphic-git's writeCommit makes it. */
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

/** Parses a commit as Git does. Reads one `tree`, the `parent` lines after it, then the first of each other header. */
function parseCommit(oid: Oid, content: Buffer): Commit {
  const header = headerOf(content)
  const tree = valueAt(header, 0, 'tree ')
  if (tree === undefined || !isOid(tree)) throw new GitError('object_damaged', `Commit ${oid} names no tree`, { oid })
  const parents: Oid[] = []
  let at = endOf(header, 0) + 1
  for (let parent = valueAt(header, at, 'parent '); parent !== undefined; parent = valueAt(header, at, 'parent ')) {
    parents.push(parent)
    at = endOf(header, at) + 1
  }
  const decode = decoderOf(header)
  const author = parsePerson(decode(findValue(header, 'author ')))
  const committer = parsePerson(decode(findValue(header, 'committer ')))
  return { oid, tree, parents, author, committer, ...messageOf(content, decode, limits.listedMessageBytes) }
}

/** The bytes before the first empty line. */
function headerOf(content: Buffer): Buffer {
  const blank = content.indexOf('\n\n')
  return blank < 0 ? content : content.subarray(0, blank)
}

/** The offset at which the line that begins at `at` ends. */
function endOf(header: Buffer, at: number): number {
  const end = header.indexOf(0x0a, at)
  return end < 0 ? header.length : end
}

/** The text after `name` in the line that begins at `at`. Undefined if the line does not begin with `name`. */
function valueAt(header: Buffer, at: number, name: string): string | undefined {
  const begins = at + name.length
  if (header.toString('latin1', at, begins) !== name) return undefined
  return header.toString('latin1', begins, endOf(header, at))
}

/** The bytes after `name` in the first line, below the tree, that begins with it. Empty if there is no such line. */
function findValue(header: Buffer, name: string): Buffer {
  const at = header.indexOf(`\n${name}`)
  return at < 0 ? header.subarray(0, 0) : header.subarray(at + 1 + name.length, endOf(header, at + 1))
}

function messageOf(content: Buffer, decode: Decode, maxBytes: number): Pick<Commit, 'message' | 'messageIsCut'> {
  const bytes = content.subarray(headerOf(content).length + 2)
  const messageIsCut = bytes.length > maxBytes
  return { message: decode(bytes.subarray(0, maxBytes), messageIsCut), messageIsCut }
}

/** Parses `Ann <ann@example.org> 1700000000 +0100`. Malformed parts read as empty or 0, as Git reads them. */
function parsePerson(text: string): Person {
  const opens = text.indexOf('<')
  const closes = text.indexOf('>', opens)
  const known = opens >= 0 && closes >= 0
  const rest = known ? text.slice(closes + 1, closes + 100) : ''
  const parts = /^(?: *(?<time>\d+))?(?: (?<sign>[+-])(?<hours>\d\d)(?<minutes>\d\d)$)?/.exec(rest)
  const { time = '0', sign, hours = '0', minutes = '0' } = parts?.groups ?? {}
  const east = Number(hours) * 60 + Number(minutes)
  return {
    name: known ? copied(text.slice(0, opens).replace(/ $/, '')) : '',
    email: known ? copied(text.slice(opens + 1, closes)) : '',
    timestamp: Number(time),
    timezoneOffset: sign === '-' ? east || -0 : -east || 0,
  }
}

/** Copies at most `limits.identityCharacters`. A slice would keep the whole text in memory. */
function copied(text: string): string {
  return Buffer.from(text.slice(0, limits.identityCharacters).replace(/[\ud800-\udbff]$/, '')).toString()
}

type Decode = (bytes: Buffer, isCut?: boolean) => string

/**
 * Decodes text by the `encoding` header. Ignores unknown encodings, and encodings that do not write ASCII as ASCII,
 * because header names are ASCII in every commit. Drops a partial character at a cut.
 */
function decoderOf(header: Buffer): Decode {
  const decoder = knownDecoder(findValue(header, 'encoding ').toString('latin1'))
  return (bytes, isCut = false) => {
    if (!decoder && !isCut) return bytes.toString('utf8')
    return (decoder ?? new TextDecoder('utf-8', { ignoreBOM: true })).decode(bytes, { stream: isCut })
  }
}

function knownDecoder(encoding: string): TextDecoder | undefined {
  if (encoding === '') return undefined
  try {
    const decoder = new TextDecoder(encoding, { ignoreBOM: true })
    return decoder.encoding.startsWith('utf-16') ? undefined : decoder
  } catch {
    return undefined
  }
}
