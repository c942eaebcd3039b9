/** The WebAssembly module that multiplies vectors, compared with its text and with JavaScript. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import wabt from 'wabt'
import {
  BLOCK,
  bytesOfBlock,
  dotProducts,
  freeBlock,
  MOST_DIMENSIONS,
  SCAN_MODULE,
  takeBlock,
  widthOf,
} from '../../../index/search/meaning/vector-scan.ts'

const file = new URL('../../../index/search/meaning/vector-scan.ts', import.meta.url)

const aVector = (dimensions: number) => fc.int8Array({ minLength: dimensions, maxLength: dimensions })

const someVectors = fc
  .oneof(fc.integer({ min: 1, max: 70 }), fc.constantFrom(383, 384, MOST_DIMENSIONS))
  .chain((dimensions) => fc.tuple(aVector(dimensions), fc.array(aVector(dimensions), { maxLength: 40 })))

/** Stores the vectors and returns the products from the module. */
function scanned(question: Int8Array, vectors: readonly Int8Array[]): number[] {
  const width = widthOf(question.length)
  const inBlock = Math.floor(BLOCK / width)
  const blocks = Array.from({ length: Math.ceil(vectors.length / inBlock) }, takeBlock)
  for (const [row, vector] of vectors.entries())
    bytesOfBlock(blocks[Math.floor(row / inBlock)] ?? 0).set(vector, (row % inBlock) * width)
  const products = dotProducts(question, blocks, width, vectors.length)
  blocks.forEach(freeBlock)
  return [...products]
}

const product = (one: Int8Array, other: Int8Array) => one.reduce((sum, value, n) => sum + value * (other[n] ?? 0), 0)

describe('search: the scan of vectors', () => {
  it('is the module that its text says', async () => {
    const [, comment = ''] = /```wat\n([\s\S]*?)```/.exec(await readFile(file, 'utf8')) ?? []
    const text = comment.replace(/^ \* ?/gm, '')
    const assembled = (await wabt()).parseWat('scan.wat', text, { simd: true }).toBinary({}).buffer
    expect(SCAN_MODULE.equals(assembled), Buffer.from(assembled).toString('base64')).to.equal(true)
  })

  it('multiplies exactly as JavaScript, with any number of dimensions and vectors', () => {
    fc.assert(
      fc.property(someVectors, ([question, vectors]) => {
        expect(scanned(question, vectors)).to.deep.equal(vectors.map((vector) => product(question, vector)))
      }),
      { numRuns: 200 },
    )
  })

  it('multiplies the greatest numbers, and over many blocks', () => {
    const greatest = new Int8Array(MOST_DIMENSIONS).fill(-128)
    expect(scanned(greatest, [greatest])).to.deep.equal([MOST_DIMENSIONS * 128 * 128])
    const many = Array.from({ length: 1_000 }, (_, n) => new Int8Array(400).fill((n % 255) - 127))
    const question = new Int8Array(400).fill(3)
    expect(scanned(question, many)).to.deep.equal(many.map((vector) => product(question, vector)))
  })

  it('refuses vectors of no dimension, and of too many', () => {
    for (const dimensions of [0, 1.5, MOST_DIMENSIONS + 1]) expect(() => widthOf(dimensions)).to.throw(RangeError)
    expect([1, 16, 17, MOST_DIMENSIONS].map(widthOf)).to.deep.equal([16, 16, 32, MOST_DIMENSIONS])
  })
})
