/** One process of `git cat-file --batch-command`, with its queries, answers, end and time limits. */

import type { Socket } from 'node:net'
import { type GitProcess, killGroup, spawnGit, toStartError } from '../native.ts'
import type { Oid, PendingObject, Repo } from '../repo.ts'
import type { Allow } from './loose.ts'
import type { ObjectInfo } from './object-format.ts'

/** Milliseconds without a query after which a process ends. It then closes deleted packs that it holds open. */
const idleTimeoutMs = 5_000
/** Milliseconds without a byte of an answer after which a process counts as hung. */
const silenceTimeoutMs = 10_000
/** Characters of Git's error output that are kept. */
const maxErrorCharacters = 4_096

/**
 * Bounds a process's memory to 32 MiB of packs and 8 MiB of delta bases. In addition, it holds the object that it
 * answers with, and maps whole pack indexes. A blob of more than 1 MiB that is not a delta is passed on while it is
 * inflated.
 */
export const catFileMemory = [
  'core.packedGitWindowSize=1m',
  'core.packedGitLimit=32m',
  'core.deltaBaseCacheLimit=8m',
  'core.bigFileThreshold=1m',
].flatMap((setting) => ['-c', setting])

/** The process ended before it had answered. */
export class CatFileEndedError extends Error {
  /** True if it was working on this query. */
  readonly isCurrent: boolean
  /** True if it ended with an error, neither killed nor silent. */
  readonly byItself: boolean
  readonly facts: Record<string, unknown>

  constructor(inTurn: boolean, byItself: boolean, facts: Record<string, unknown>) {
    super('git cat-file has ended')
    this.isCurrent = inTurn
    this.byItself = byItself
    this.facts = facts
  }
}

export interface CatFileAnswer<T> {
  /** Undefined if Git does not find the object. */
  readonly found: T | undefined
  /** Git's error output so far, about this object or earlier ones. */
  readonly complaints: string
}

/** Callbacks for changes of a process's state. */
interface CatFileOwner {
  /** The process takes no more queries. */
  left(catFile: CatFile): void
  /** The process has ended, or could not be started. */
  ended(catFile: CatFile): void
}

export class CatFile {
  /** The identity of the repository that it reads. */
  readonly identity: string
  readonly born = performance.now()
  /** Git's error output. */
  complaints = ''
  readonly #listener: CatFileOwner
  readonly #child: GitProcess
  readonly #closed: Promise<void>
  readonly #questions: Question[] = []
  #reading = 0
  #retired = false
  #ended = false
  #unsent = ''
  #timer: NodeJS.Timeout

  /** @throws GitError native_failed, busy */
  constructor(repo: Repo, identity: string, listener: CatFileOwner) {
    this.identity = identity
    this.#listener = listener
    // There is no --buffer, because then Git would answer nothing before a flush.
    this.#child = spawnGit(repo, [...catFileMemory, 'cat-file', '--batch-command'])
    this.#timer = this.#idle()
    const answers = answerReader(this.#questions)
    this.#child.stdout.on('data', (chunk: Buffer) => {
      this.#timer.refresh()
      if (!answers.take(chunk)) this.#refuse()
    })
    this.#child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.complaints = (this.complaints + chunk).slice(-maxErrorCharacters)
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
      for (const question of this.#questions.splice(0)) question.fail(toStartError(cause))
    })
  }

  get isIdle(): boolean {
    return this.#reading === 0
  }

  /** @throws CatFileEndedError, and any error of `allow` */
  read(oid: Oid, allow: Allow): Promise<CatFileAnswer<PendingObject>> {
    return this.#awake(async () => {
      const { info } = await this.#ask('info', oid)
      if (!info) return undefined
      allow(info)
      const { content } = await this.#ask('contents', oid, info)
      return content && { type: info.type, content }
    })
  }

  /** @throws CatFileEndedError */
  info(oid: Oid): Promise<CatFileAnswer<ObjectInfo>> {
    return this.#awake(async () => (await this.#ask('info', oid)).info)
  }

  async #awake<T>(questions: () => Promise<T | undefined>): Promise<CatFileAnswer<T>> {
    if (this.#reading++ === 0) this.#wake()
    try {
      return { found: await questions(), complaints: this.complaints }
    } finally {
      if (--this.#reading === 0) this.#rest()
    }
  }

  /** Takes no more queries, and ends after the open ones are answered. */
  retire(): void {
    this.#retired = true
    this.#listener.left(this)
    if (this.isIdle) this.end()
  }

  /** Waits until Git has written all its output. */
  async finish(): Promise<void> {
    this.#wake()
    this.#child.stdin.end()
    await this.#closed
  }

  end(): void {
    this.#leave()
    // Another reader may wait for the end of this process.
    for (const handle of this.#handles()) handle.ref()
    killGroup(this.#child)
  }

  /** Takes no more queries. */
  #leave(): void {
    this.#ended = true
    clearTimeout(this.#timer)
    this.#listener.left(this)
  }

  #gone(): void {
    this.#leave()
    this.#listener.ended(this)
  }

  /** Keeps the event loop alive for the answers, and starts their time limit. */
  #wake(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.end(), silenceTimeoutMs)
    for (const handle of this.#handles()) handle.ref()
  }

  #rest(): void {
    clearTimeout(this.#timer)
    if (this.#retired) this.end()
    else if (!this.#ended) this.#timer = this.#idle()
  }

  /** Lets the service exit while no reader waits for this process. */
  #idle(): NodeJS.Timeout {
    for (const handle of this.#handles()) handle.unref()
    return setTimeout(() => this.end(), idleTimeoutMs).unref()
  }

  #handles(): readonly { ref(): unknown; unref(): unknown }[] {
    const { stdin, stdout, stderr } = this.#child
    return [this.#child, ...([stdin, stdout, stderr] as unknown as Socket[])] // child_process: pipes are sockets
  }

  #ask(command: 'info' | 'contents', oid: Oid, info?: ObjectInfo) {
    return new Promise<{ info: ObjectInfo | undefined; content: Buffer | undefined }>((resolve, reject) => {
      const question = {
        oid,
        info,
        answer: (info: ObjectInfo | undefined, content?: Buffer) => resolve({ info, content }),
        fail: reject,
      }
      if (this.#ended) return reject(new CatFileEndedError(false, false, {}))
      this.#questions.push(question)
      // All queries of one turn of the event loop are sent in one write.
      if (this.#unsent === '') queueMicrotask(() => this.#send())
      this.#unsent += `${command} ${oid}\n`
    })
  }

  #send(): void {
    this.#child.stdin.write(this.#unsent)
    this.#unsent = ''
  }

  /** Ends a process whose output does not answer the query. */
  #refuse(): void {
    this.#child.stdout.removeAllListeners('data').resume()
    this.end()
  }

  #failAll(byItself: boolean): void {
    const facts = this.complaints === '' ? {} : { stderr: this.complaints }
    for (const [at, question] of this.#questions.splice(0).entries())
      question.fail(new CatFileEndedError(at === 0, at === 0 && byItself, facts))
  }
}

interface Question {
  readonly oid: Oid
  /** Git's answer to `info`, if this query asks for the content. Otherwise undefined. */
  readonly info: ObjectInfo | undefined
  answer(info: ObjectInfo | undefined, content?: Buffer): void
  fail(error: unknown): void
}

/** Bytes of the longest line in Git's answers. */
const maxLineBytes = 200

/** Reads the answers from Git's output, in the order of the queries. */
interface AnswerReader {
  /** Reads a piece of Git's output. False if it does not answer the next query. */
  take(chunk: Buffer): boolean
}

/** @param questions unanswered queries, oldest first; a query is removed when its answer is complete */
function answerReader(questions: Question[]): AnswerReader {
  let line = Buffer.alloc(0)
  let content: { readonly info: ObjectInfo; readonly bytes: Buffer; at: number } | undefined

  return {
    take: (chunk) => {
      let rest = chunk
      while (rest.length > 0) {
        const left = content ? takeContent(content, rest) : takeLine(rest)
        if (left === undefined) return false
        rest = left
      }
      return true
    },
  }

  /** Returns the rest of `chunk`, or undefined if the line does not answer the query. */
  function takeLine(chunk: Buffer): Buffer | undefined {
    const end = chunk.indexOf(0x0a)
    const whole = Buffer.concat([line, end < 0 ? chunk : chunk.subarray(0, end)])
    if (whole.length > maxLineBytes) return undefined
    line = end < 0 ? whole : Buffer.alloc(0)
    if (end < 0) return Buffer.alloc(0)
    return understand(whole.toString('latin1')) ? chunk.subarray(end + 1) : undefined
  }

  function understand(text: string): boolean {
    const [question] = questions
    if (!question) return false
    if (text === `${question.oid} missing`) {
      questions.shift()
      question.answer(undefined)
      return true
    }
    const [, oid, type, size] = /^([0-9a-f]{40}) (blob|tree|commit|tag) (\d{1,15})$/.exec(text) ?? []
    if (oid !== question.oid) return false
    const info = { type: type as PendingObject['type'], size: Number(size) } // the expression allows these four
    if (!question.info) {
      questions.shift()
      question.answer(info)
      return true
    }
    if (info.type !== question.info.type || info.size !== question.info.size) return false
    content = { info, bytes: Buffer.allocUnsafe(info.size), at: 0 }
    return true
  }

  /** Returns the rest of `chunk`, or undefined if it does not answer the query. */
  function takeContent(present: { info: ObjectInfo; bytes: Buffer; at: number }, chunk: Buffer): Buffer | undefined {
    const { info, bytes } = present
    const taken = Math.min(chunk.length, bytes.length - present.at)
    chunk.copy(bytes, present.at, 0, taken)
    present.at += taken
    if (taken === chunk.length) return Buffer.alloc(0)
    if (chunk[taken] !== 0x0a) return undefined
    content = undefined
    questions.shift()?.answer(info, bytes)
    return chunk.subarray(taken + 1)
  }
}
