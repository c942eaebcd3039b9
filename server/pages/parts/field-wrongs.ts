/** Reasons why a form of fields was refused, each at its field. */

import { ValidationError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { keyOfProblem, sayProblem } from '../text/type-labels.ts'
import { problemOf } from './editor-form.tsx'

type NodeType = AnswerOf<'getType'>
type TypeProblem = AnswerOf<'getNode'>['type_problems'][number]

/** Problems by the field or the connection: `properties/serves`, `connections/written_by`. */
export type Wrongs = ReadonlyMap<string, readonly string[]>

export interface FieldRefusal {
  readonly status: number
  readonly says: string
  readonly wrongs: Wrongs
  /** The changes of others since the visitor opened the page. */
  readonly changes?: readonly string[]
}

/** Words problems of a node by field. */
export function problemsBy({ definition }: NodeType, problems: readonly TypeProblem[]): Wrongs {
  const wrongs = new Map<string, string[]>()
  for (const problem of problems) {
    const { label, says } = sayProblem(definition, problem)
    const key = keyOfProblem(problem)
    wrongs.set(key, [...(wrongs.get(key) ?? []), `${label === undefined ? '' : `${label} `}${says}.`])
  }
  return wrongs
}

/** Words the refusal of the service. @throws errors that are not from the API */
export function refusalOf(type: NodeType, error: unknown): FieldRefusal {
  const [says, status] = problemOf(error)
  const broken = error instanceof ValidationError ? error.problems : []
  const problems = broken.flatMap(({ msg, ctx: { place, pointer } = {} }) =>
    typeof place === 'string' ? [{ msg, place, rule: '', ...(typeof pointer === 'string' && { pointer }) }] : [],
  )
  if (problems.length === 0) return { status, says, wrongs: new Map() }
  return {
    ...{ status, wrongs: problemsBy(type, problems) },
    says: `Nothing was saved: the type ${type.definition.title} does not allow this.`,
  }
}
