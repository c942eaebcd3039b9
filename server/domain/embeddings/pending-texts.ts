/** Counts the texts that wait for their vectors. It reads nodes in slices, and sends nothing. */
import { type ChangedOrg, orgStates } from '../../../index/derived/changed-nodes.ts'
import { findModel, findProgress, lastReadOf } from '../../../index/vectors/progress.ts'
import { readVectors } from '../../../index/vectors/vectors.ts'
import { readNodeTexts } from './node-texts.ts'
import type { StepDeps } from './org-step.ts'
import { listChanges } from './pending-nodes.ts'

/** The texts of an organisation that have no vectors. Equal texts count once. */
export interface PendingTexts {
  /** Nodes that have changed since they were embedded, or never were. */
  readonly nodes: number
  readonly texts: number
  /** UTF-16 units of the texts. */
  readonly characters: number
}

type Counting = Omit<StepDeps, 'now'>

const nodesAtOnce = 50
/** The number of no model. */
const noModel = -1

/** Lists the organisations that allow it, in the order of ids. @param only the id of the one that is asked for */
export async function listEmbeddedOrgs({ index, embeddings, signal }: Counting, only?: string): Promise<ChangedOrg[]> {
  const allowed: ChangedOrg[] = []
  for await (const some of orgStates(index.read)) {
    signal.throwIfAborted()
    for (const org of some)
      if ((only === undefined || org.id === only) && (await embeddings.isAllowed(org.id))) allowed.push(org)
  }
  return allowed
}

/** Counts what `takeStep` would embed now. @throws DatabaseError, the signal's reason */
export async function countPendingTexts(counting: Counting, org: ChangedOrg): Promise<PendingTexts> {
  const { embeddings } = counting
  const { read } = embeddings.vectors
  const at = { orgId: org.id, model: (await findModel(read, embeddings.model.id)) ?? noModel }
  // Nodes up to there have their vectors.
  let after = lastReadOf(await findProgress(read, at), org.epoch)
  const counted = new Set<string>()
  let [nodes, characters] = [0, 0]
  for (;;) {
    const changed = await listChanges(counting, at, after, nodesAtOnce)
    for (const node of changed) {
      if (node.isSettled) continue
      const texts = (await readNodeTexts(counting, node.id))?.texts
      if (texts === undefined) continue
      nodes++
      const known = await readVectors(
        read,
        at,
        texts.map(({ key }) => key),
      )
      for (const { key, text } of texts) {
        if (known.has(key) || counted.has(key)) continue
        counted.add(key)
        characters += text.length
      }
    }
    const last = changed.at(-1)
    if (last === undefined || changed.length < nodesAtOnce) return { nodes, texts: counted.size, characters }
    after = { version: last.changed, id: last.id }
  }
}
