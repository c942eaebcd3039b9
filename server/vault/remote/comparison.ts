/** What of a planned node differs from the main that a Grove elsewhere has of it. */
import { objectId } from '../../../gitstore/objects/object-format.ts'
import type { NodeFiles } from '../../domain/nodes/node-creation.ts'
import { isJsonOfNode, saysTheSame } from '../../domain/nodes/same-json.ts'
import { isImports } from '../apply/imports.ts'
import { historySchema, pagesOf, treeSchema } from './answers.ts'
import { type Remote, RemoteRefusal } from './client.ts'

/** Paths. */
export interface Difference {
  readonly puts: readonly string[]
  readonly deletes: readonly string[]
}

/** Whether the last commit of main was no import's. @throws as Remote.read */
export async function isEdited(remote: Remote, node: string): Promise<boolean> {
  const { history } = await remote.read(historySchema, 'GET', `${node}/tree/main/commits?limit=1`)
  return history.some(({ message }) => !isImports(message))
}

export const isNone = ({ puts, deletes }: Difference): boolean => puts.length + deletes.length === 0

/** Whether the JSON file there says the same, in other bytes. */
async function saysThere(remote: Remote, node: string, path: string, bytes: Buffer): Promise<boolean> {
  const { status, body } = await remote.send('GET', `${node}/tree/main/raw/${path}`)
  return status < 400 && saysTheSame(path, bytes.toString(), JSON.stringify(body) ?? '', '')
}

/** Undefined where the node is not there. @throws as Remote.read */
export async function compareNode(remote: Remote, node: string, files: NodeFiles): Promise<Difference | undefined> {
  const there = new Map<string, string>()
  try {
    for await (const { entity_key, object_id, mode } of pagesOf(
      remote,
      `${node}/tree/main`,
      treeSchema,
      ({ entities }) => entities,
    ))
      there.set(entity_key, mode === '100644' ? object_id : '')
  } catch (error) {
    if (error instanceof RemoteRefusal && error.code === 'node_not_found') return undefined
    throw error
  }
  const puts: string[] = []
  for (const [path, bytes] of files) {
    const known = there.get(path)
    if (known === (await objectId('blob', bytes))) continue
    if (!known || !isJsonOfNode(path) || !(await saysThere(remote, node, path, bytes))) puts.push(path)
  }
  return { puts, deletes: [...there.keys()].filter((path) => !files.has(path)) }
}
