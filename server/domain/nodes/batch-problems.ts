/** Where a problem of a batch stands in what was sent, in words that the sender knows. */
import type { Problem } from '../../base/errors.ts'
import { excerpt } from '../format/excerpt.ts'
import { edgeIdAt } from '../format/paths.ts'
import { canonicalId } from '../layout.ts'
import type { InputNode, Loc, SentNode } from './batch-input.ts'

/** The part of the body to which a path of an item belongs. */
export function locateIn(sent: readonly SentNode[], nodes: readonly InputNode[]) {
  const ids = new Map(sent.flatMap(({ ref }, at) => (ref === undefined ? [] : [[ref, nodes[at]?.id ?? '']])))
  return (at: number, path: string): Loc => {
    const loc = ['body', 'nodes', at]
    const { parents = [], files = [] } = sent[at] ?? {}
    const parentId = edgeIdAt('parents', path)
    const parent = parents.findIndex((name) => (ids.get(name) ?? canonicalId(name)) === parentId)
    if (parentId !== undefined) return parent < 0 ? loc : [...loc, 'parents', parent]
    const edge = edgeIdAt('connections', path)
    const connection = edge === undefined ? -1 : (nodes[at]?.connectionIds.indexOf(edge) ?? -1)
    if (edge !== undefined) return connection < 0 ? [...loc, 'connections'] : [...loc, 'connections', connection]
    const file = files.findIndex((one) => one.path === path)
    return file < 0 ? loc : [...loc, 'files', file]
  }
}

/**
 * The problem in words that the sender knows: items by their refs, or by their places in the batch, not by the ids that they get
 * here; a connection without an id by its `loc` alone.
 */
export function wordsIn(sent: readonly SentNode[], nodes: readonly InputNode[]) {
  const names = new Map<string, string>()
  for (const [at, { id, ref }] of sent.entries())
    if (id === undefined && nodes[at]) names.set(nodes[at].id, ref === undefined ? `nodes[${at}]` : excerpt(ref))
  const words = (text: string) => text.replace(uuid, (id) => names.get(id) ?? id)
  return (problem: Problem): Problem => {
    const { path, reason } = problem.ctx ?? {}
    if (typeof path !== 'string' || typeof reason !== 'string') return problem
    const isUnnamed = edgeIdAt('connections', path) !== undefined && !isSentEdge(sent, problem.loc)
    const msg = isUnnamed ? words(reason) : words(problem.msg)
    return { ...problem, msg, ctx: { ...problem.ctx, path: words(path), reason: words(reason) } }
  }
}

const uuid = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g

/** Whether the connection at this part of the body was sent with an id. */
function isSentEdge(sent: readonly SentNode[], loc: Loc): boolean {
  const [node, connection] = [sent[Number(loc[2])], Number(loc[4])]
  return node?.connections?.[connection]?.id !== undefined
}
