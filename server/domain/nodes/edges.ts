/** Changes parents and connections. Each change is one commit on main of the node that holds the edge. */

import { randomBytes } from 'node:crypto'
import type { ObjectBatch } from '../../../gitstore/objects/object-batch.ts'
import { applyChanges } from '../../../gitstore/objects/tree-changes.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import type { NodeConnection } from '../../../index/derived/neighbours.ts'
import { findNode, readTitles } from '../../../index/derived/node-queries.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { excerpt } from '../../base/excerpt.ts'
import { authorizeNode, type NodeAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { commitToBranch } from '../branches/branch-commits.ts'
import { requireBranchName } from '../branches/revisions.ts'
import { connectionJson, parentJson } from '../format/node-files.ts'
import {
  type ConnectionEntity,
  defaultConnectionType,
  type NodeContent,
  type ParentEntity,
  readContent,
} from '../format/node-format.ts'
import { type EdgeFolderName, edgeFile } from '../format/paths.ts'
import { isId } from '../layout.ts'
import type { Ctx, Services } from '../services.ts'
import type { Body, ConnectionAt, NodeAt, ParentAt, Path, Query } from '../targets.ts'
import { nodeAfter } from './nodes.ts'

interface Expectation {
  readonly expected_head?: string | null
}

/** Adds a parent or changes its label. Makes no commit if nothing changes. */
export async function putParent(
  ctx: Ctx<Person>,
  { path, body }: Path<ParentAt> & Body<{ label?: string } & Expectation>,
) {
  const { parent_id: parentId } = path
  const access = await authorizeNode(ctx, path, 'editor')
  if (!(await findNode(ctx.index.read, access.sees, parentId)))
    throw new AppError('parent_not_found', 'The parent does not exist in this organisation')
  await changeEdge(ctx, access, body.expected_head, {
    message: `Add parent ${parentId}`,
    folder: 'parents',
    id: parentId,
    bytes: (before) => {
      const label = body.label ?? before?.label ?? ''
      return parentJson({ label })
    },
    locate: () => ['path', 'parent_id'],
  }).catch(unlessUnchanged)
  return nodeAfter(ctx, access)
}

/** Removes a parent, which may be a deleted node. @throws AppError parent_not_found; as commitToBranch */
export async function removeParent(
  ctx: Ctx<Person>,
  { path, query }: Path<ParentAt> & Query<Expectation>,
): Promise<void> {
  const { parent_id: parentId } = path
  const access = await authorizeNode(ctx, path, 'editor')
  await changeEdge(ctx, access, query.expected_head, {
    message: `Remove parent ${parentId}`,
    folder: 'parents',
    id: parentId,
    bytes: (before) => (before ? null : fail(new AppError('parent_not_found', 'The node does not have this parent'))),
    locate: () => ['path', 'parent_id'],
  })
}

export interface ConnectionInput extends Expectation {
  readonly target: string
  readonly type?: string
  readonly label?: string
  readonly id?: string
}

/**
 * Adds a connection. An id that differs only in case from another one is refused: some file systems store both as one
 * file.
 *
 * @throws AppError connection_exists
 */
export async function addConnection(
  ctx: Ctx<Person>,
  { path, body }: Path<NodeAt> & Body<ConnectionInput>,
): Promise<NodeConnection> {
  const access = await authorizeNode(ctx, path, 'editor')
  const { id = newConnectionId(), target, type = defaultConnectionType, label = '' } = body
  requireTarget(target)
  await changeEdge(ctx, access, body.expected_head, {
    message: `Connect to ${target}`,
    folder: 'connections',
    id,
    bytes: (_before, { connections }) => {
      const taken = connections.some((other) => other.id.toLowerCase() === id.toLowerCase())
      if (taken) throw new AppError('connection_exists', 'A connection with this id already exists')
      return connectionJson({ target, type, label })
    },
    locate: () => ['body', 'target'],
  })
  return asConnection(ctx, access, { id, target, type, label })
}

/**
 * Changes the fields that `input` has. Makes no commit if nothing changes.
 *
 * @throws AppError connection_not_found; as commitToBranch
 */
export async function updateConnection(
  ctx: Ctx<Person>,
  { path, body }: Path<ConnectionAt> & Body<Partial<ConnectionInput>>,
): Promise<NodeConnection> {
  const { connection_id: id } = path
  const access = await authorizeNode(ctx, path, 'editor')
  let connection: ConnectionEntity | undefined
  await changeEdge(ctx, access, body.expected_head, {
    message: `Edit connection ${id}`,
    folder: 'connections',
    id,
    bytes: (before) => {
      if (!before || !('target' in before)) throw connectionMissing()
      const { target = before.target, type = before.type, label = before.label } = body
      requireTarget(target)
      connection = { id, target, type, label }
      return connectionJson(connection)
    },
    locate: () => ['body', 'target'],
  }).catch(unlessUnchanged)
  if (!connection) throw connectionMissing()
  return asConnection(ctx, access, connection)
}

/** Removes a connection. @throws AppError connection_not_found; as commitToBranch */
export async function removeConnection(
  ctx: Ctx<Person>,
  { path, query }: Path<ConnectionAt> & Query<Expectation>,
): Promise<void> {
  const { connection_id: id } = path
  const access = await authorizeNode(ctx, path, 'editor')
  await changeEdge(ctx, access, query.expected_head, {
    message: `Remove connection ${id}`,
    folder: 'connections',
    id,
    bytes: (before) => (before ? null : fail(connectionMissing())),
    locate: () => ['path', 'connection_id'],
  })
}

interface EdgeChange {
  readonly message: string

  readonly folder: EdgeFolderName
  /** The id as sent. It is not validated if the edge must already exist. */
  readonly id: string
  /** Returns the new file, or null to delete it. Gets this edge and the node's content at the head. */
  readonly bytes: (before: ParentEntity | ConnectionEntity | undefined, content: NodeContent) => Buffer | null
  readonly locate: () => readonly (string | number)[]
}

async function changeEdge(
  ctx: Ctx<Person>,
  access: NodeAccess,
  expectedHead: string | null | undefined,
  { message, folder, id, bytes, locate }: EdgeChange,
): Promise<Oid> {
  const build = async (draft: ObjectBatch, tree: Oid | null): Promise<Oid> => {
    const content = await readContent(draft.repo, tree)
    const edges: readonly (ParentEntity | ConnectionEntity)[] = content[folder]
    const file = bytes(
      edges.find((edge) => edge.id === id),
      content,
    )
    const blob = file === null ? null : await draft.blob(file)
    return applyChanges(draft, tree, [{ path: edgeFile(folder, id), blob }])
  }
  const request = {
    branch: requireBranchName('main'),
    message,
    expectedHead,
    addsParents: folder === 'parents',
    build,
    locate,
  }
  return commitToBranch(ctx, access, request)
}

export function newConnectionId(): string {
  return randomBytes(9).toString('base64url')
}

function connectionMissing(): AppError {
  return new AppError('connection_not_found', 'The node has no connection with this id')
}

function requireTarget(target: string): void {
  if (isId(target)) return
  throw invalid(['body', 'target'], `There is no node ${excerpt(target)} in this organisation`, target)
}

async function asConnection(
  { index }: Services,
  { sees, node: { id: nodeId }, onlyNode }: NodeAccess,
  { id, target, type, label }: ConnectionEntity,
): Promise<NodeConnection> {
  const titles = await readTitles(index.read, sees, onlyNode === undefined ? [nodeId, target] : [nodeId])
  const titleOf = (node: string) => titles.get(node) ?? ''
  const named = { source_title: titleOf(nodeId), target_title: titleOf(target) }
  return { id, node_id: nodeId, source: nodeId, target, ...named, type, label }
}

function unlessUnchanged(error: unknown): void {
  if (!(error instanceof AppError) || error.code !== 'no_changes') throw error
}

function fail(error: Error): never {
  throw error
}
