/** Which nodes a question admits. */
import { edgesOf, type SearchGraph } from './expansion.ts'
import { inSteps, type Steps } from './steps.ts'

/** All of the conditions that are given must hold; an empty list of nodes admits none, an empty list of tags all. */
export interface Scope {
  node_ids?: string[]
  /** This node and its descendants. */
  under?: string
  tags?: string[]
  /** ISO times, both exclusive. */
  updated_after?: string
  updated_before?: string
  /** The connections that `deep` follows; admits or excludes no node. */
  connection_types?: string[]
}

export interface Scoped {
  tags: string[]
  updatedAt: string
}

/** Whether a node that is present lies in the scope. */
export function* scopeTest(
  graph: SearchGraph,
  documents: ReadonlyMap<string, Scoped>,
  scope: Scope,
): Steps<(id: string) => boolean> {
  const listed = scope.node_ids && new Set(scope.node_ids)
  const below = scope.under === undefined ? undefined : yield* descendants(graph, scope.under)
  const after = scope.updated_after === undefined ? -Infinity : Date.parse(scope.updated_after)
  const before = scope.updated_before === undefined ? Infinity : Date.parse(scope.updated_before)
  const timed = scope.updated_after !== undefined || scope.updated_before !== undefined
  return (id) => {
    const document = documents.get(id)
    if (!document || listed?.has(id) === false || below?.has(id) === false) return false
    if (scope.tags?.some((tag) => !document.tags.includes(tag))) return false
    if (!timed) return true
    const updated = Date.parse(document.updatedAt)
    return updated > after && updated < before
  }
}

function* descendants(graph: SearchGraph, root: string): Steps<Set<string>> {
  const found = new Set([root])
  yield* inSteps(found, (id) => {
    for (const { edge, other } of edgesOf(graph, id)) {
      if (edge.edge_type === 'parent_child' && edge.source === id) found.add(other)
    }
  })
  return found
}
