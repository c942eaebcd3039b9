/** Reads the type of a node, and its connections under their names. */

import type { Api } from '../../../spec/client/api.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { connectionsOf } from '../text/type-labels.ts'
import { unlessBusy } from './degraded.ts'

type Node = AnswerOf<'getNode'>
type NodeType = AnswerOf<'getType'>
type Connection = Node['connections'][number]

/** Nodes whose type is asked for, as many as a filter takes. */
const mostSources = 100

/** A page at the other end of a connection. The title is empty if it is deleted. */
export interface LinkedPage {
  readonly id: string
  readonly title: string
}

/** Connections that lead to the node. The types of their sources name them. */
interface InverseLinks {
  readonly label: string
  readonly pages: readonly LinkedPage[]
}

export interface TypedNode {
  readonly type: NodeType
  readonly inverse: readonly InverseLinks[]
}

/** Returns the type of a node. Undefined if it has none, or if it cannot be read now. */
export async function readTypedNode(api: Api, node: Node): Promise<TypedNode | undefined> {
  if (node.type === null) return undefined
  return unlessBusy<TypedNode | undefined>(readTyped(api, node), undefined)
}

async function readTyped(api: Api, node: Node): Promise<TypedNode | undefined> {
  const { types } = await api.listTypes({ path: { org_id: node.org_id }, query: { limit: limits.types } })
  const type = types.find(({ name }) => name === node.type)
  return type && { type, inverse: await readInverse(api, node, types) }
}

async function readInverse(api: Api, node: Node, types: readonly NodeType[]): Promise<InverseLinks[]> {
  const incoming = node.connections.filter(({ source }) => source !== node.id)
  const pages = new Map<string, Map<string, LinkedPage>>()
  for (const type of types) {
    const named = connectionsOf(type.definition).filter(({ rule }) => rule.inverse !== undefined)
    const candidates = incoming.filter((one) => named.some(({ name }) => name === one.type))
    const isOfType = candidates.length === 0 ? new Set() : await sourcesOf(api, node.org_id, type, candidates)
    for (const { name, rule } of named)
      for (const { source, source_title } of candidates.filter(
        (one) => one.type === name && isOfType.has(one.source),
      )) {
        const label = rule.inverse ?? name
        const found = pages.get(label) ?? new Map<string, LinkedPage>()
        pages.set(label, found.set(source, { id: source, title: source_title }))
      }
  }
  return [...pages].map(([label, found]) => ({ label, pages: [...found.values()] }))
}

/** Returns the sources that have the type. */
async function sourcesOf(
  api: Api,
  org_id: string,
  { name, definition: { aliases = [] } }: NodeType,
  connections: readonly Connection[],
): Promise<ReadonlySet<unknown>> {
  const ids = [...new Set(connections.map(({ source }) => source))].slice(0, mostSources)
  const where = {
    all: [
      { field: 'id' as const, op: 'in' as const, value: ids },
      { field: 'type' as const, op: 'is' as const, value: [name, ...aliases] },
    ],
  }
  const { nodes } = await api.queryNodes({ path: { org_id }, body: { where, limit: mostSources } })
  return new Set(nodes.map(({ id }) => id))
}
