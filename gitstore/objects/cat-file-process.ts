/** One process of `git cat-file --batch-command`: its questions, their answers, its end, and when it is taken to hang. */

import type { Socket } from 'node:net'
import { type GitProcess, killGroup, spawnGit, toStartError } from '../native.ts'
import type { Oid, PendingObject, Repo } from '../repo.ts'
import type { Allow } from './loose.ts'
import type { ObjectInfo } from './object-format.ts'

/** Milliseconds without a question after which a process ends, which releases the deleted packs that it holds open. */
const idleTimeoutMs = 5_000
/** Milliseconds without a byte of an answer after which a process is taken to hang. */
const silenceTimeoutMs = 10_000
/** Characters of git's complaints that are kept. */
const maxErrorCharacters = 4_096

/**
 * What a process holds in memory beside the object that it answers with: 32 MiB of packs, 8 MiB of the bases of deltas; it
 * maps the index of a pack whole. A blob of 1 MiB that is no delta is passed on as it is inflated.
 */
export const catFileMemory = [
  'core.packedGitWindowSize=1m',
  'core.packedGitLimit=32m',
  'core.deltaBaseCacheLimit=8m',
  'core.bigFileThreshold=1m',
].flatMap((setting) => ['-c', setting])

/** The process ended, or was ended, before it had answered. */
export class CatFileEndedError extends Error {
  /** Whether it was at work on this question. */
  readonly isCurrent: boolean
  /** Whether it ended with an error of its own: it was neither killed nor silent. */
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
  /** Undefined: git does not find it. */
  readonly found: T | undefined
  /** What git has complained about so far, of this object or of others. */
  readonly complaints: string
}

/** What the owner of a process does when its state changes. */
interface CatFileOwner {
  /** It takes no more questions. */
  left(catFile: CatFile): void
  /** It has ended, or could not be started. */
  ended(catFile: CatFile): void
}

export class CatFile {
  /** Of the repository that it reads. */
  readonly identity: string
  readonly born = performance.now()
  /** What git has complained about. */
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
    // Without --buffer, which would answer nothing before a flush.
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

  /** @throws Ended, what `allow` throws */
  read(oid: Oid, allow: Allow): Promise<CatFileAnswer<PendingObject>> {
    return this.#awake(async () => {
      const { info } = await this.#ask('info', oid)
      if (!info) return undefined
      allow(info)
      const { content } = await this.#ask('contents', oid, info)
      return content && { type: info.type, content }
    })
  }

  /** @throws Ended */
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

  /** Takes no more questions, and ends once those asked are answered. */
  retire(): void {
    this.#retired = true
    this.#listener.left(this)
    if (this.isIdle) this.end()
  }

  /** Waits until git has written all its output. */
  async finish(): Promise<void> {
    this.#wake()
    this.#child.stdin.end()
    await this.#closed
  }

  end(): void {
    this.#leave()
    // Another reader may wait for its end.
    for (const handle of this.#handles()) handle.ref()
    killGroup(this.#child)
  }

  /** Takes no more questions. */
  #leave(): void {
    this.#ended = true
    clearTimeout(this.#timer)
    this.#listener.left(this)
  }

  #gone(): void {
    this.#leave()
    this.#listener.ended(this)
  }

  /** Keeps the event loop alive for its answers, and starts the time limit for them. */
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

  /** No reader waits: neither this timer nor the process keeps ours alive. */
  #idle(): NodeJS.Timeout {
    for (const handle of this.#handles()) handle.unref()
    return setTimeout(() => this.end(), idleTimeoutMs).unref()
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
      if (this.#ended) return reject(new CatFileEndedError(false, false, {}))
      this.#questions.push(question)
      // All questions of one turn of the event loop go in one write.
      if (this.#unsent === '') queueMicrotask(() => this.#send())
      this.#unsent += `${command} ${oid}\n`
    })
  }

  #send(): void {
    this.#child.stdin.write(this.#unsent)
    this.#unsent = ''
  }

  /** Ends a process whose output is no answer to the question. */
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
  /** What git answered to `info`, where the content is asked for; undefined where only `info` is asked. */
  readonly info: ObjectInfo | undefined
  answer(info: ObjectInfo | undefined, content?: Buffer): void
  fail(error: unknown): void
}

/** Bytes of the longest line that git answers with. */
const maxLineBytes = 200

/** Reads the answers from git's output, in the order of the questions. */
interface AnswerReader {
  /** Reads a piece of git's output; false where it is no answer to the next question. */
  take(chunk: Buffer): boolean
}

/** @param questions those without an answer, the oldest first; one is removed when its answer is complete */
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

  /** The rest of `chunk`; undefined for what is no answer. */
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
    const info = { type: type as PendingObject['type'], size: Number(size) } // the expression has these four
    if (!question.info) {
      questions.shift()
      question.answer(info)
      return true
    }
    if (info.type !== question.info.type || info.size !== question.info.size) return false
    content = { info, bytes: Buffer.allocUnsafe(info.size), at: 0 }
    return true
  }

  /** As takeLine. */
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
