/** The tree of an organisation's nodes, level by level. */
import { LRUCache } from 'lru-cache'
import { findNode } from '../../../index/derived/node-queries.ts'
import { findOrgRow } from '../../../index/derived/org-queries.ts'
import { countChildren, listChildren, listRoots, type TreeNode } from '../../../index/derived/tree-queries.ts'
import type { Deps } from '../../base/deps.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeOrg } from '../access.ts'
import type { Actor } from '../actor.ts'
import { type Page, pageOf, slice } from '../pagination.ts'
import type { OrgAt } from '../targets.ts'

/**
 * Sorted levels, by organisation, its version and parent: 100,000 nodes of 250 bytes. A new title changes only
 * `version`.
 */
const levels = new LRUCache<string, readonly TreeNode[]>({
  maxSize: 100_000,
  sizeCalculation: (level) => level.length + 2,
})

/**
 * Lists the children of `under`, or the nodes without a parent. They are sorted by title, then by id, and have the
 * numbers of their children. A level is read and sorted once for each version of the organisation.
 *
 * @throws AppError as authorizeOrg, node_not_found
 */
export async function listTree(deps: Deps, actor: Actor, at: OrgAt, query: Page & { readonly under?: string }) {
  const { orgId } = at
  const { read } = deps.index
  await authorizeOrg(deps, actor, at, 'public')
  const { under } = query
  if (under !== undefined && !(await findNode(read, orgId, under)))
    throw new AppError('node_not_found', 'Node not found')
  const level = await levelOf(deps, orgId, under)
  const page = slice(level, query)
  const children = await countChildren(
    read,
    orgId,
    page.map(({ id }) => id),
  )
  const nodes = page.map(({ id, title }) => ({ id, title, num_children: children.get(id) ?? 0 }))
  return { nodes, ...pageOf(query, level.length) }
}

async function levelOf({ index }: Deps, orgId: string, under: string | undefined): Promise<readonly TreeNode[]> {
  // Read before the rows: a level may be cached under an older version than its own, never under a newer one.
  const { epoch, version } = (await findOrgRow(index.read, orgId)) ?? {}
  const key = `${orgId} ${epoch} ${version} ${under ?? ''}`
  const known = levels.get(key)
  if (known) return known
  const found = await (under === undefined ? listRoots(index.read, orgId) : listChildren(index.read, orgId, under))
  found.sort((a, b) => compare(a.title, b.title) || compare(a.id, b.id))
  levels.set(key, found)
  return found
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
