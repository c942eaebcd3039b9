/** What lies in the trash keeps its id: brought back, it must not find another in its place. */
import { join } from 'node:path'
import { isThere, namesIn } from '../../../gitstore/presence.ts'
import type { Store } from '../../../gitstore/store.ts'
import { isId, trashFolder } from '../layout.ts'

/** Whether a node of that id lies there that was another organisation's, or went with its organisation. */
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
