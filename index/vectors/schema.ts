/** The tables of `vectors.sqlite`: vectors of texts, which follow from the index and a model. They may have cost money. */
import type { Kysely } from 'kysely'

/** A model that made vectors. Vectors of different models never meet. */
interface ModelTable {
  number: number
  /** Hex. */
  id: string
  name: string
  /** 0 before its first vector. */
  dimensions: number
}

/** The vector of a text. */
interface PassageTable {
  org_id: string
  model: number
  /** 16 bytes, computed from the model and the text. */
  key: Uint8Array
  /** Empty if the model refuses the text. */
  vector: Uint8Array
}

/** The vectors of a node. */
interface NodeTable {
  org_id: string
  model: number
  node_id: string
  /** Increases with each change of a row of the organisation and model. */
  seq: number
  /** The commit of main from which the texts were read. Empty if main does not exist, or the node is deleted. */
  head: string
  /** 1 if the node is deleted. Its keys remain, because it may be restored. */
  gone: number
  /** The keys of its passages, 16 bytes each, in their order. */
  keys: Uint8Array
  /** The mean of its passages. Empty if none has a vector. */
  vector: Uint8Array
  /** The length of its texts. */
  characters: number
}

/** How far the rows of an organisation follow the index. */
interface PositionTable {
  org_id: string
  model: number
  /** Random. It changes if rows were deleted that readers may have. */
  incarnation: string
  /** The organisation's epoch in the index. */
  epoch: string
  /** Nodes up to this change and id are followed. */
  version: number
  after_id: string
  /** Deletions up to this change and id are followed. */
  gone_version: number
  gone_after_id: string
  /** 0 until the nodes of this epoch were compared with the rows. */
  compared: number
  /** The greatest `seq` of its nodes. */
  seq: number
  /** The number of its nodes that are not deleted. */
  settled: number
  /** When it was swept, in milliseconds since 1970. */
  swept_ms: number
}

/** An organisation from which rows were erased. A writer that began before must not write. */
interface ErasureTable {
  org_id: string
  /** Random. Empty if only rows were deleted that no writer has in mind. */
  generation: string
  /** Random. Empty if no bytes of deleted rows are in the file. */
  unscrubbed: string
}

export interface VectorsSchema {
  model: ModelTable
  passage: PassageTable
  node: NodeTable
  position: PositionTable
  erasure: ErasureTable
}

export type VectorsDb = Kysely<VectorsSchema>
