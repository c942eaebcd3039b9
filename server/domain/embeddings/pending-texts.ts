/** Counts the texts that wait for their vectors. It reads nodes in slices, and sends nothing. */
import { type FollowedOrg, listChangedNodes, listOrgStates } from '../../../index/derived/followed-nodes.ts'
import { findModel, findPosition } from '../../../index/vectors/positions.ts'
import { readSettledHeads, readVectors } from '../../../index/vectors/vectors.ts'
import type { Following } from './follow-org.ts'
import { readNodeTexts } from './node-texts.ts'

/** The texts of an organisation that have no vectors. Equal texts count once. */
export interface PendingTexts {
  /** Nodes that have changed since they were embedded, or never were. */
  readonly nodes: number
  readonly texts: number
  /** UTF-16 units of the texts. */
  readonly characters: number
}

type Counting = Omit<Following, 'now'>

const orgsAtOnce = 500
const nodesAtOnce = 50
/** The number of no model. */
const noModel = -1

/** Lists the organisations that allow it, in the order of ids. @param only the id of the one that is asked for */
export async function listEmbeddedOrgs({ index, embeddings, signal }: Counting, only?: string): Promise<FollowedOrg[]> {
  const allowed: FollowedOrg[] = []
  let from = ''
  for (;;) {
    signal.throwIfAborted()
    const some = await listOrgStates(index.read, from, orgsAtOnce)
    for (const org of some)
      if ((only === undefined || org.id === only) && (await embeddings.isAllowed(org.id))) allowed.push(org)
    from = some.at(-1)?.id ?? ''
    if (some.length < orgsAtOnce) return allowed
  }
}

/** Counts what `followOrg` would embed now. @throws DatabaseError, the signal's reason */
export async function countPendingTexts(counting: Counting, org: FollowedOrg): Promise<PendingTexts> {
  const { index, embeddings } = counting
  const { read } = embeddings.vectors
  const at = { orgId: org.id, model: (await findModel(read, embeddings.model.id)) ?? noModel }
  const position = await findPosition(read, at)
  // Nodes before the position have their vectors. A rebuilt organisation begins at its first node.
  let after = position?.epoch === org.epoch ? position.nodes : { version: 0, id: '' }
  const counted = new Set<string>()
  let [nodes, characters] = [0, 0]
  for (;;) {
    const changed = await listChangedNodes(index.read, org.id, after, nodesAtOnce)
    const settled = await readSettledHeads(
      read,
      at,
      changed.map(({ id }) => id),
    )
    for (const node of changed) {
      if (settled.get(node.id) === (node.head ?? '')) continue
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
