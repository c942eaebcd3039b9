/** What an organisation has of the nodes that an import made: their places in the vault, their contents, their ids. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { listNodeContents, listNodeProperties, listOrgsOfNodes } from '../../../index/derived/node-queries.ts'
import type { Deps } from '../../base/deps.ts'
import { idsTrashedElsewhere } from '../../domain/nodes/taken-ids.ts'
import { guestProperty, type KnownContent, type KnownNode } from '../plan/inventory.ts'

/** Rows of one statement: texts have some KiB, 10 MiB at most. */
const rowsAtOnce = 50

/**
 * The nodes, the oldest first.
 *
 * @param guest the vault, if the organisation is another one's
 */
export async function listKnownNodes({ index }: Deps, orgId: string, guest: string | undefined): Promise<KnownNode[]> {
  return (await listNodeProperties(index.read, orgId)).map(({ id, title, properties }) => {
    const { source_path: path, [guestProperty]: vault } = JSON.parse(properties) as Record<string, unknown> // written by index-node.ts
    const isMade = typeof path === 'string' && vault === guest
    return { id, title, path: isMade ? path : undefined, isUnmarked: path === undefined }
  })
}

/** In any order. */
export async function* contentsOf({ index }: Deps, ids: readonly string[]): AsyncGenerator<KnownContent> {
  for (let from = 0; from < ids.length; from += rowsAtOnce) {
    for (const { id, tags, properties, text } of await listNodeContents(index.read, ids.slice(from, from + rowsAtOnce)))
      yield {
        id,
        tags: JSON.parse(tags) as string[], // written by index-node.ts
        properties: JSON.parse(properties) as Record<string, unknown>, // written by index-node.ts
        text,
      }
    await nextTurn()
  }
}

/** Those of these ids that nodes of other organisations have, in the trash too. */
export async function takenElsewhere(
  { index, store }: Deps,
  orgId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const trashed = await idsTrashedElsewhere(store, orgId)
  const taken = new Set(ids.filter((id) => trashed.has(id)))
  for (let from = 0; from < ids.length; from += rowsAtOnce) {
    const some = ids.slice(from, from + rowsAtOnce)
    for (const { id, org_id } of await listOrgsOfNodes(index.read, some)) if (org_id !== orgId) taken.add(id)
  }
  return taken
}
