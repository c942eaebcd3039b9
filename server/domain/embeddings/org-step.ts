/** Embeds one organisation in steps. A step embeds the texts of some changed nodes, and records the progress. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type ChangedOrg,
  filterNodesOf,
  listDeletedNodes,
  type NodeChange,
} from '../../../index/derived/changed-nodes.ts'
import {
  beginProgress,
  findModel,
  findProgress,
  lastId,
  type Progress,
  readGeneration,
  recordModel,
  type WriterAt,
} from '../../../index/vectors/progress.ts'
import {
  listSettled,
  type NewNode,
  readVectors,
  type VectorChange,
  writeVectors,
} from '../../../index/vectors/vectors.ts'
import { untilAborted } from '../net/deadlines.ts'
import type { Services } from '../services.ts'
import type { Embeddings } from './embeddings.ts'
import { type NodeTexts, readNodeTexts } from './node-texts.ts'
import { countPendingNodes, listChanges } from './pending-nodes.ts'
import { meanOf } from './texts.ts'

export interface StepDeps extends Pick<Services, 'index' | 'now'> {
  readonly embeddings: Embeddings
  /** Aborted when the embedder stops. */
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
export async function takeStep(deps: StepDeps, org: ChangedOrg): Promise<Step> {
  const { embeddings } = deps
  // Read before the permission, so that an erasure after it stops what this step writes.
  const generation = await readGeneration(embeddings.vectors.read, org.id)
  if (!(await embeddings.isAllowed(org.id))) return { kind: 'not allowed', texts: 0, pending: 0 }
  const known = await findModel(embeddings.vectors.read, embeddings.model.id)
  const model = known ?? (await embeddings.vectors.write((trx) => recordModel(trx, embeddings.model)))
  const step = new OrgStep(deps, org, { orgId: org.id, model, generation })
  try {
    const kind = await step.run()
    return { kind, texts: step.texts, pending: await countPendingNodes(deps, org) }
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
  readonly #deps: StepDeps
  readonly #org: ChangedOrg
  readonly #at: WriterAt

  constructor(deps: StepDeps, org: ChangedOrg, at: WriterAt) {
    this.#deps = deps
    this.#org = org
    this.#at = at
  }

  async run(): Promise<'more' | 'done'> {
    const progress = await this.#begin()
    if (await this.#embedNodes(progress)) return 'more'
    // After the nodes: one that was deleted while it was read is then marked as deleted.
    if (await this.#markDeleted(progress)) return 'more'
    if (progress.isCompared && progress.nodes.version >= this.#org.version) return 'done'
    if (!progress.isCompared) await this.#markUnknown()
    // Later changes have greater versions.
    await this.#write({ progress: { nodes: { version: this.#org.version, id: lastId }, isCompared: true } })
    return 'done'
  }

  async #begin(): Promise<Progress> {
    const { vectors } = this.#deps.embeddings
    const { epoch } = this.#org
    const found = await findProgress(vectors.read, this.#at)
    if (found?.epoch === epoch) return found
    const begun = await vectors.write((trx) => beginProgress(trx, this.#at, epoch, this.#deps.now()))
    if (begun === undefined) throw new StaleError()
    return begun
  }

  /** Returns true if more changed nodes are left. */
  async #embedNodes(progress: Progress): Promise<boolean> {
    const changed = await listChanges(this.#deps, this.#at, progress.nodes, nodesAtOnce)
    if (changed.length === 0) return false
    const prepared: Prepared[] = []
    const lacking = new Map<string, string>()
    let seen: NodeChange | undefined
    for (const node of changed) {
      if (isFull(lacking)) break
      seen = node
      if (node.isSettled) continue
      const read = await readNodeTexts(this.#deps, node.id)
      // It was deleted, which a later change says.
      if (read === undefined) continue
      const one = { id: node.id, ...read }
      prepared.push(one)
      await this.#addLacking(one, lacking)
    }
    await this.#embed([...lacking])
    const nodes = await this.#nodesOf(prepared)
    await this.#write({ nodes, ...(seen && { progress: { nodes: { version: seen.changed, id: seen.id } } }) })
    return changed.length === nodesAtOnce || seen !== changed.at(-1)
  }

  async #addLacking({ texts }: Prepared, lacking: Map<string, string>): Promise<void> {
    const keys = texts.map(({ key }) => key)
    const known = await readVectors(this.#deps.embeddings.vectors.read, this.#at, keys)
    for (const { key, text } of texts) if (!known.has(key)) lacking.set(key, text)
  }

  /** Embeds texts in batches, and writes the vectors of each batch at once. So a kill loses one batch. */
  async #embed(lacking: readonly (readonly [key: string, text: string])[]): Promise<void> {
    const { embeddings } = this.#deps
    // Its own signal, so that the embedder's does not collect listeners.
    const signal = AbortSignal.any([this.#deps.signal])
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
      const known = await readVectors(this.#deps.embeddings.vectors.read, this.#at, keys)
      const vector = meanOf(texts.map(({ key, text }) => ({ length: text.length, vector: known.get(key) })))
      const characters = texts.reduce((sum, { text }) => sum + text.length, 0)
      nodes.push({ id, head, keys: keys.map((key) => Buffer.from(key, 'hex')), vector, characters })
    }
    return nodes
  }

  /** Returns true if more deletions are left. */
  async #markDeleted(progress: Progress): Promise<boolean> {
    const { index } = this.#deps
    const deleted = await listDeletedNodes(index.read, this.#org.id, progress.deletions, deletionsAtOnce)
    const last = deleted.at(-1)
    if (last === undefined) return false
    const deletions = { version: last.changed, id: last.id }
    await this.#write({ gone: deleted.map(({ id }) => id), progress: { deletions } })
    return deleted.length === deletionsAtOnce
  }

  /** Marks nodes with rows that the index does not have. A rebuilt index has no record of earlier deletions. */
  async #markUnknown(): Promise<void> {
    const { index, embeddings, signal } = this.#deps
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
    this.#deps.signal.throwIfAborted()
    const outcome = await this.#deps.embeddings.vectors.write((trx) => writeVectors(trx, this.#at, change))
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
