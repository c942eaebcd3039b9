/** Judges the content of items before they are proposed. */
import type { Repo } from '../../../gitstore/repo.ts'
import { ValidationError } from '../../base/errors.ts'
import type { OrgAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { type Locate, problemOf } from '../branches/branch-commits.ts'
import { findLossProblems } from '../branches/content-rules.ts'
import { type Coming, findTypeProblems } from '../branches/type-rules.ts'
import type { NodeContent } from '../format/node-format.ts'
import type { Act } from '../ledger/set-ledger.ts'
import { judgeGraph } from '../nodes/batch-graph.ts'
import type { Ctx } from '../services.ts'

/** A built item. */
export interface BuiltPage {
  readonly id: string
  readonly act: Act
  /** Has the objects of the new tree. */
  readonly repo: Repo
  readonly move: { readonly before: NodeContent; readonly after: NodeContent }
  readonly loc: Locate
}

/** Requires that the pages could merge together, if all rules had their consent. @throws ValidationError */
export async function requireValid(ctx: Ctx<Person>, { org }: OrgAccess, pages: readonly BuiltPage[]): Promise<void> {
  const idsOf = (which: BuiltPage['act']) => new Set(pages.flatMap(({ id, act }) => (act === which ? [id] : [])))
  const moves = pages.map(({ id, move }, at) => ({ ...move, id, at }))
  const { problems: edges } = await judgeGraph(ctx.index.read, org.id, moves, idsOf('create'), idsOf('delete'))
  const staying = pages.filter(({ act }) => act !== 'delete')
  const coming: Coming = new Map(staying.map(({ id, move }) => [id, move.after]))
  const found = edges.flatMap((problem) => {
    const loc = pages[problem.at]?.loc
    return loc ? [problemOf(loc, problem)] : []
  })
  for (const { repo, move, loc } of staying) {
    const { before, after } = move
    const problems = [
      ...findLossProblems(before, after),
      ...(await findTypeProblems(ctx, org.id, repo, before, after, coming)),
    ]
    found.push(...problems.map((problem) => problemOf(loc, problem)))
  }
  if (found.length > 0) throw new ValidationError(found)
}
