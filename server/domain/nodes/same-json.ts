/** JSON files of a node that say the same in other bytes: other white space, another order, members that an import does not know. */
import { isDeepStrictEqual } from 'node:util'
import { isGitError } from '../../../gitstore/errors.ts'
import { readBlob } from '../../../gitstore/objects/objects.ts'
import { listFiles } from '../../../gitstore/objects/trees.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { isRecord, parseJson } from '../format/json-text.ts'
import { defaultConnectionType, jsonLimit } from '../format/node-format.ts'
import { edgeIdAt, nodeFile } from '../format/paths.ts'
import type { NodeFiles } from './node-creation.ts'

/** Whether an import compares what the file says, not its bytes. */
export function isJsonOfNode(path: string): boolean {
  return path === nodeFile || edgeIdAt('parents', path) !== undefined || edgeIdAt('connections', path) !== undefined
}

/**
 * Whether both texts of a JSON file say the same of the node.
 *
 * @param title what the node is called where node.json has none
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

/** The files, where those of `tree` say the same with the bytes of that. */
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

/** Undefined where it is too long for JSON of a node. */
async function readJsonBlob(repo: Repo, oid: Oid): Promise<Buffer | undefined> {
  try {
    return await readBlob(repo, oid, jsonLimit)
  } catch (error) {
    if (isGitError(error, 'limit_exceeded')) return undefined
    throw error
  }
}
