/** Reads the vectors that an endpoint answers with, and trusts nothing in its answer. */

import { exceededBound } from '../../base/json-bounds.ts'
import * as limits from '../../base/limits.ts'
import { quantised } from './quantise.ts'

/** Bytes: the longest answer, all but its numbers, a number with its spaces. */
const [longestAnswer, restBytes, numberBytes] = [16 * 1_048_576, 65_536, 64]

export interface Vectors {
  /** In the order of the texts. Undefined: not finite, or only zeros. */
  readonly vectors: readonly (Int8Array | undefined)[]
  /** Tokens that the endpoint counted. */
  readonly tokens: number | undefined
}

/** The answer is not one. The message says why, and quotes nothing of it. */
export class AnswerError extends Error {}

/** The most bytes of an answer to so many texts. */
export function answerBytes(texts: number): number {
  return Math.min(longestAnswer, restBytes + texts * limits.dimensions * numberBytes)
}

/** @param dimensions those required; undefined: any, but all the same. @throws AnswerError */
export function parseVectors(body: Buffer, texts: number, dimensions: number | undefined): Vectors {
  const answer = parseJson(body, texts)
  const data = fieldOf(answer, 'data')
  if (!Array.isArray(data)) throw new AnswerError('has no list of vectors')
  if (data.length !== texts) throw new AnswerError(`has ${data.length} vectors for ${texts} texts`)
  const found = new Map<number, readonly number[] | Float32Array>()
  for (const item of data) {
    const index = fieldOf(item, 'index')
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= texts || found.has(index))
      throw new AnswerError('does not number its vectors as the texts')
    found.set(index, valuesOf(fieldOf(item, 'embedding')))
  }
  const wanted = dimensions ?? found.get(0)?.length ?? 0
  if (wanted < 1 || wanted > limits.dimensions) throw new AnswerError(`has vectors of ${wanted} dimensions`)
  for (const { length } of found.values())
    if (length !== wanted) throw new AnswerError(`has a vector of ${length} dimensions, not ${wanted}`)
  const vectors = Array.from({ length: texts }, (_, at) => vectorOf(found.get(at) ?? []))
  return { vectors, tokens: tokensIn(answer) }
}

function parseJson(body: Buffer, texts: number): unknown {
  const values = 2 * texts * limits.dimensions + 10_000
  if (exceededBound(body, { levels: 20, containers: 10_000, values }) !== undefined)
    throw new AnswerError('has too many values')
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new AnswerError('is not valid JSON')
  }
}

/** @throws AnswerError */
function valuesOf(embedding: unknown): readonly number[] | Float32Array {
  if (typeof embedding === 'string') return floatsOf(embedding)
  if (!Array.isArray(embedding)) throw new AnswerError('has a vector that is neither base64 nor a list of numbers')
  // JSON cannot write NaN, so some endpoints write null.
  return embedding.map((value: unknown) => (typeof value === 'number' ? value : Number.NaN))
}

/** Decodes base64 of little-endian 32-bit floats. @throws AnswerError */
function floatsOf(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64')
  const isWhole = bytes.length % 4 === 0 && bytes.toString('base64') === text
  if (!isWhole) throw new AnswerError('has a vector that is not base64 of 32-bit numbers')
  return Float32Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(4 * at))
}

function vectorOf(values: ArrayLike<number>): Int8Array | undefined {
  try {
    return quantised(values)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function tokensIn(answer: unknown): number | undefined {
  const total = fieldOf(fieldOf(answer, 'usage'), 'total_tokens')
  return typeof total === 'number' && Number.isSafeInteger(total) && total >= 0 ? total : undefined
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
