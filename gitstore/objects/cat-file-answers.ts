/** Reads the answers of `git cat-file --batch-command` from its output, in the order of the questions. */

import type { Oid, PendingObject } from '../repo.ts'
import type { ObjectInfo } from './object-format.ts'

export interface Question {
  readonly oid: Oid
  /** What git answered to `info`, where the content is asked for; undefined where only `info` is asked. */
  readonly info: ObjectInfo | undefined
  answer(info: ObjectInfo | undefined, content?: Buffer): void
  fail(error: unknown): void
}

/** Bytes of the longest line that git answers with. */
const maxLineBytes = 200

export interface AnswerReader {
  /** Reads a piece of git's output; false where it is no answer to the next question. */
  take(chunk: Buffer): boolean
}

/** @param questions those without an answer, the oldest first; one is removed when its answer is complete */
export function answerReader(questions: Question[]): AnswerReader {
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
