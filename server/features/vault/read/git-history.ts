/**
 * Reads the history of files in a Git work tree that is not ours. Nothing of that repository is run.
 *
 * One `git log --raw` follows all files at once, through renames from 50 % similarity. `git log --follow` of one file also
 * follows copies. Comparing with all files for that takes 110 times as long. Merge commits are left out, and the commits
 * of merged branches come in the order of `git log`.
 */

import { lstatSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { GitError } from '../../../../gitstore/errors.ts'
import { killGroup, spawnGit } from '../../../../gitstore/native.ts'
import { readBlob } from '../../../../gitstore/objects/objects.ts'
import type { Repo } from '../../../../gitstore/repo.ts'
import { plural } from '../../../base/plural.ts'

/** One commit of a file. */
export interface FileVersion {
  readonly author: { readonly name: string; readonly email: string }
  /** Seconds since 1970. */
  readonly authoredAt: number
  /** Seconds since 1970. */
  readonly committedAt: number
  readonly message: string
  /** The id of the content; undefined if the commit deletes the file. */
  readonly blob: string | undefined
}

export interface GitHistory {
  readonly repo: Repo
  /** The versions of each file, the newest first, by path in the folder. Files without a commit have none. */
  readonly versions: ReadonlyMap<string, readonly FileVersion[]>
  /** The number of commits of each file, including those that are left out. */
  readonly counts: ReadonlyMap<string, number>
}

/** Limits of a history. */
export const historyLimits = {
  /** Commits of one file. Older ones are left out. */
  ofFile: 10_000,
  /** Commits of all files, each counted for each file. */
  inAll: 500_000,
  /** Bytes of a version. A larger one keeps the text before it. */
  versionBytes: 10 * 1_048_576,
  /** UTF-16 units of all versions of a file. Older ones are left out, because a repository is built in memory. */
  textOfFile: 64 * 1_048_576,
  /** UTF-16 units of a message. The rest is cut. */
  message: 65_536,
  /** Milliseconds for reading the log. */
  logMs: 10 * 60_000,
} as const

/** The error for a folder whose history cannot be read. The message is for its user. */
export class NoHistoryError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'NoHistoryError'
  }
}

/** Settings that keep the repository's own configuration from running programs. */
const settings = ['log.showSignature=false', 'core.fsmonitor=false', 'core.pager=cat', 'log.mailmap=false']
/** Objects that a partial clone lacks are not fetched. */
const env = { GIT_NO_LAZY_FETCH: '1', GIT_OPTIONAL_LOCKS: '0' }
/** The fields of a commit, each ended by NUL. */
const fields = ['%x01%H', '%an', '%ae', '%at', '%ct', '%B', ''].join('%x00')
const log = ['log', 'HEAD', '--no-merges', '--raw', '-z', '-r', '-M50%', '--no-abbrev', '--encoding=UTF-8']
const safe = ['--no-ext-diff', '--no-textconv', '--no-show-signature', '--no-color', `--format=${fields}`]

/**
 * Reads the history of these files.
 *
 * @param dir a real path, in a work tree
 * @param paths paths in the folder
 * @throws NoHistoryError, GitError native_failed, busy; the reason of the signal
 */
export async function readGitHistory(dir: string, paths: Iterable<string>, signal: AbortSignal): Promise<GitHistory> {
  const top = topOf(dir)
  const prefix = relative(top, dir).split(sep).filter(Boolean).join('/')
  const repo = { dir: join(top, '.git') }
  const follower = new Follower(prefix === '' ? '' : `${prefix}/`, paths)
  const args = [...settings.flatMap((setting) => ['-c', setting]), '--no-pager', ...log, ...safe, '--']
  const child = spawnGit(repo, args, { env, timeoutMs: historyLimits.logMs, priority: 'background' })
  const stop = () => killGroup(child)
  signal.addEventListener('abort', stop, { once: true })
  child.stdin.end()
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-1_000)
  })
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', resolve).once('error', () => resolve(null))
  })
  try {
    for await (const token of tokensOf(child.stdout)) follower.take(token)
    const code = await ended
    signal.throwIfAborted()
    if (code !== 0)
      throw new NoHistoryError(`Git cannot read the history of ${top}: ${errors.trim() || 'it was ended'}`)
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
  return { repo, versions: follower.versions, counts: follower.counts }
}

/** Reads the text of a version. Undefined if it is not UTF-8, too large or missing. */
export async function readVersion({ repo }: GitHistory, blob: string): Promise<string | undefined> {
  try {
    const bytes = await readBlob(repo, blob, historyLimits.versionBytes)
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    if (error instanceof GitError && ['limit_exceeded', 'object_missing'].includes(error.code)) return undefined
    throw error
  }
}

/** Finds the work tree. @throws NoHistoryError */
function topOf(dir: string): string {
  for (let at = dir; ; at = dirname(at)) {
    const git = lstatSync(join(at, '.git'), { throwIfNoEntry: false })
    if (git?.isDirectory()) return at
    if (git)
      throw new NoHistoryError(`${join(at, '.git')} is a link to a repository; import the main work tree instead`)
    if (dirname(at) === at) throw new NoHistoryError(`${dir} is in no Git work tree, so it has no history to import`)
  }
}

/** Largest token in bytes. A message of that size ends the reading. */
const maxToken = 16 * 1_048_576

/** Splits output at NULs. */
async function* tokensOf(output: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let open: Buffer[] = []
  let size = 0
  for await (const chunk of output) {
    let from = 0
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, from)) {
      yield Buffer.concat([...open, chunk.subarray(from, end)]).toString()
      ;[open, size, from] = [[], 0, end + 1]
    }
    open.push(chunk.subarray(from))
    size += chunk.length - from
    if (size > maxToken) throw new NoHistoryError('A commit has a message of over 16 MiB, which is not imported')
  }
}

/** Collects the versions of files while it reads a log from the newest commit on. */
class Follower {
  readonly versions = new Map<string, FileVersion[]>()
  readonly counts = new Map<string, number>()
  /** The files by their path at the commit that is read. Several files may come from one. */
  #at = new Map<string, readonly string[]>()
  #commit: string[] = []
  #change: string[] = []
  #moves: { readonly from: string; readonly to: string; readonly files: readonly string[] }[] = []
  #total = 0

  constructor(prefix: string, paths: Iterable<string>) {
    for (const path of paths) this.#at.set(prefix + path, [path])
  }

  take(token: string): void {
    const isOfCommit = this.#commit.length > 0 && this.#commit.length < commitFields
    if (isOfCommit) this.#commit.push(token)
    else if (this.#change.length > 0) this.#takePath(token)
    else if (token.replace(/^\n/, '').startsWith('\x01')) this.#begin(token)
    else if (/^\n?:/.test(token)) this.#change = [token]
  }

  #begin(token: string): void {
    // Renames of a commit hold for older commits.
    for (const { to } of this.#moves) this.#at.delete(to)
    for (const { from, files } of this.#moves) this.#at.set(from, [...(this.#at.get(from) ?? []), ...files])
    this.#moves = []
    this.#commit = [token]
  }

  #takePath(token: string): void {
    this.#change.push(token)
    const [head = '', first = '', second] = this.#change
    const [, , , blob = '', status = ''] = head.trim().split(' ')
    const isRename = status.startsWith('R')
    if (isRename && second === undefined) return
    this.#change = []
    // A later file has the old name of a renamed one: for that file, the rename is a deletion.
    if (isRename) for (const file of this.#at.get(first) ?? []) this.#add(file, versionOf(this.#commit, undefined))
    const path = second ?? first
    const files = this.#at.get(path)
    if (files === undefined) return
    const version = versionOf(this.#commit, status === 'D' ? undefined : blob)
    for (const file of files) this.#add(file, version)
    if (isRename) this.#moves.push({ from: first, to: path, files })
  }

  #add(file: string, version: FileVersion): void {
    const versions = this.versions.get(file) ?? []
    this.versions.set(file, versions)
    this.counts.set(file, (this.counts.get(file) ?? 0) + 1)
    if (versions.length >= historyLimits.ofFile) return
    if (++this.#total > historyLimits.inAll)
      throw new NoHistoryError(
        `The files have more than ${plural(historyLimits.inAll, 'commit')} together; import parts of the folder, or without --with-history`,
      )
    versions.push(version)
  }
}

const commitFields = 6

function versionOf(commit: readonly string[], blob: string | undefined): FileVersion {
  const [, name = '', email = '', authored = '', committed = '', message = ''] = commit
  return {
    author: { name: name || 'Unknown', email },
    authoredAt: secondsIn(authored),
    committedAt: secondsIn(committed),
    message: message.slice(0, historyLimits.message).trim() || 'No message',
    blob,
  }
}

/** The latest time that a commit may have, in 2099. Later and earlier ones are of broken clocks. */
const latest = 4_102_444_799

function secondsIn(text: string): number {
  return Math.min(Math.max(Number(text) || 0, 0), latest)
}
