/** Nodes, their parents and their connections. */
import * as edges from '../domain/edges.ts'
import { createNode } from '../domain/node-creation.ts'
import * as nodes from '../domain/nodes.ts'
import type { Handlers } from '../http/operations.ts'
import { created } from '../http/reply.ts'

export const nodeRoutes: Pick<
  Handlers,
  | 'createNode'
  | 'listNodes'
  | 'getNode'
  | 'updateNode'
  | 'deleteNode'
  | 'putParent'
  | 'removeParent'
  | 'addConnection'
  | 'updateConnection'
  | 'removeConnection'
> = {
  createNode: async (deps, actor, { path, body }) => {
    const node = await createNode(deps, actor, path.org_id, body)
    return created(`/orgs/${path.org_id}/nodes/${node.id}`, node)
  },
  listNodes: (deps, actor, { path, query }) => nodes.listNodes(deps, actor, path.org_id, query),
  getNode: (deps, actor, { path }) => nodes.readNode(deps, actor, path.org_id, path.node_id),
  updateNode: (deps, actor, { path, body }) => nodes.updateNode(deps, actor, path.org_id, path.node_id, body),
  deleteNode: (deps, actor, { path }) => nodes.deleteNode(deps, actor, path.org_id, path.node_id),
  putParent: (deps, actor, { path, body }) =>
    edges.putParent(deps, actor, path.org_id, path.node_id, path.parent_id, body ?? {}),
  removeParent: (deps, actor, { path, query }) =>
    edges.removeParent(deps, actor, path.org_id, path.node_id, path.parent_id, query),
  addConnection: async (deps, actor, { path, body }) => {
    const connection = await edges.addConnection(deps, actor, path.org_id, path.node_id, body)
    return created(`/orgs/${path.org_id}/nodes/${path.node_id}/connections/${connection.id}`, connection)
  },
  updateConnection: (deps, actor, { path, body }) =>
    edges.updateConnection(deps, actor, path.org_id, path.node_id, path.connection_id, body),
  removeConnection: (deps, actor, { path, query }) =>
    edges.removeConnection(deps, actor, path.org_id, path.node_id, path.connection_id, query),
}
