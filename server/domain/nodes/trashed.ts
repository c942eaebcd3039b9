/** Nodes in the trash keep their ids, so that they can be restored. */
import { join } from 'node:path'
import { isThere, namesIn } from '../../../gitstore/presence.ts'
import type { Store } from '../../../gitstore/store.ts'
import { isId, trashFolder } from '../layout.ts'

/** Whether the trash has a node of that id from another organisation or from a deleted organisation. */
export async function isTrashedElsewhere(store: Store, orgId: string, nodeId: string): Promise<boolean> {
  for (const name of await namesIn(trashFolder(store))) {
    const [owner = '', deletedAt] = name.split('.')
    if (!isId(owner)) continue
    const folder = join(trashFolder(store), name)
    if (deletedAt !== undefined) {
      if (isThere(join(folder, `${nodeId}.git`))) return true
    } else if (owner !== orgId && (await namesIn(folder)).some((one) => one.startsWith(`${nodeId}.`))) return true
  }
  return false
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
