/** Follows one organisation in steps. A step embeds the texts of some changed nodes, and moves the position. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type FollowedChange,
  type FollowedOrg,
  filterNodesOf,
  listChangedNodes,
  listDeletedNodes,
} from '../../../index/derived/followed-nodes.ts'
import {
  beginPosition,
  findModel,
  findPosition,
  lastId,
  type Position,
  readGeneration,
  recordModel,
  type WriterAt,
} from '../../../index/vectors/positions.ts'
import {
  listSettled,
  type NewNode,
  readSettledHeads,
  readVectors,
  type VectorChange,
  writeVectors,
} from '../../../index/vectors/vectors.ts'
import type { Deps } from '../../base/deps.ts'
import { untilAborted } from '../net/deadlines.ts'
import type { Embeddings } from './embeddings.ts'
import { type NodeTexts, readNodeTexts } from './node-texts.ts'
import { countPendingNodes } from './pending-nodes.ts'
import { meanOf } from './texts.ts'

export interface Following extends Pick<Deps, 'index' | 'now'> {
  readonly embeddings: Embeddings
  /** Aborted when the follower stops. */
  readonly signal: AbortSignal
}

/** The outcome of a step. */
export interface Step {
  /** `retry`: rows were erased or swept during the step, so nothing was written. */
  readonly kind: 'more' | 'done' | 'retry' | 'not allowed'
  /** Texts that the model embedded or refused. */
  readonly texts: number
  /** Nodes that wait after the step, as an estimate. */
  readonly pending: number
}

/** The most texts and UTF-16 units of one call of the model. */
const batchTexts = 32
const batchUnits = 32_000
/** Nodes that a step looks at, and deletions. */
const nodesAtOnce = 50
const deletionsAtOnce = 500

/** Rows were erased or swept since the step began. */
class StaleError extends Error {}

/**
 * Takes the next step of an organisation.
 *
 * @throws EmbeddingError, DatabaseError, the signal's reason
 */
export async function followOrg(following: Following, org: FollowedOrg): Promise<Step> {
  const { embeddings } = following
  // Read before the permission, so that an erasure after it stops what this step writes.
  const generation = await readGeneration(embeddings.vectors.read, org.id)
  if (!(await embeddings.isAllowed(org.id))) return { kind: 'not allowed', texts: 0, pending: 0 }
  const known = await findModel(embeddings.vectors.read, embeddings.model.id)
  const model = known ?? (await embeddings.vectors.write((trx) => recordModel(trx, embeddings.model)))
  const step = new OrgStep(following, org, { orgId: org.id, model, generation })
  try {
    const kind = await step.run()
    return { kind, texts: step.texts, pending: await countPendingNodes(following, org) }
  } catch (error) {
    if (error instanceof StaleError) return { kind: 'retry', texts: step.texts, pending: 1 }
    throw error
  }
}

/** A changed node whose texts were read. */
interface Prepared extends NodeTexts {
  readonly id: string
}

class OrgStep {
  texts = 0
  readonly #following: Following
  readonly #org: FollowedOrg
  readonly #at: WriterAt

  constructor(following: Following, org: FollowedOrg, at: WriterAt) {
    this.#following = following
    this.#org = org
    this.#at = at
  }

  async run(): Promise<'more' | 'done'> {
    const position = await this.#begin()
    if (await this.#followNodes(position)) return 'more'
    // After the nodes: one that was deleted while it was read is then marked as deleted.
    if (await this.#followDeletions(position)) return 'more'
    if (position.isCompared && position.nodes.version >= this.#org.version) return 'done'
    if (!position.isCompared) await this.#markUnknown()
    // Later changes have greater versions.
    await this.#write({ position: { nodes: { version: this.#org.version, id: lastId }, isCompared: true } })
    return 'done'
  }

  async #begin(): Promise<Position> {
    const { vectors } = this.#following.embeddings
    const { epoch } = this.#org
    const found = await findPosition(vectors.read, this.#at)
    if (found?.epoch === epoch) return found
    const begun = await vectors.write((trx) => beginPosition(trx, this.#at, epoch, this.#following.now()))
    if (begun === undefined) throw new StaleError()
    return begun
  }

  /** Returns true if more changed nodes are left. */
  async #followNodes(position: Position): Promise<boolean> {
    const { index, embeddings } = this.#following
    const changed = await listChangedNodes(index.read, this.#org.id, position.nodes, nodesAtOnce)
    if (changed.length === 0) return false
    const ids = changed.map(({ id }) => id)
    const settled = await readSettledHeads(embeddings.vectors.read, this.#at, ids)
    const prepared: Prepared[] = []
    const lacking = new Map<string, string>()
    let seen: FollowedChange | undefined
    for (const node of changed) {
      if (isFull(lacking)) break
      seen = node
      if (settled.get(node.id) === (node.head ?? '')) continue
      const read = await readNodeTexts(this.#following, node.id)
      // It was deleted, which a later change says.
      if (read === undefined) continue
      const one = { id: node.id, ...read }
      prepared.push(one)
      await this.#addLacking(one, lacking)
    }
    await this.#embed([...lacking])
    const nodes = await this.#nodesOf(prepared)
    await this.#write({ nodes, ...(seen && { position: { nodes: { version: seen.changed, id: seen.id } } }) })
    return changed.length === nodesAtOnce || seen !== changed.at(-1)
  }

  async #addLacking({ texts }: Prepared, lacking: Map<string, string>): Promise<void> {
    const keys = texts.map(({ key }) => key)
    const known = await readVectors(this.#following.embeddings.vectors.read, this.#at, keys)
    for (const { key, text } of texts) if (!known.has(key)) lacking.set(key, text)
  }

  /** Embeds texts in batches, and writes the vectors of each batch at once. So a kill loses one batch. */
  async #embed(lacking: readonly (readonly [key: string, text: string])[]): Promise<void> {
    const { embeddings } = this.#following
    // Its own signal, so that the follower's does not collect listeners.
    const signal = AbortSignal.any([this.#following.signal])
    for (const batch of batchesOf(lacking)) {
      const texts = batch.map(([, text]) => text)
      const vectors = await untilAborted(embeddings.model.embedTexts(texts, signal), signal)
      if (vectors.length !== batch.length)
        throw new Error(`The model answered ${batch.length} texts with ${vectors.length} vectors`)
      const passages = batch.map(([key], at) => ({ key: Buffer.from(key, 'hex'), vector: vectors[at] }))
      await this.#write({ passages })
      this.texts += batch.length
    }
  }

  async #nodesOf(prepared: readonly Prepared[]): Promise<NewNode[]> {
    const nodes: NewNode[] = []
    for (const { id, head, texts } of prepared) {
      const keys = texts.map(({ key }) => key)
      const known = await readVectors(this.#following.embeddings.vectors.read, this.#at, keys)
      const vector = meanOf(texts.map(({ key, text }) => ({ length: text.length, vector: known.get(key) })))
      const characters = texts.reduce((sum, { text }) => sum + text.length, 0)
      nodes.push({ id, head, keys: keys.map((key) => Buffer.from(key, 'hex')), vector, characters })
    }
    return nodes
  }

  /** Returns true if more deletions are left. */
  async #followDeletions(position: Position): Promise<boolean> {
    const { index } = this.#following
    const deleted = await listDeletedNodes(index.read, this.#org.id, position.deletions, deletionsAtOnce)
    const last = deleted.at(-1)
    if (last === undefined) return false
    const deletions = { version: last.changed, id: last.id }
    await this.#write({ gone: deleted.map(({ id }) => id), position: { deletions } })
    return deleted.length === deletionsAtOnce
  }

  /** Marks nodes with rows that the index does not have. A rebuilt index has no record of earlier deletions. */
  async #markUnknown(): Promise<void> {
    const { index, embeddings, signal } = this.#following
    let after = ''
    for (;;) {
      signal.throwIfAborted()
      const ids = await listSettled(embeddings.vectors.read, this.#at, after, deletionsAtOnce)
      const last = ids.at(-1)
      if (last === undefined) return
      const present = await filterNodesOf(index.read, this.#org.id, ids)
      const gone = ids.filter((id) => !present.has(id))
      if (gone.length > 0) await this.#write({ gone })
      after = last
      await nextTurn()
    }
  }

  /** @throws StaleError */
  async #write(change: VectorChange): Promise<void> {
    this.#following.signal.throwIfAborted()
    const outcome = await this.#following.embeddings.vectors.write((trx) => writeVectors(trx, this.#at, change))
    if (outcome !== 'written') throw new StaleError()
  }
}

function isFull(lacking: ReadonlyMap<string, string>): boolean {
  if (lacking.size >= batchTexts) return true
  let units = 0
  for (const text of lacking.values()) units += text.length
  return units >= batchUnits
}

type Keyed = readonly [key: string, text: string]

function* batchesOf(all: readonly Keyed[]): Generator<readonly Keyed[]> {
  let batch: Keyed[] = []
  let units = 0
  for (const one of all) {
    const length = one[1].length
    if (batch.length === batchTexts || (batch.length > 0 && units + length > batchUnits)) {
      yield batch
      batch = []
      units = 0
    }
    batch.push(one)
    units += length
  }
  if (batch.length > 0) yield batch
}
