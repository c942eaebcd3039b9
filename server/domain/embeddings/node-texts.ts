/** The texts of a node in the index, with their keys for a model. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readBeginning } from '../../../index/derived/changed-nodes.ts'
import { INDEXED_BYTES, wholeLetters } from '../../../index/search/segments/rows.ts'
import type { Services } from '../services.ts'
import type { Embeddings } from './embeddings.ts'
import { keyOf, textsOf } from './texts.ts'

interface Reading extends Pick<Services, 'index'> {
  readonly embeddings: Embeddings
  readonly signal: AbortSignal
}

export interface NodeTexts {
  /** Empty if main does not exist. */
  readonly head: string
  /** In order, with their keys in hex. */
  readonly texts: readonly { readonly key: string; readonly text: string }[]
}

/** Reads the texts of a node. Undefined: the node was deleted. @throws DatabaseError, the signal's reason */
export async function readNodeTexts(
  { index, embeddings, signal }: Reading,
  id: string,
): Promise<NodeTexts | undefined> {
  await nextTurn()
  signal.throwIfAborted()
  const row = await readBeginning(index.read, id, INDEXED_BYTES)
  if (row === undefined) return undefined
  const texts = textsOf(row.title, wholeLetters(row.beginning))
  const keyed = texts.map((text) => ({ key: keyOf(embeddings.model.id, text).toString('hex'), text }))
  return { head: row.head ?? '', texts: keyed }
}
