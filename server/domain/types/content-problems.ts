/** Words violations for answers: as problems of a node, and as problems of files. */

import type { ContentProblem, TypeRuleProblem } from '../format/path-problem.ts'
import { nodeFile } from '../format/paths.ts'
import type { Violation } from './checker.ts'
import { linesOf } from './lines.ts'
import type { Judgement } from './rules.ts'

/**
 * Words violations as problems of `node.json`, or of the folder of edges.
 *
 * @param json the text of `node.json`, which is valid JSON
 */
export function contentProblemsOf({ type, violations }: Judgement, json: string): TypeRuleProblem[] {
  const lines = linesOf(
    json,
    violations.map(({ pointer = '' }) => pointer),
  )
  return violations.map(({ path, pointer, rule, msg }, n) => {
    const line = pointer === undefined ? undefined : lines[n]
    const place = line === undefined ? '' : `line ${line}: `
    return {
      path: pointer === undefined ? (path.split('.')[0] ?? path) : nodeFile,
      reason: `${place}${msg}${type ? ` (type ${type.name})` : ''}`,
      typed: {
        ...(type && { type: type.name, version: type.version }),
        ...{ rule, place: path, says: msg },
        ...(pointer !== undefined && { pointer }),
        ...(line !== undefined && { line }),
      },
    }
  })
}

/** A problem of a file as pull requests show it. */
export function toMergeProblem({ path, reason, typed }: ContentProblem) {
  if (typed === undefined) return { path, reason }
  const { says: _, place: __, ...rule } = typed
  return { path, reason, ...rule }
}

/** A problem of a file as a problem of the node's type. */
export function toNodeProblem({ typed }: TypeRuleProblem) {
  const { says: msg, version: _, ...rule } = typed
  return { msg, ...rule }
}

/** A violation as answers show it. @param type the name of the type. Undefined if nobody defined it */
export function toTypeProblem({ path, pointer, rule, msg }: Violation, type: string | undefined) {
  return { msg, rule, place: path, ...(pointer !== undefined && { pointer }), ...(type !== undefined && { type }) }
}
