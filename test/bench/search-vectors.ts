/** Vectors for measurements: by the model that the environment names, kept on disk. */
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { readConfig } from '../../server/base/config.ts'
import { openLocalModel } from '../../server/domain/embeddings/local-model.ts'
import type { EmbeddingModel } from '../../server/domain/embeddings/model.ts'
import { openModel } from '../../server/domain/embeddings/open-model.ts'
import { keyOf } from '../../server/domain/embeddings/texts.ts'
import { newMetrics } from '../../server/metrics/metrics.ts'

/** Texts that are embedded at once. */
const atOnce = 16
const keyLength = 16
const patienceMs = 60_000

export interface Vectors {
  readonly model: EmbeddingModel
  /** Returns the vectors of texts by the text. A text that the model refuses has none. */
  ofTexts(texts: readonly string[]): Promise<ReadonlyMap<string, Int8Array>>
  ofQuestions(questions: readonly string[]): Promise<ReadonlyMap<string, Int8Array>>
}

/**
 * Opens the local model of the packages in MODEL_PACKAGES, or the model of the EMBEDDINGS variables. Vectors are kept
 * in the folder VECTORS, in a file for each model. Default: a temporary folder.
 *
 * @throws Error if the environment names no model
 */
export async function openVectors(): Promise<Vectors> {
  const { MODEL_PACKAGES: packages, VECTORS: folder = join(tmpdir(), 'grove-vectors') } = process.env
  const deps = { now: () => new Date(), log: pino({ level: 'warn' }), metrics: newMetrics() }
  const options = { lateMs: patienceMs, mostRestMs: 0 }
  const model =
    packages === undefined
      ? await openModel({ ...deps, config: readConfig(), listening: { port: 0 } }, openLocalModel, options)
      : await openLocalModel({ ...deps, ...options, folder: packages })
  if (model === undefined) throw new Error('Set MODEL_PACKAGES, or EMBEDDINGS with the variables of an endpoint')
  mkdirSync(folder, { recursive: true })
  const cache = openCache(join(folder, `${model.id}.vectors`))
  const find = async (texts: readonly string[], id: string, embed: Embed) => {
    const lacking = [...new Set(texts)].filter((text) => cache.find(keyOf(id, text)) === undefined)
    for (let n = 0; n < lacking.length; n += atOnce) {
      const batch = lacking.slice(n, n + atOnce)
      const vectors = await embed(batch)
      for (const [at, text] of batch.entries()) cache.add(keyOf(id, text), vectors[at])
    }
    const found = texts.map((text): [string, Int8Array] => [text, cache.find(keyOf(id, text)) ?? new Int8Array()])
    return new Map(found.filter(([, vector]) => vector.length > 0))
  }
  return {
    model,
    ofTexts: (texts) => find(texts, model.id, (batch) => model.embedTexts(batch, new AbortController().signal)),
    // Prefixes of questions differ from those of texts.
    ofQuestions: (questions) =>
      find(questions, `${model.id} question`, async (batch) => {
        const vectors: (Int8Array | undefined)[] = []
        for (const question of batch) vectors.push(await model.embedQuestion(question))
        if (vectors.includes(undefined)) throw new Error('The model did not embed a question')
        return vectors
      }),
  }
}

type Embed = (texts: readonly string[]) => Promise<readonly (Int8Array | undefined)[]>

/** Opens a file of records: key, length of the vector in two bytes, vector. A refused text has an empty vector. */
function openCache(file: string) {
  const known = new Map<string, Int8Array>()
  const bytes = readOrEmpty(file)
  for (let at = 0; at + keyLength + 2 <= bytes.length; ) {
    const start = at + keyLength + 2
    const end = start + bytes.readUInt16LE(at + keyLength)
    known.set(bytes.toString('hex', at, at + keyLength), new Int8Array(bytes.subarray(start, end)))
    at = end
  }
  return {
    find: (key: Buffer) => known.get(key.toString('hex')),
    add(key: Buffer, vector: Int8Array = new Int8Array()): void {
      const length = Buffer.alloc(2)
      length.writeUInt16LE(vector.length)
      appendFileSync(file, Buffer.concat([key, length, new Uint8Array(vector)]))
      known.set(key.toString('hex'), vector)
    },
  }
}

function readOrEmpty(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}
