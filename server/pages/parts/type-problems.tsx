/** The rules of its type that a page breaks, a sentence each. */

import type { AnswerOf } from '../../http/in-process.ts'
import { type SaidProblem, sayProblem } from '../text/type-labels.ts'

type Definition = AnswerOf<'getType'>['definition']
type TypeProblem = AnswerOf<'getNode'>['type_problems'][number]

/** Problems of one page that are shown, and UTF-16 units of a sentence. */
const most = { problems: 20, says: 500 } as const

interface ListProps {
  readonly definition: Definition
  readonly problems: readonly TypeProblem[]
}

export function ProblemList({ definition, problems }: ListProps) {
  return (
    <ul class="broken-rules">
      {problems.slice(0, most.problems).map((problem) => (
        <li>
          <Said problem={sayProblem(definition, problem)} />
        </li>
      ))}
      {problems.length > most.problems && <li>and {problems.length - most.problems} more</li>}
    </ul>
  )
}

/** A sentence that begins with the label of the field. */
export function Said({ problem: { label, says } }: { readonly problem: SaidProblem }) {
  return (
    <>
      {label !== undefined && (
        <>
          <bdi class="name">{label}</bdi>{' '}
        </>
      )}
      {says.length > most.says ? `${says.slice(0, most.says)}…` : says}
    </>
  )
}
