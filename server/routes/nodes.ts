/** Nodes, their parents and their connections. */

import { readableCloneUrl } from '../domain/layout.ts'
import { listBacklinks } from '../domain/nodes/backlinks.ts'
import { createNodes, putNodes } from '../domain/nodes/batch-input.ts'
import { listChanges } from '../domain/nodes/changes.ts'
import { copyNode } from '../domain/nodes/copies.ts'
import * as edges from '../domain/nodes/edges.ts'
import { readLinks } from '../domain/nodes/links.ts'
import { createNode } from '../domain/nodes/node-creation.ts'
import * as nodes from '../domain/nodes/nodes.ts'
import { listOrgTags, listTaggedNodes } from '../domain/nodes/tags.ts'
import { listTrash, restoreNode } from '../domain/nodes/trash.ts'
import { listTree, readPath } from '../domain/nodes/tree.ts'
import { openNodeTable } from '../domain/search/node-tables.ts'
import { listMatching } from '../domain/search/queries.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { CsvTable, created } from '../http/responses/responses.ts'

export const nodeRoutes: HandlersOf<
  | 'createNode'
  | 'createNodes'
  | 'putNodes'
  | 'listNodes'
  | 'listChanges'
  | 'listTree'
  | 'listOrgTags'
  | 'listTaggedNodes'
  | 'getNode'
  | 'updateNode'
  | 'copyNode'
  | 'deleteNode'
  | 'listTrash'
  | 'restoreNode'
  | 'getPath'
  | 'putParent'
  | 'removeParent'
  | 'listConnections'
  | 'listLinks'
  | 'listBacklinks'
  | 'addConnection'
  | 'updateConnection'
  | 'removeConnection'
> = {
  createNode: async (ctx, { path, body }) => {
    const node = await createNode(ctx, path, body)
    return created(`/orgs/${path.org_id}/nodes/${node.id}`, withCloneUrl(node, ctx.request.base))
  },
  createNodes: (ctx, { path, body }) => createNodes(ctx, path, body),
  putNodes: (ctx, { path, body }) => putNodes(ctx, path, body),
  listNodes: async (ctx, { path, query: { format, ...query }, type }) => {
    if (format === undefined ? type === 'text/csv' : format === 'csv')
      return new CsvTable(await openNodeTable(ctx, path, query))
    return query.where === undefined && query.sort === undefined
      ? nodes.listNodes(ctx, path, query)
      : listMatching(ctx, path, query)
  },
  listChanges: (ctx, { path, query }) => listChanges(ctx, path, query),
  listTree: (ctx, { path, query }) => listTree(ctx, path, query),
  listOrgTags: (ctx, { path, query }) => listOrgTags(ctx, path, query),
  listTaggedNodes: (ctx, { path, query }) => listTaggedNodes(ctx, path, query),
  getNode: async (ctx, { path }) => withCloneUrl(await nodes.readNode(ctx, path), ctx.request.base),
  updateNode: async (ctx, { path, body }) => withCloneUrl(await nodes.updateNode(ctx, path, body), ctx.request.base),
  copyNode: async (ctx, { path, body }) => {
    const node = await copyNode(ctx, path, body ?? {})
    return created(`/orgs/${path.org_id}/nodes/${node.id}`, withCloneUrl(node, ctx.request.base))
  },
  deleteNode: (ctx, { path }) => nodes.deleteNode(ctx, path),
  listTrash: (ctx, { path, query }) => listTrash(ctx, path, query),
  restoreNode: async (ctx, { path, body }) => withCloneUrl(await restoreNode(ctx, path, body ?? {}), ctx.request.base),
  getPath: (ctx, { path }) => readPath(ctx, path),
  putParent: async (ctx, { path, body }) =>
    withCloneUrl(await edges.putParent(ctx, path, body ?? {}), ctx.request.base),
  removeParent: (ctx, { path, query }) => edges.removeParent(ctx, path, query),
  listConnections: (ctx, { path, query }) => nodes.listConnections(ctx, path, query),
  listLinks: (ctx, { path, query }) => readLinks(ctx, path, query),
  listBacklinks: (ctx, { path, query }) => listBacklinks(ctx, path, query),
  addConnection: async (ctx, { path, body }) => {
    const connection = await edges.addConnection(ctx, path, body)
    return created(`/orgs/${path.org_id}/nodes/${path.node_id}/connections/${connection.id}`, connection)
  },
  updateConnection: (ctx, { path, body }) => edges.updateConnection(ctx, path, body),
  removeConnection: (ctx, { path, query }) => edges.removeConnection(ctx, path, query),
}

/** Adds the clone URL. Only the request says how clients reach the service. */
function withCloneUrl<N extends { readonly id: string; readonly org_id: string; readonly slug: string }>(
  node: N,
  base: string,
) {
  return { ...node, clone_url: readableCloneUrl(base, node.org_id, node) }
}
