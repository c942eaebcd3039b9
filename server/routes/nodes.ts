/** Nodes, their parents and their connections. */

import { cloneUrl } from '../domain/layout.ts'
import * as edges from '../domain/nodes/edges.ts'
import { createNode } from '../domain/nodes/node-creation.ts'
import * as nodes from '../domain/nodes/nodes.ts'
import type { Handlers } from '../http/operations.ts'
import { created } from '../http/responses.ts'

export const nodeRoutes: Pick<
  Handlers,
  | 'createNode'
  | 'listNodes'
  | 'getNode'
  | 'updateNode'
  | 'deleteNode'
  | 'putParent'
  | 'removeParent'
  | 'listConnections'
  | 'addConnection'
  | 'updateConnection'
  | 'removeConnection'
> = {
  createNode: async (deps, actor, { path, body, base }) => {
    const node = await createNode(deps, actor, path.org_id, body)
    return created(`/orgs/${path.org_id}/nodes/${node.id}`, withCloneUrl(node, base))
  },
  listNodes: (deps, actor, { path, query }) => nodes.listNodes(deps, actor, path.org_id, query),
  getNode: async (deps, actor, { path, base }) =>
    withCloneUrl(await nodes.readNode(deps, actor, path.org_id, path.node_id), base),
  updateNode: async (deps, actor, { path, body, base }) =>
    withCloneUrl(await nodes.updateNode(deps, actor, path.org_id, path.node_id, body), base),
  deleteNode: (deps, actor, { path }) => nodes.deleteNode(deps, actor, path.org_id, path.node_id),
  putParent: async (deps, actor, { path, body, base }) =>
    withCloneUrl(await edges.putParent(deps, actor, path.org_id, path.node_id, path.parent_id, body ?? {}), base),
  removeParent: (deps, actor, { path, query }) =>
    edges.removeParent(deps, actor, path.org_id, path.node_id, path.parent_id, query),
  listConnections: (deps, actor, { path, query }) =>
    nodes.listConnections(deps, actor, path.org_id, path.node_id, query),
  addConnection: async (deps, actor, { path, body }) => {
    const connection = await edges.addConnection(deps, actor, path.org_id, path.node_id, body)
    return created(`/orgs/${path.org_id}/nodes/${path.node_id}/connections/${connection.id}`, connection)
  },
  updateConnection: (deps, actor, { path, body }) =>
    edges.updateConnection(deps, actor, path.org_id, path.node_id, path.connection_id, body),
  removeConnection: (deps, actor, { path, query }) =>
    edges.removeConnection(deps, actor, path.org_id, path.node_id, path.connection_id, query),
}

/** Only the request tells at which address the service is reached. */
function withCloneUrl<N extends { readonly id: string; readonly org_id: string }>(node: N, base: string) {
  return { ...node, clone_url: cloneUrl(base, node.org_id, node.id) }
}
