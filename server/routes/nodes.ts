/** Nodes, their parents and their connections. */

import type { RequestContext } from '../domain/actor.ts'
import { readableCloneUrl } from '../domain/layout.ts'
import { listBacklinks } from '../domain/nodes/backlinks.ts'
import { createNodes, putNodes } from '../domain/nodes/batch-input.ts'
import { listChanges } from '../domain/nodes/changes.ts'
import { copyNode } from '../domain/nodes/copies.ts'
import { addConnection, putParent, removeConnection, removeParent, updateConnection } from '../domain/nodes/edges.ts'
import { listLinks } from '../domain/nodes/links.ts'
import { createNode } from '../domain/nodes/node-creation.ts'
import { deleteNode, getNode, listConnections, listNodes, updateNode } from '../domain/nodes/nodes.ts'
import { listOrgTags, listTaggedNodes } from '../domain/nodes/tags.ts'
import { listTrash, restoreNode } from '../domain/nodes/trash.ts'
import { getPath, listTree } from '../domain/nodes/tree.ts'
import { openNodeTable } from '../domain/search/node-tables.ts'
import { listMatching } from '../domain/search/queries.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { CsvTable, createdAt } from '../http/responses/responses.ts'

export const nodeRoutes = {
  createNode: createdAt('/orgs/{org_id}/nodes/{id}', withCloneUrl(createNode)),
  createNodes,
  putNodes,
  listNodes: async (ctx, { path, query: { format, ...query }, type }) => {
    if (format === undefined ? type === 'text/csv' : format === 'csv')
      return new CsvTable(await openNodeTable(ctx, { path, query }))
    return query.where === undefined && query.sort === undefined
      ? listNodes(ctx, { path, query })
      : listMatching(ctx, { path, query })
  },
  listChanges,
  listTree,
  listOrgTags,
  listTaggedNodes,
  getNode: withCloneUrl(getNode),
  updateNode: withCloneUrl(updateNode),
  copyNode: createdAt('/orgs/{org_id}/nodes/{id}', withCloneUrl(copyNode)),
  deleteNode,
  listTrash,
  restoreNode: withCloneUrl(restoreNode),
  getPath,
  putParent: withCloneUrl(putParent),
  removeParent,
  listConnections,
  listLinks,
  listBacklinks,
  addConnection: createdAt('/orgs/{org_id}/nodes/{node_id}/connections/{id}', addConnection),
  updateConnection,
  removeConnection,
} satisfies Partial<Handlers>

/** Adds the clone URL. Only the request says how clients reach the service. */
function withCloneUrl<C, I, N extends Addressed>(use: (ctx: C, input: I) => Promise<N>) {
  return async (ctx: C & RequestContext, input: I) => {
    const node = await use(ctx, input)
    return { ...node, clone_url: readableCloneUrl(ctx.request.base, node.org_id, node) }
  }
}

interface Addressed {
  readonly id: string
  readonly org_id: string
  readonly slug: string
}
