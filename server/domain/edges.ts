/** Parents and connections as operations of their own: each is one commit on main of the node that holds the edge. */
import { randomBytes } from 'node:crypto'
import type { Draft } from '../../gitstore/draft.ts'
import type { Oid } from '../../gitstore/repo.ts'
import { applyChanges, findEntry } from '../../gitstore/trees.ts'
import type { Deps } from '../deps.ts'
import { invalid, Refusal } from '../errors.ts'
import { findNode, nodeFor } from './access.ts'
import type { Person } from './actor.ts'
import { asJson } from './authors.ts'
import { commitToBranch } from './branch-moves.ts'
import { knownBranch } from './contents.ts'
import {
  type ConnectionEntity,
  connectionType,
  defaultConnectionType,
  type ParentEntity,
  readContent,
} from './entities.ts'
import type { Connection } from './neighbours.ts'
import { readNode } from './nodes.ts'
import { isId } from './places.ts'

interface Expectation {
  readonly expected_head?: string | null
}

/** Adds or relabels the edge; nothing changes where it stands as asked. */
export async function putParent(
  deps: Deps,
  actor: Person,
  orgId: string,
  nodeId: string,
  parentId: string,
  input: { label?: string } & Expectation,
) {
  await nodeFor(deps, actor, orgId, nodeId, 'editor')
  if (!(await findNode(deps.index.read, orgId, parentId)))
    throw new Refusal('parent_not_found', 'There is no such node to be the parent')
  await changeEdge(deps, actor, orgId, nodeId, input.expected_head, {
    message: `Add parent ${parentId}`,
    path: `parents/${parentId}.json`,
    bytes: (before) => {
      const label = input.label ?? before?.label ?? ''
      return asJson(label === '' ? {} : { label })
    },
    locate: () => ['path', 'parent_id'],
  }).catch(unlessUnchanged)
  return readNode(deps, actor, orgId, nodeId)
}

export async function removeParent(
  deps: Deps,
  actor: Person,
  orgId: string,
  nodeId: string,
  parentId: string,
  input: Expectation,
): Promise<void> {
  const missing = new Refusal('parent_not_found', 'The node has no such parent')
  if (!isId(parentId)) throw missing
  await changeEdge(deps, actor, orgId, nodeId, input.expected_head, {
    message: `Remove parent ${parentId}`,
    path: `parents/${parentId}.json`,
    bytes: (before) => (before ? null : fail(missing)),
    locate: () => ['path', 'parent_id'],
  })
}

export interface ConnectionInput extends Expectation {
  readonly target: string
  readonly type?: string
  readonly label?: string
  readonly id?: string
}

export async function addConnection(
  deps: Deps,
  actor: Person,
  orgId: string,
  nodeId: string,
  input: ConnectionInput,
): Promise<Connection> {
  const { id = randomBytes(9).toString('base64url'), target, type = defaultConnectionType, label = '' } = input
  const connection = checked({ id, target, type, label })
  await changeEdge(deps, actor, orgId, nodeId, input.expected_head, {
    message: `Connect to ${target}`,
    path: `connections/${id}.json`,
    bytes: (before) =>
      before ? fail(new Refusal('connection_exists', 'A connection with this id exists')) : connectionJson(connection),
    locate: () => ['body', 'target'],
  })
  return asConnection(nodeId, connection)
}

export async function updateConnection(
  deps: Deps,
  actor: Person,
  orgId: string,
  nodeId: string,
  id: string,
  input: Partial<ConnectionInput>,
): Promise<Connection> {
  let connection: ConnectionEntity | undefined
  await changeEdge(deps, actor, orgId, nodeId, input.expected_head, {
    message: `Edit connection ${id}`,
    path: connectionPath(id),
    bytes: (before) => {
      if (!before || !('target' in before)) throw connectionMissing()
      const { target, type, label } = { ...before, ...input }
      connection = checked({ id, target, type, label })
      return connectionJson(connection)
    },
    locate: () => ['body', 'target'],
  }).catch(unlessUnchanged)
  if (!connection) throw connectionMissing()
  return asConnection(nodeId, connection)
}

export async function removeConnection(
  deps: Deps,
  actor: Person,
  orgId: string,
  nodeId: string,
  id: string,
  input: Expectation,
): Promise<void> {
  await changeEdge(deps, actor, orgId, nodeId, input.expected_head, {
    message: `Remove connection ${id}`,
    path: connectionPath(id),
    bytes: (before) => (before ? null : fail(connectionMissing())),
    locate: () => ['path', 'connection_id'],
  })
}

interface EdgeChange {
  readonly message: string
  readonly path: string
  /** The new file, or null to delete it, from what the head says of it. */
  readonly bytes: (before: ParentEntity | ConnectionEntity | undefined) => Buffer | null
  readonly locate: () => readonly (string | number)[]
}

async function changeEdge(
  deps: Deps,
  actor: Person,
  orgId: string,
  nodeId: string,
  expectedHead: string | null | undefined,
  { message, path, bytes, locate }: EdgeChange,
): Promise<Oid> {
  const access = await nodeFor(deps, actor, orgId, nodeId, 'editor')
  const build = async (draft: Draft, tree: Oid | null): Promise<Oid> => {
    const content = await readContent(draft.repo, tree)
    const all = path.startsWith('parents/') ? content.parents : content.connections
    const known =
      tree !== null && (await findEntry(draft.repo, tree, path))
        ? all.find((edge) => path.endsWith(`/${edge.id}.json`))
        : undefined
    const file = bytes(known)
    return applyChanges(draft, tree, [{ path, blob: file === null ? null : await draft.blob(file) }])
  }
  const request = {
    branch: knownBranch('main'),
    message,
    expectedHead,
    addsParents: path.startsWith('parents/'),
    build,
    locate,
  }
  return commitToBranch(deps, actor, access, request)
}

function connectionPath(id: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) throw connectionMissing()
  return `connections/${id}.json`
}

function connectionMissing(): Refusal {
  return new Refusal('connection_not_found', 'The node holds no such connection')
}

function checked(connection: ConnectionEntity): ConnectionEntity {
  requireId(connection.target, ['body', 'target'])
  if (!connectionType.test(connection.type))
    throw invalid(['body', 'type'], `must match ${connectionType.source}`, connection.type)
  return connection
}

function connectionJson({ target, type, label }: ConnectionEntity): Buffer {
  return asJson({ target, type, ...(label === '' ? {} : { label }) })
}

function asConnection(nodeId: string, { id, target, type, label }: ConnectionEntity): Connection {
  return { id, node_id: nodeId, source: nodeId, target, type, label }
}

function requireId(id: string, loc: readonly string[]): string {
  if (!isId(id)) throw invalid(loc, 'there is no such node in this organisation', id)
  return id
}

function unlessUnchanged(error: unknown): void {
  if (!(error instanceof Refusal) || error.code !== 'no_changes') throw error
}

function fail(error: Error): never {
  throw error
}
