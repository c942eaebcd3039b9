/** Compares JSON files of a node by meaning. White space, the order of fields and unknown fields do not count. */
import { isDeepStrictEqual } from 'node:util'
import { isGitError } from '../../../gitstore/errors.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { listFiles } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import * as limits from '../../base/limits.ts'
import { isRecord, parseJson } from '../format/json-text.ts'
import { defaultConnectionType } from '../format/node-format.ts'
import { edgeIdAt, nodeFile } from '../format/paths.ts'
import type { NodeFiles } from './node-creation.ts'

/** True if an import compares the file by meaning instead of by bytes. */
export function isJsonOfNode(path: string): boolean {
  return path === nodeFile || edgeIdAt('parents', path) !== undefined || edgeIdAt('connections', path) !== undefined
}

/**
 * True if both versions of a JSON file mean the same.
 *
 * @param title the node's title if node.json has none
 */
export function isSameJson(path: string, one: string, other: string, title: string): boolean {
  const [a, b] = [parseJson(one), parseJson(other)]
  if (!isRecord(a) || !isRecord(b)) return false
  const meaning = (json: Record<string, unknown>): unknown => {
    if (path === nodeFile) return { title, tags: [], properties: {}, ...json }
    const { target, type = defaultConnectionType, label = '' } = json
    return edgeIdAt('parents', path) === undefined ? { target, type, label } : { label }
  }
  return isDeepStrictEqual(meaning(a), meaning(b))
}

/** The files, with the bytes of `tree` for JSON files that mean the same. */
export async function withKnownJson(
  repo: Repo,
  { tree, title }: { readonly tree: Oid; readonly title: string },
  files: NodeFiles,
): Promise<NodeFiles> {
  const same = new Map(files)
  const there = await listFiles(repo, tree)
  for (const { path, mode, oid } of there) {
    const bytes = isJsonOfNode(path) && mode === '100644' ? files.get(path) : undefined
    const known = bytes && (await readJsonBlob(repo, oid))
    if (known && isSameJson(path, bytes.toString(), known.toString(), title)) same.set(path, known)
  }
  const planned = files.get(nodeFile)
  const isNew = !there.some(({ path }) => path === nodeFile)
  if (isNew && planned && isSameJson(nodeFile, planned.toString(), '{}', title)) same.delete(nodeFile)
  return same
}

/** Reads a JSON file; undefined if it is larger than a node's JSON may be. */
async function readJsonBlob(repo: Repo, oid: Oid): Promise<Buffer | undefined> {
  try {
    return await readBlob(repo, oid, limits.nodeJsonBytes)
  } catch (error) {
    if (isGitError(error, 'limit_exceeded')) return undefined
    throw error
  }
}
