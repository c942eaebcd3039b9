/** The embedded texts of a node, their keys, and the vector of the node. */
import { createHash } from 'node:crypto'
import { passagesOf } from '../../../index/search/text/passages.ts'
import { proseOf } from '../../../index/search/text/prose.ts'
import { keyBytes } from '../../../index/vectors/vectors.ts'
import * as limits from '../../base/limits.ts'
import { quantised } from './quantise.ts'

/**
 * Returns the texts of a node by position. They are its passages, or title and prose if it has no passages. A node
 * without any text has none.
 *
 * @param source Markdown
 */
export function textsOf(title: string, source: string): string[] {
  const prose = proseOf(source)
  const passages = passagesOf(title, source, prose)
  if (passages.length > 0) return passages.slice(0, limits.embeddedTexts).map(({ text }) => cut(text))
  const whole = cut([title, prose.text.trim()].filter((part) => part !== '').join('\n'))
  return whole.trim() === '' ? [] : [whole]
}

/** Cuts a text without halving a character. */
function cut(text: string): string {
  if (text.length <= limits.embeddedTextUnits) return text
  const last = text.charCodeAt(limits.embeddedTextUnits - 1)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, isHalf ? limits.embeddedTextUnits - 1 : limits.embeddedTextUnits)
}

/** Returns the key of a text for a model. */
export function keyOf(modelId: string, text: string): Buffer {
  return createHash('sha256').update(modelId).update('\0').update(text).digest().subarray(0, keyBytes)
}

/** A text with its vector. */
interface Embedded {
  /** The length of the text. */
  readonly length: number
  /** Undefined or empty: the model refuses the text. */
  readonly vector: Int8Array | undefined
}

/** Returns the vector of a node. Longer texts count more. Undefined if no text has a vector, or they cancel out. */
export function meanOf(texts: readonly Embedded[]): Int8Array | undefined {
  const first = texts.find(({ vector }) => vector !== undefined && vector.length > 0)?.vector
  if (first === undefined) return undefined
  const sum = new Float64Array(first.length)
  for (const { length, vector } of texts) {
    if (vector === undefined || vector.length !== sum.length) continue
    const factor = Math.sqrt(length) / lengthOf(vector)
    for (const [at, value] of vector.entries()) sum[at] = (sum[at] ?? 0) + factor * value
  }
  return sum.some((value) => value !== 0) ? quantised(sum) : undefined
}

/** Returns the Euclidean length. A quantised vector has a value of 127, so it is never 0. */
function lengthOf(vector: Int8Array): number {
  let sum = 0
  for (const value of vector) sum += value * value
  return Math.sqrt(sum)
}
