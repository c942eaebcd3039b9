/** The database of vectors: changes in order, writers that come too late, and readers beside them. */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { type Database, openDatabase } from '../../index/sqlite/database.ts'
import { beginErasure, eraseNodeRows } from '../../index/vectors/erasure.ts'
import { vectorsMigrations } from '../../index/vectors/migrations.ts'
import { beginProgress, countSettled, recordModel } from '../../index/vectors/progress.ts'
import { openVectorRows, type VectorRows } from '../../index/vectors/read-rows.ts'
import type { VectorsSchema } from '../../index/vectors/schema.ts'
import { type NewNode, type VectorChange, writeVectors } from '../../index/vectors/vectors.ts'
import { keyOf } from '../../server/domain/embeddings/texts.ts'
import { hex, lettersOf } from './embedder-scene.ts'

const org = 'an organisation'
const model = { id: 'ab'.repeat(16), name: 'letters' }

describe('the database of vectors', () => {
  let folder: string
  let vectors: Database<VectorsSchema>
  let reader: VectorRows
  let number: number
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-vectors-'))
    const file = join(folder, 'vectors.sqlite')
    reader = openVectorRows(file)
    expect(reader.modelOf(model.id), 'before there is a file').to.equal(undefined)
    vectors = await openDatabase(file, vectorsMigrations, { synchronous: 'NORMAL' })
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    number = await vectors.write((trx) => recordModel(trx, model))
    await vectors.write((trx) => beginProgress(trx, at(), 'an epoch', new Date()))
  })
  afterEach(async () => {
    reader.close()
    await vectors.close()
    await rm(folder, { recursive: true })
  })

  const at = (generation = '') => ({ orgId: org, model: number, generation })
  const write = (change: VectorChange, generation = '') =>
    vectors.write((trx) => writeVectors(trx, at(generation), change))
  const passage = (text: string) => ({ key: keyOf(model.id, text), vector: lettersOf(text) })
  const node = (id: string, text: string): NewNode => {
    const { key, vector } = passage(text)
    return { id, head: text, keys: [key], vector, characters: text.length }
  }

  it('keeps the first vector of a key, and refuses other dimensions', async () => {
    const key = keyOf(model.id, 'a text')
    await write({ passages: [{ key, vector: lettersOf('one') }] })
    await write({ passages: [{ key, vector: lettersOf('two') }] })
    expect(reader.passages(org, number, [hex(key)]).get(hex(key))).to.deep.equal(lettersOf('one'))
    const error = await write({ passages: [{ key, vector: new Int8Array(8).fill(1) }] }).catch((fault: Error) => fault)
    expect(error).to.be.instanceOf(Error).and.include({
      message: 'The model answers with 8 dimensions, but its vectors have 64',
    })
  })

  it('refuses a node whose passages are not there, and writers that began before an erasure', async () => {
    expect(await write({ nodes: [node('a', 'a text')] })).to.equal('missing')
    expect(await write({ passages: [passage('a text')], nodes: [node('a', 'a text')] })).to.equal('written')
    await vectors.write((trx) => beginErasure(trx, org))
    expect(await write({ nodes: [node('a', 'a text')] })).to.equal('erased')
    expect(reader.stateOf(org, number)).to.equal(undefined)
    expect(await vectors.write((trx) => beginProgress(trx, at(), 'an epoch', new Date()))).to.equal(undefined)
  })

  it('shows a reader all changes, whenever it reads and in slices of any size', async () => {
    const texts = ['one text', 'another text', 'a third text']
    await write({ passages: texts.map(passage) })
    const ids = ['a', 'b', 'c', 'd']
    const step = fc.oneof(
      fc.record({ kind: fc.constant('put' as const), id: fc.constantFrom(...ids), text: fc.constantFrom(...texts) }),
      fc.record({ kind: fc.constant('end' as const), id: fc.constantFrom(...ids) }),
      fc.record({ kind: fc.constant('purge' as const), id: fc.constantFrom(...ids) }),
      fc.record({ kind: fc.constant('read' as const), limit: fc.integer({ min: 1, max: 3 }) }),
    )
    const expected = new Map<string, string>()
    let held = new Map<string, string>()
    let state = { incarnation: '', seq: 0 }
    const read = (limit: number) => {
      const now = reader.stateOf(org, number)
      if (now?.incarnation !== state.incarnation) {
        held = new Map()
        state = { incarnation: now?.incarnation ?? '', seq: 0 }
      }
      for (;;) {
        const rows = reader.nodesSince(org, number, state.seq, limit)
        for (const { id, head, isGone } of rows) {
          if (isGone) held.delete(id)
          else held.set(id, head)
        }
        state = { ...state, seq: rows.at(-1)?.seq ?? state.seq }
        if (rows.length < limit) return
      }
    }
    let generation = ''
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        for (const one of steps) {
          if (one.kind === 'put') {
            expect(await write({ nodes: [node(one.id, one.text)] }, generation)).to.equal('written')
            expected.set(one.id, one.text)
          } else if (one.kind === 'end') {
            expect(await write({ gone: [one.id] }, generation)).to.equal('written')
            expected.delete(one.id)
          } else if (one.kind === 'purge') {
            await vectors.write((trx) => eraseNodeRows(trx, org, [one.id]))
            const row = await vectors.read.selectFrom('erasure').select('generation').executeTakeFirstOrThrow()
            generation = row.generation
            expected.delete(one.id)
          } else read(one.limit)
        }
        read(2)
        expect([...held].sort()).to.deep.equal([...expected].sort())
        expect(await countSettled(vectors.read, org, model.id)).to.equal(expected.size)
      }),
      { numRuns: 50 },
    )
  })
})
