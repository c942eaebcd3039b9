/** Reads the imported nodes of an organisation: paths in the vault, contents and ids. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { listNodeContents, listNodeProperties, readOrgsOf } from '../../../../index/derived/node-queries.ts'
import { idsKeptInTrash } from '../../../domain/nodes/taken-ids.ts'
import type { Services } from '../../../domain/services.ts'
import { guestProperty, type KnownContent, type KnownNode } from '../plan/inventory.ts'

/** Rows read by one statement. Texts have a few KiB, at most 10 MiB. */
const rowsAtOnce = 50

/**
 * Lists the nodes, oldest first.
 *
 * @param guest the vault, if the organisation belongs to another one
 */
export async function listKnownNodes(
  { index }: Services,
  orgId: string,
  guest: string | undefined,
): Promise<KnownNode[]> {
  return (await listNodeProperties(index.read, orgId)).map(({ id, title, properties }) => {
    const { source_path: path, [guestProperty]: vault } = JSON.parse(properties) as Record<string, unknown> // written by index-node.ts
    const isMade = typeof path === 'string' && vault === guest
    return { id, title, path: isMade ? path : undefined, isUnmarked: path === undefined }
  })
}

/** Reads the contents of nodes, in any order. */
export async function* contentsOf({ index }: Services, ids: readonly string[]): AsyncGenerator<KnownContent> {
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

/** Returns the ids that nodes of other organisations, or nodes in the trash, keep. */
export async function takenElsewhere(deps: Services, orgId: string, ids: readonly string[]): Promise<Set<string>> {
  const trashed = await idsKeptInTrash(deps, orgId)
  const taken = new Set(ids.filter((id) => trashed.has(id)))
  for (const [id, owner] of await readOrgsOf(deps.index.read, ids)) if (owner !== orgId) taken.add(id)
  return taken
}
