/** Nodes in the trash keep their ids, so that they can be restored. */
import { join } from 'node:path'
import { namesIn } from '../../../gitstore/presence.ts'
import type { Store } from '../../../gitstore/store.ts'
import { isId, trashFolder } from '../layout.ts'

/** The first of these ids that a node in the trash has, of another organisation or of a deleted one. */
export async function findTrashedElsewhere(
  store: Store,
  orgId: string,
  nodeIds: ReadonlySet<string>,
): Promise<string | undefined> {
  for (const name of await namesIn(trashFolder(store))) {
    const [owner = '', deletedAt] = name.split('.')
    if (!isId(owner) || (deletedAt === undefined && owner === orgId)) continue
    const found = (await namesIn(join(trashFolder(store), name))).map((one) => one.split('.')[0] ?? '')
    const taken = found.find((id) => nodeIds.has(id))
    if (taken !== undefined) return taken
  }
  return undefined
}

/** The ids of all nodes in the trash that are not of this organisation. */
export async function idsTrashedElsewhere(store: Store, orgId: string): Promise<Set<string>> {
  const ids = new Set<string>()
  for (const name of await namesIn(trashFolder(store))) {
    const [owner = ''] = name.split('.')
    if (!isId(owner) || name === orgId) continue
    for (const one of await namesIn(join(trashFolder(store), name))) {
      const [id = ''] = one.split('.')
      if (isId(id)) ids.add(id)
    }
  }
  return ids
}
