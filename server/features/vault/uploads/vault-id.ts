/** Finds the vault of an uploaded folder. Importing it again then updates the same nodes. */

import { posix } from 'node:path'
import { v4 as newId } from 'uuid'
import { listNodeProperties } from '../../../../index/derived/node-queries.ts'
import { isId } from '../../../domain/layout.ts'
import type { Services } from '../../../domain/services.ts'
import { guestProperty } from '../plan/inventory.ts'

/**
 * Returns the id of the vault that the files belong to.
 *
 * It is the vault that has at least half of its imported nodes from these files. Without one, it is the organisation's
 * own, if no node comes from that. Otherwise it is a new one, whose nodes stay separate.
 *
 * @param own the vault of the organisation
 */
export async function vaultOf(
  deps: Services,
  orgId: string,
  own: string | undefined,
  files: readonly string[],
): Promise<string> {
  const present = new Set(['.', ...files.flatMap((file) => [file, ...foldersAbove(file)])])
  const vaults = new Map<string | undefined, { all: number; shared: number }>()
  for (const { properties } of await listNodeProperties(deps.index.read, orgId)) {
    const { source_path: path, [guestProperty]: guest } = JSON.parse(properties) as Record<string, unknown> // written by index-node.ts
    const isGuest = typeof guest === 'string' && isId(guest)
    if (typeof path !== 'string' || (guest !== undefined && !isGuest)) continue
    const key = isGuest ? guest : undefined
    const counts = vaults.get(key) ?? { all: 0, shared: 0 }
    counts.all++
    if (present.has(path)) counts.shared++
    vaults.set(key, counts)
  }
  const fitting = [...vaults].filter(([, { all, shared }]) => shared * 2 >= all)
  const [best] = fitting.sort(([, a], [, b]) => b.shared - a.shared)
  if (best) return best[0] ?? own ?? newId()
  return vaults.has(undefined) ? newId() : (own ?? newId())
}

function foldersAbove(path: string): string[] {
  const folder = posix.dirname(path)
  return folder === '.' ? [] : [folder, ...foldersAbove(folder)]
}
