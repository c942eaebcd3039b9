/** Copies a node within its organisation: the content of main, without history and pull requests. */

import { readCommit } from '../../../gitstore/objects/commits.ts'
import type { ObjectDraft } from '../../../gitstore/objects/object-batch.ts'
import { readBlob, readInfo } from '../../../gitstore/objects/objects.ts'
import { applyChanges, type PathChange } from '../../../gitstore/objects/tree-changes.ts'
import { listFiles, readTree } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { findNode } from '../../../index/derived/node-queries.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeNode, type NodeAccess } from '../access.ts'
import { callerOf, type Person } from '../actor.ts'
import { changedJson, nodeJson, requireTitle } from '../format/node-files.ts'
import { readContent } from '../format/node-format.ts'
import { originProperties } from '../format/origin-properties.ts'
import { edgeFile, nodeFile } from '../format/paths.ts'
import type { RequestCtx, Services } from '../services.ts'
import type { Body, NodeAt, Path } from '../targets.ts'
import { semaphore } from './batch-input.ts'
import { createNodeFrom, readCreated } from './node-creation.ts'

/** Limits of a copy. Its files are in memory until the new repository is written. */
const copyLimits = { files: 10_000, bytes: 64 * 1_048_576 } as const

export interface CopyInput {
  readonly title?: string
  readonly id?: string
}

/**
 * Creates a node with the files of main. Edges to deleted nodes are left out.
 *
 * @throws AppError too_large, node_exists; errors of `createNode`
 */
export async function copyNode(ctx: RequestCtx<Person>, { path, body }: Path<NodeAt> & Body<CopyInput>) {
  const { signal } = ctx.request
  const access = await authorizeNode(ctx, path, 'editor')
  const title = body.title ?? [...`Copy of ${access.node.title}`].slice(0, limits.title).join('')
  requireTitle(title)
  const created = await semaphore.run({ caller: callerOf(ctx), signal }, async () => {
    const tree = access.node.head === null ? null : (await readCommit(access.repo, access.node.head)).tree
    if (tree !== null) await refuseLarge(access.repo, tree)
    const changes = tree === null ? undefined : await changesOf(ctx, access, tree, title)
    return createNodeFrom(ctx, access, {
      title,
      ...(body.id === undefined ? {} : { id: body.id.toLowerCase() }),
      ...(tree !== null && changes !== undefined
        ? {
            build: async (draft: ObjectDraft) =>
              applyChanges(draft, await copyTree(access.repo, tree, draft), await changes(draft)),
          }
        : {}),
      hasParents: true,
      message: `Copy ${access.node.title}`,
      locate: () => ['path', 'node_id'],
    })
  })
  return readCreated(ctx, access, created)
}

/** @throws AppError too_large */
async function refuseLarge(repo: Repo, tree: Oid): Promise<void> {
  const files = await listFiles(repo, tree)
  let bytes = 0
  for (const { oid, mode } of files.slice(0, copyLimits.files))
    if (mode !== '160000') bytes += (await readInfo(repo, oid)).size
  if (files.length <= copyLimits.files && bytes <= copyLimits.bytes) return
  throw new AppError(
    'too_large',
    'A node is copied with at most 10,000 files and 64 MiB. Clone it and push it to a new node instead',
  )
}

/** Finds the differences between the copy and the original. Returns a function that writes them to a draft. */
async function changesOf({ index }: Services, { sees, repo }: NodeAccess, tree: Oid, title: string) {
  const { jsonBlob, properties, parents, connections } = await readContent(repo, tree)
  const gone: PathChange[] = []
  for (const { id } of parents)
    if (!(await findNode(index.read, sees, id))) gone.push({ path: edgeFile('parents', id), blob: null })
  for (const { id, target } of connections)
    if (!(await findNode(index.read, sees, target))) gone.push({ path: edgeFile('connections', id), blob: null })
  const own = Object.fromEntries(Object.entries(properties).filter(([name]) => !originProperties.includes(name)))
  const isImported = Object.keys(own).length < Object.keys(properties).length
  const json = jsonBlob && (await readBlob(repo, jsonBlob))
  const bytes = json ? changedJson(json, { title, ...(isImported ? { properties: own } : {}) }) : nodeJson({ title })
  return async (draft: ObjectDraft): Promise<PathChange[]> => [
    ...gone,
    { path: nodeFile, blob: await draft.blob(bytes) },
  ]
}

/** Writes all objects of a tree to the draft. Returns the tree, which has the same id. */
async function copyTree(from: Repo, tree: Oid, draft: ObjectDraft): Promise<Oid> {
  const entries = await readTree(from, tree)
  for (const { mode, oid } of entries) {
    if (mode === '040000') await copyTree(from, oid, draft)
    // A submodule is only named by its tree.
    else if (mode !== '160000') await draft.object('blob', await readBlob(from, oid, copyLimits.bytes))
  }
  return draft.tree(entries)
}
