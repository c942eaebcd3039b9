/** A stand-in model, and an embedder over the data folder of a service. */
import { createHash } from 'node:crypto'
import type { Database } from '../../index/sqlite/database.ts'
import type { VectorsSchema } from '../../index/vectors/schema.ts'
import { type Embedder, startEmbedder } from '../../server/domain/embeddings/embedder.ts'
import type { Embeddings } from '../../server/domain/embeddings/embeddings.ts'
import type { EmbeddingModel } from '../../server/domain/embeddings/model.ts'
import { quantised } from '../../server/domain/embeddings/quantise.ts'
import { openVectors } from '../../server/process/embeddings.ts'
import type { Grove } from '../support/grove.ts'

const dimensions = 64

/** Hashes letters. Equal texts have equal vectors in every process. */
export function lettersOf(text: string): Int8Array {
  const values = new Float64Array(dimensions)
  for (let at = 0; at < text.length; at++) {
    const digest = createHash('sha256')
      .update(text.slice(at, at + 3))
      .digest()
    const place = (digest[0] ?? 0) % dimensions
    values[place] = (values[place] ?? 0) + 1
  }
  return quantised(values)
}

/** A model that remembers its texts. */
export class LetterModel implements EmbeddingModel {
  readonly id: string
  readonly name = 'letters'
  readonly languages = undefined
  readonly leavesMachine = false
  /** The texts of all calls, in order. */
  readonly texts: string[] = []
  /** The number of texts of each call. */
  readonly calls: number[] = []
  /** Called before each answer. */
  before: (texts: readonly string[]) => Promise<unknown> | undefined = () => undefined
  refuses: (text: string) => boolean = () => false

  constructor(name = 'letters') {
    this.id = createHash('sha256').update(name).digest('hex').slice(0, 32)
  }

  async embedTexts(texts: readonly string[]): Promise<readonly (Int8Array | undefined)[]> {
    await this.before(texts)
    this.calls.push(texts.length)
    this.texts.push(...texts)
    return texts.map((text) => (this.refuses(text) ? undefined : lettersOf(text)))
  }

  async embedQuestion(text: string): Promise<Int8Array | undefined> {
    return lettersOf(text)
  }

  async close(): Promise<void> {}
}

export interface Scene {
  readonly model: LetterModel
  readonly embeddings: Embeddings
  readonly vectors: Database<VectorsSchema>
  /** Organisations that do not allow it. */
  readonly refused: Set<string>
  embed(): Embedder
  /** Stops the embedders, and closes the database. */
  close(): Promise<void>
}

/** Opens the vectors of a service's data folder. Nothing is embedded until `embed`. */
export async function openScene({ deps, dataDir }: Grove, model = new LetterModel()): Promise<Scene> {
  const closing = new AbortController()
  const draining = AbortSignal.any([deps.draining, closing.signal])
  const vectors = await openVectors(dataDir, { log: deps.log, draining }, async () => false)
  const refused = new Set<string>()
  const embeddings: Embeddings = {
    model,
    vectors,
    servesStrangers: true,
    allows: ({ id }) => !refused.has(id),
    isAllowed: async (orgId) => !refused.has(orgId),
  }
  const embedders: Embedder[] = []
  return {
    model,
    embeddings,
    vectors,
    refused,
    embed: () => {
      const intervals = { lookMs: 10, recheckMs: 100, lockMs: 10, faultMs: 20 }
      const embedder = startEmbedder({ ...deps, draining }, embeddings, intervals)
      embedders.push(embedder)
      return embedder
    },
    close: async () => {
      for (const embedder of embedders) await embedder.stop()
      closing.abort()
      await vectors.close()
    },
  }
}

/** Returns the rows of nodes that are not deleted, with the vectors of their passages, and whether all are there. */
export async function rowsOf({ vectors, model }: Scene, orgId: string) {
  const number = (await vectors.read.selectFrom('model').select('number').where('id', '=', model.id).executeTakeFirst())
    ?.number
  const nodes = await vectors.read
    .selectFrom('node')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('model', '=', number ?? -1)
    .where('gone', '=', 0)
    .orderBy('node_id')
    .execute()
  const passages = await vectors.read
    .selectFrom('passage')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('model', '=', number ?? -1)
    .execute()
  const byKey = new Map(passages.map(({ key, vector }) => [hex(key), hex(vector)]))
  return nodes.map(({ node_id, head, keys, vector, characters }) => ({
    node_id,
    head,
    characters,
    vector: hex(vector),
    passages: (hex(keys).match(/.{32}/g) ?? []).map((key) => [key, byKey.get(key) ?? 'missing']),
  }))
}

export function hex(bytes: Iterable<number>): string {
  return Buffer.from(Int8Array.from(bytes)).toString('hex')
}

/** Returns the number of rows of a table that are of an organisation. */
export async function countOf({ vectors }: Scene, table: 'passage' | 'node' | 'position', orgId: string) {
  const rows = await vectors.read
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('org_id', '=', orgId)
    .executeTakeFirstOrThrow()
  return rows.count
}

/** True if all nodes of the organisation that the index has are embedded, up to their heads. */
export async function isEmbedded(scene: Scene, { deps }: Grove, orgId: string): Promise<boolean> {
  const nodes = await deps.index.read
    .selectFrom('node')
    .select(['id', 'head'])
    .where('org_id', '=', orgId)
    .orderBy('id')
    .execute()
  const rows = await rowsOf(scene, orgId)
  const heads = (list: readonly (readonly [string, string | null])[]) => JSON.stringify(list)
  return heads(nodes.map(({ id, head }) => [id, head])) === heads(rows.map(({ node_id, head }) => [node_id, head]))
}
