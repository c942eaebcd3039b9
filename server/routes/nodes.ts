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
  createNode: async (deps, actor, { path, body, base }) => {
    const node = await createNode(deps, actor, path, body)
    return created(`/orgs/${path.org_id}/nodes/${node.id}`, withCloneUrl(node, base))
  },
  createNodes: (deps, actor, { path, body, from, signal }) => createNodes(deps, { actor, from, signal }, path, body),
  putNodes: (deps, actor, { path, body, from, signal }) => putNodes(deps, { actor, from, signal }, path, body),
  listNodes: async (deps, actor, { path, query: { format, ...query }, type, from, signal }) => {
    const context = { actor, from, signal }
    if (format === undefined ? type === 'text/csv' : format === 'csv')
      return new CsvTable(await openNodeTable(deps, context, path, query))
    return query.where === undefined && query.sort === undefined
      ? nodes.listNodes(deps, actor, path, query)
      : listMatching(deps, context, path, query)
  },
  listChanges: (deps, actor, { path, query }) => listChanges(deps, actor, path, query),
  listTree: (deps, actor, { path, query }) => listTree(deps, actor, path, query),
  listOrgTags: (deps, actor, { path, query }) => listOrgTags(deps, actor, path, query),
  listTaggedNodes: (deps, actor, { path, query }) => listTaggedNodes(deps, actor, path, query),
  getNode: async (deps, actor, { path, base }) => withCloneUrl(await nodes.readNode(deps, actor, path), base),
  updateNode: async (deps, actor, { path, body, base }) =>
    withCloneUrl(await nodes.updateNode(deps, actor, path, body), base),
  copyNode: async (deps, actor, { path, body, base, from, signal }) => {
    const node = await copyNode(deps, { actor, from, signal }, path, body ?? {})
    return created(`/orgs/${path.org_id}/nodes/${node.id}`, withCloneUrl(node, base))
  },
  deleteNode: (deps, actor, { path }) => nodes.deleteNode(deps, actor, path),
  listTrash: (deps, actor, { path, query }) => listTrash(deps, actor, path, query),
  restoreNode: async (deps, actor, { path, body, base }) =>
    withCloneUrl(await restoreNode(deps, actor, path, body ?? {}), base),
  getPath: (deps, actor, { path }) => readPath(deps, actor, path),
  putParent: async (deps, actor, { path, body, base }) =>
    withCloneUrl(await edges.putParent(deps, actor, path, body ?? {}), base),
  removeParent: (deps, actor, { path, query }) => edges.removeParent(deps, actor, path, query),
  listConnections: (deps, actor, { path, query }) => nodes.listConnections(deps, actor, path, query),
  listLinks: (deps, actor, { path, query, from, signal }) => readLinks(deps, { actor, from, signal }, path, query),
  listBacklinks: (deps, actor, { path, query, from, signal }) =>
    listBacklinks(deps, { actor, from, signal }, path, query),
  addConnection: async (deps, actor, { path, body }) => {
    const connection = await edges.addConnection(deps, actor, path, body)
    return created(`/orgs/${path.org_id}/nodes/${path.node_id}/connections/${connection.id}`, connection)
  },
  updateConnection: (deps, actor, { path, body }) => edges.updateConnection(deps, actor, path, body),
  removeConnection: (deps, actor, { path, query }) => edges.removeConnection(deps, actor, path, query),
}

/** Adds the clone URL. Only the request says how clients reach the service. */
function withCloneUrl<N extends { readonly id: string; readonly org_id: string; readonly slug: string }>(
  node: N,
  base: string,
) {
  return { ...node, clone_url: readableCloneUrl(base, node.org_id, node) }
}
