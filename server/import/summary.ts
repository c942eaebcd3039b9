/** What an import says of itself when it has ended. */
import type { PathProblem } from '../domain/format/path-problem.ts'
import type { Plan } from './plan.ts'
import { type UnresolvedKind, unresolvedKinds } from './unresolved.ts'

/** What was written, or would be: paths. */
interface Written {
  readonly created: readonly string[]
  readonly updated: readonly string[]
  readonly renamed: readonly string[]
  readonly removed: readonly string[]
  readonly unchanged: number
  readonly problems: readonly PathProblem[]
}

/** Of each kind. */
const examples = 3

/** Lines. */
export function summaryOf(org: { readonly id: string; readonly name: string }, plan: Plan, done: Written): string[] {
  const { counts } = plan
  const removed = new Set(done.removed)
  const gone = plan.gone.filter(({ path = '' }) => !removed.has(path))
  const problems = [...plan.problems, ...done.problems]
  return [
    `${org.name} (${org.id}): ${counts.nodes} nodes, ${counts.parents} parent edges, ${counts.connections} connections, ${counts.attachments} attachments`,
    countsOf(done),
    ...gone.map(({ path, title }) => `kept, though its file is gone: ${path} (${title})`),
    ...(problems.length > 0 ? [`${problems.length} things could not be placed as they are:`] : []),
    ...problems.map(({ path, reason }) => `  ${path}: ${reason}`),
    ...unresolvedIn(plan),
  ]
}

function countsOf({ created, updated, renamed, removed, unchanged }: Written): string {
  const moved = renamed.length > 0 ? `, ${renamed.length} renamed` : ''
  const ended = removed.length > 0 ? `, ${removed.length} removed` : ''
  return `${created.length} created, ${updated.length} updated${moved}${ended}, ${unchanged} unchanged`
}

function unresolvedIn({ unresolved }: Plan): string[] {
  if (unresolved.length === 0) return []
  const kinds = Object.entries(unresolvedKinds) as [UnresolvedKind, string][] // its keys are these
  const lines = kinds.flatMap(([kind, words]) => {
    const some = unresolved.filter((link) => link.kind === kind)
    const shown = some.slice(0, examples).map(({ path, target }) => `    ${path}: ${target}`)
    return some.length > 0 ? [`  ${some.length} ${words}`, ...shown] : []
  })
  return [`${unresolved.length} ${unresolved.length === 1 ? 'link leads' : 'links lead'} to nothing here:`, ...lines]
}
