/**
 * Packed objects, read by `git cat-file --batch-command`: one process a repository and a few in all, which end soon after
 * they are needed. Git maps a pack piece by piece where a reader in this process would hold it whole.
 */

import { statSync } from 'node:fs'
import type { Socket } from 'node:net'
import pLimit from 'p-limit'
import { asStorageFault, codeOf, GitError } from '../errors.ts'
import { type GitProcess, killGroup, spawnGit, startFault } from '../native.ts'
import type { Oid, PendingObject, Repo } from '../repo.ts'
import type { Allow, ObjectInfo } from './loose.ts'

/** Processes in all; the one that was used longest ago makes room. */
const processesAtMost = 8
/** Milliseconds without a question after which a process ends, and the deleted packs that it held open go. */
const idleAtMost = 5_000
/** Milliseconds after which a process that is never idle gives way to another, for the same reason. */
const oldAtMost = 60_000
/** Milliseconds without a byte of an answer after which a process is taken to hang. */
const silenceAtMost = 10_000
/** Processes that may end before a question is answered whose turn it was not. */
const endsAtMost = 10

/**
 * What a process holds in memory beside the object that it answers with: 32 MiB of packs, 8 MiB of the bases of deltas; an
 * index of a pack it maps whole. A blob of 1 MiB that is no delta is passed on as it is inflated.
 */
const memory = [
  'core.packedGitWindowSize=1m',
  'core.packedGitLimit=32m',
  'core.deltaBaseCacheLimit=8m',
  'core.bigFileThreshold=1m',
].flatMap((setting) => ['-c', setting])

/**
 * The object as git finds it, wherever it is; undefined: git does not. It is asked for its content only if `allow` does not
 * throw. 0.2 ms while a process runs, 6 ms otherwise. The content is not compared with the id.
 *
 * @throws GitError object_damaged, repo_missing, native_failed, busy (no process can be started now); what `allow` throws
 */
export function readByGit(repo: Repo, oid: Oid, allow: Allow): Promise<PendingObject | undefined> {
  return askGit(repo, oid, (catFile) => catFile.read(oid, allow))
}

/** The object's type and size, without its content. Otherwise as readByGit. */
export function readInfoByGit(repo: Repo, oid: Oid): Promise<ObjectInfo | undefined> {
  return askGit(repo, oid, (catFile) => catFile.info(oid))
}

type Ask<T> = (catFile: CatFile) => Promise<Reading<T>>

async function askGit<T>(repo: Repo, oid: Oid, ask: Ask<T>): Promise<T | undefined> {
  for (let ends = 0; ; ends++) {
    try {
      const { found, said } = await askShared(repo, ask)
      return found ?? (said === '' ? undefined : await askAlone(repo, oid, ask))
    } catch (error) {
      if (!(error instanceof Ended)) throw error
      if (error.inTurn) return askAlone(repo, oid, ask)
      if (ends === endsAtMost) throw new GitError('native_failed', 'git cat-file ends again and again', error.facts)
    }
  }
}

/** Whether a process runs that may be asked at once. */
export function isAsked(repo: Repo): boolean {
  return asked.has(repo.dir)
}

/** Ends every process; whoever waits for an answer gets a new one. */
export function endCatFiles(): void {
  for (const catFile of [...alive]) catFile.end()
}

const alone = pLimit(1)

/** In a process of its own: what it dies of, or complains about, is this object. */
function askAlone<T>(repo: Repo, oid: Oid, ask: Ask<T>): Promise<T | undefined> {
  return alone(async () => {
    const catFile = new CatFile(repo, '')
    try {
      const { found } = await ask(catFile)
      if (found) return found
      await catFile.finish()
      if (catFile.said === '') return undefined
      throw new GitError('object_damaged', `Object ${oid} is damaged`, { oid, stderr: catFile.said })
    } catch (error) {
      if (!(error instanceof Ended)) throw error
      if (error.byItself) throw new GitError('object_damaged', `Object ${oid} is damaged`, { oid, ...error.facts })
      throw new GitError('native_failed', 'git cat-file was killed, or did not answer', { oid, ...error.facts })
    } finally {
      catFile.end()
    }
  })
}

/** Those that take questions, by folder; the one used longest ago first. */
const asked = new Map<string, CatFile>()
const alive = new Set<CatFile>()
const waiting: (() => void)[] = []

/** One that is found is asked in the same turn, lest it is ended in between for being idle. @throws as readByGit; Ended */
async function askShared<T>(repo: Repo, ask: Ask<T>): Promise<Reading<T>> {
  for (;;) {
    const identity = identityOf(repo)
    const known = asked.get(repo.dir)
    if (known?.identity === identity && performance.now() - known.born < oldAtMost) {
      asked.delete(repo.dir)
      asked.set(repo.dir, known)
      return ask(known)
    }
    known?.retire()
    if (alive.size < processesAtMost) {
      const made = new CatFile(repo, identity)
      asked.set(repo.dir, made)
      return ask(made)
    }
    const all = [...asked.values()]
    const first = all.find((catFile) => catFile.isIdle) ?? all[0]
    first?.retire()
    await new Promise<void>((resolve) => waiting.push(resolve))
  }
}

/** The folder itself, whatever repository is put under its path. @throws GitError repo_missing, storage_* */
function identityOf(repo: Repo): string {
  try {
    const { dev, ino, birthtimeNs } = statSync(`${repo.dir}/objects`, { bigint: true })
    return `${dev} ${ino} ${birthtimeNs}`
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') throw asStorageFault(error)
    throw new GitError('repo_missing', 'The repository does not exist', { dir: repo.dir }, { cause: error })
  }
}

/** The process ended, or was ended, before it had answered. */
class Ended extends Error {
  /** Whether it was this question that it had come to. */
  readonly inTurn: boolean
  /** Whether it said itself that it cannot go on: it was neither killed nor lost for words. */
  readonly byItself: boolean
  readonly facts: Record<string, unknown>

  constructor(inTurn: boolean, byItself: boolean, facts: Record<string, unknown>) {
    super('git cat-file has ended')
    this.inTurn = inTurn
    this.byItself = byItself
    this.facts = facts
  }
}

interface Question {
  readonly oid: Oid
  /** Undefined: only this is asked. */
  readonly info: ObjectInfo | undefined
  answer(info: ObjectInfo | undefined, content?: Buffer): void
  fail(error: unknown): void
}

interface Reading<T> {
  /** Undefined: git does not find it. */
  readonly found: T | undefined
  /** What git has complained about so far, of this object or of others. */
  readonly said: string
}

const longestLine = 200
const longestSaid = 4_096

class CatFile {
  /** Of the repository that it reads. */
  readonly identity: string
  readonly born = performance.now()
  /** What git has complained about. */
  said = ''
  readonly #dir: string
  readonly #child: GitProcess
  readonly #closed: Promise<void>
  readonly #questions: Question[] = []
  #reading = 0
  #retired = false
  #ended = false
  #unsent = ''
  #line = Buffer.alloc(0)
  #content: { readonly info: ObjectInfo; readonly bytes: Buffer; at: number } | undefined
  #timer: NodeJS.Timeout

  /** @throws GitError native_failed, busy */
  constructor(repo: Repo, identity: string) {
    this.identity = identity
    this.#dir = repo.dir
    // Without --buffer, which would answer nothing before a flush.
    this.#child = spawnGit(repo, [...memory, 'cat-file', '--batch-command'])
    this.#timer = this.#idle()
    alive.add(this)
    this.#child.stdout.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.said = (this.said + chunk).slice(-longestSaid)
    })
    this.#closed = new Promise((resolve) => {
      this.#child.once('close', (code) => {
        this.#gone()
        this.#failAll(code !== null && code !== 0)
        resolve()
      })
    })
    this.#child.once('error', (cause) => {
      this.#gone()
      for (const question of this.#questions.splice(0)) question.fail(startFault(cause))
    })
  }

  get isIdle(): boolean {
    return this.#reading === 0
  }

  /** @throws Ended, what `allow` throws */
  read(oid: Oid, allow: Allow): Promise<Reading<PendingObject>> {
    return this.#awake(async () => {
      const { info } = await this.#ask('info', oid)
      if (!info) return undefined
      allow(info)
      const { content } = await this.#ask('contents', oid, info)
      return content && { type: info.type, content }
    })
  }

  /** @throws Ended */
  info(oid: Oid): Promise<Reading<ObjectInfo>> {
    return this.#awake(async () => (await this.#ask('info', oid)).info)
  }

  async #awake<T>(questions: () => Promise<T | undefined>): Promise<Reading<T>> {
    if (this.#reading++ === 0) this.#wake()
    try {
      return { found: await questions(), said: this.said }
    } finally {
      if (--this.#reading === 0) this.#rest()
    }
  }

  /** Takes no more questions, and ends once those asked are answered. */
  retire(): void {
    this.#retired = true
    if (asked.get(this.#dir) === this) asked.delete(this.#dir)
    if (this.isIdle) this.end()
  }

  /** Waits until git has said all that it has to say. */
  async finish(): Promise<void> {
    this.#wake()
    this.#child.stdin.end()
    await this.#closed
  }

  end(): void {
    this.#leave()
    // Somebody may wait for its place.
    for (const handle of this.#handles()) handle.ref()
    killGroup(this.#child)
  }

  /** Takes no more questions. */
  #leave(): void {
    this.#ended = true
    clearTimeout(this.#timer)
    if (asked.get(this.#dir) === this) asked.delete(this.#dir)
  }

  /** Its place is another's. */
  #gone(): void {
    this.#leave()
    alive.delete(this)
    for (const go of waiting.splice(0)) go()
  }

  /** From now on the event loop goes on for its answers, and their absence is noticed. */
  #wake(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.end(), silenceAtMost)
    for (const handle of this.#handles()) handle.ref()
  }

  #rest(): void {
    clearTimeout(this.#timer)
    if (this.#retired) this.end()
    else if (!this.#ended) this.#timer = this.#idle()
  }

  /** Nobody waits: neither its end nor the process must keep ours. */
  #idle(): NodeJS.Timeout {
    for (const handle of this.#handles()) handle.unref()
    return setTimeout(() => this.end(), idleAtMost).unref()
  }

  #handles(): readonly { ref(): unknown; unref(): unknown }[] {
    const { stdin, stdout, stderr } = this.#child
    return [this.#child, ...([stdin, stdout, stderr] as unknown as Socket[])] // pipes are sockets, says child_process
  }

  #ask(command: 'info' | 'contents', oid: Oid, info?: ObjectInfo) {
    return new Promise<{ info: ObjectInfo | undefined; content: Buffer | undefined }>((resolve, reject) => {
      const question = {
        oid,
        info,
        answer: (info: ObjectInfo | undefined, content?: Buffer) => resolve({ info, content }),
        fail: reject,
      }
      if (this.#ended) return reject(new Ended(false, false, {}))
      this.#questions.push(question)
      // All that is asked in one turn goes in one write.
      if (this.#unsent === '') queueMicrotask(() => this.#send())
      this.#unsent += `${command} ${oid}\n`
    })
  }

  #send(): void {
    this.#child.stdin.write(this.#unsent)
    this.#unsent = ''
  }

  #receive(chunk: Buffer): void {
    this.#timer.refresh()
    let rest = chunk
    while (rest.length > 0) {
      const left = this.#content ? this.#receiveContent(this.#content, rest) : this.#receiveLine(rest)
      if (left === undefined) this.#refuse()
      rest = left ?? Buffer.alloc(0)
    }
  }

  /** What is left of `chunk`; undefined for what is no answer. */
  #receiveLine(chunk: Buffer): Buffer | undefined {
    const end = chunk.indexOf(0x0a)
    const line = Buffer.concat([this.#line, end < 0 ? chunk : chunk.subarray(0, end)])
    if (line.length > longestLine) return undefined
    this.#line = end < 0 ? line : Buffer.alloc(0)
    if (end < 0) return Buffer.alloc(0)
    return this.#understand(line.toString('latin1')) ? chunk.subarray(end + 1) : undefined
  }

  #understand(line: string): boolean {
    const [question] = this.#questions
    if (!question) return false
    if (line === `${question.oid} missing`) {
      this.#questions.shift()
      question.answer(undefined)
      return true
    }
    const [, oid, type, size] = /^([0-9a-f]{40}) (blob|tree|commit|tag) (\d{1,15})$/.exec(line) ?? []
    if (oid !== question.oid) return false
    const info = { type: type as PendingObject['type'], size: Number(size) } // the expression has these four
    if (!question.info) {
      this.#questions.shift()
      question.answer(info)
      return true
    }
    if (info.type !== question.info.type || info.size !== question.info.size) return false
    this.#content = { info, bytes: Buffer.allocUnsafe(info.size), at: 0 }
    return true
  }

  #receiveContent(content: { info: ObjectInfo; bytes: Buffer; at: number }, chunk: Buffer): Buffer | undefined {
    const { info, bytes } = content
    const taken = Math.min(chunk.length, bytes.length - content.at)
    chunk.copy(bytes, content.at, 0, taken)
    content.at += taken
    if (taken === chunk.length) return Buffer.alloc(0)
    if (chunk[taken] !== 0x0a) return undefined
    this.#content = undefined
    this.#questions.shift()?.answer(info, bytes)
    return chunk.subarray(taken + 1)
  }

  /** What it says is no answer to what was asked. */
  #refuse(): void {
    this.#child.stdout.removeAllListeners('data').resume()
    this.end()
  }

  #failAll(byItself: boolean): void {
    const facts = this.said === '' ? {} : { stderr: this.said }
    for (const [at, question] of this.#questions.splice(0).entries())
      question.fail(new Ended(at === 0, at === 0 && byItself, facts))
  }
}
