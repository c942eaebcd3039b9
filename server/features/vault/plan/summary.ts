/** Writes the summary of an import. */
import { plural } from '../../../base/plural.ts'
import type { PathProblem } from '../../../domain/format/path-problem.ts'
import type { Plan } from './plan.ts'
import { type UnresolvedKind, unresolvedKinds } from './unresolved.ts'

/** The paths that an import wrote, or would write, in the order of the plan. */
export interface Imported {
  readonly created: readonly string[]
  /** Changed nodes whose path is the same as before. */
  readonly updated: readonly string[]
  readonly renamed: readonly string[]
  readonly removed: readonly string[]
  readonly unchanged: number
  /** Updated or renamed nodes whose last commit on main was not an import's. The history keeps their edits. */
  readonly edited: readonly string[]
  readonly problems: readonly PathProblem[]
  /** Further sentences. */
  readonly notes?: readonly string[]
  /** The change sets that propose all of it. Absent if it was written directly. */
  readonly proposals?: readonly Proposal[]
}

/** A change set, and the number of its pages. */
export interface Proposal {
  readonly number: number
  readonly pages: number
}

interface ImportRun {
  /** The id of the organisation. */
  readonly id: string
  readonly name: string
  readonly isNew: boolean
  readonly notes: readonly string[]
  readonly plan: Plan
  readonly done: Imported
  readonly dryRun: boolean
  /** The command that removes nodes whose files are gone. `unread` if a part of the folder could not be read. */
  readonly pruning: string
  /** Returns the URL of a change set. */
  readonly proposalAt?: (number: number) => string
}

/** Number of examples of each kind. */
const examples = 3
/** Largest number of nodes of one kind that are named. */
const namedAtMost = 20

/** Returns the lines of the summary. */
export function summaryOf(run: ImportRun): string[] {
  const { id, name, isNew, notes, plan, done, dryRun } = run
  const { counts } = plan
  const problems = [...plan.problems, ...done.problems]
  return [
    ...(dryRun ? ['Dry run: nothing was changed'] : []),
    `${name} (${dryRun && isNew ? 'a new organisation' : id}): ${[plural(counts.nodes, 'node'), plural(counts.parents, 'parent edge'), plural(counts.connections, 'connection'), plural(counts.attachments, 'attachment')].join(', ')}`,
    ...[...notes, ...(done.notes ?? []), ...undrawnIn(plan)].map((note) => `Note: ${note}`),
    ...(plan.foundBase === undefined
      ? []
      : [`Note: links from the root of the site were resolved with --base ${plan.foundBase}`]),
    `${done.proposals ? 'Proposed: ' : ''}${countsOf(done)}`,
    ...proposedIn(run),
    ...(dryRun ? changedIn(plan, done) : []),
    ...removedIn(run),
    ...editedIn(done),
    ...ghostsIn(run),
    ...(problems.length > 0 ? [`${plural(problems.length, 'problem')} found:`] : []),
    ...problems.map(({ path, reason }) => `  ${path}: ${reason}`),
    ...unresolvedIn(plan),
  ]
}

/** Says which files are kept, but not drawn. */
export function undrawnIn({ undrawn }: Pick<Plan, 'undrawn'>): string[] {
  if (undrawn.length === 0) return []
  const more = undrawn.length - namedAtMost
  const named = [...undrawn.slice(0, namedAtMost), ...(more > 0 ? [`${more} more`] : [])].join(', ')
  return [
    `pages do not draw ${undrawn.length === 1 ? 'this file' : `these ${plural(undrawn.length, 'file')}`}: ${named}`,
  ]
}

/** Returns the changes as one line; undefined if nothing has changed. */
export function changesOf(done: Imported): string | undefined {
  const { created, updated, renamed, removed, edited, problems } = done
  const paths = [...created, ...updated, ...renamed, ...removed, ...problems.map(({ path }) => path)]
  if (paths.length === 0) return undefined
  const more = paths.length > examples ? ' …' : ''
  const refused = problems.length > 0 ? `, ${problems.length} refused` : ''
  const lost = edited.length > 0 ? `, ${edited.length} of them edited in Grove since the last import` : ''
  return `${countsOf(done)}${lost}${refused}: ${paths.slice(0, examples).join(', ')}${more}`
}

function countsOf({ created, updated, renamed, removed, unchanged }: Imported): string {
  const moved = renamed.length > 0 ? `, ${renamed.length} renamed` : ''
  const ended = removed.length > 0 ? `, ${removed.length} removed` : ''
  return `${created.length} created, ${updated.length} updated${moved}${ended}, ${unchanged} unchanged`
}

function proposedIn({ done: { proposals = [] }, proposalAt = String }: ImportRun): string[] {
  const lines = proposals.map(({ number, pages }) => `${plural(pages, 'page')}: ${proposalAt(number)}`)
  return [...lines, ...(lines.length > 1 ? ['Merge these proposals in this order'] : [])]
}

function changedIn({ nodes }: Plan, { created, updated, renamed }: Imported): string[] {
  const from = new Map(nodes.map(({ path, movedFrom }) => [path, movedFrom]))
  const moves = renamed.map((path) => `${from.get(path)} → ${path}`)
  return Object.entries({ created, updated, renamed: moves }).flatMap(([kind, paths]) => namedIn(`  ${kind}`, paths))
}

/** Lists nodes that were, or would be, moved to the trash. Adds the command that restores each. */
function removedIn({ id: orgId, plan, done, dryRun }: ImportRun): string[] {
  if (dryRun) return namedIn('  removed', done.removed)
  const ids = new Map(plan.gone.map(({ id, path }) => [path, id]))
  return namedIn(
    'removed',
    done.removed.map((path) => `${path}; to restore it, run grove restore-node ${orgId}/${ids.get(path)}`),
  )
}

/** Lists nodes whose edits in Grove were replaced by their files. */
function editedIn({ edited }: Imported): string[] {
  return namedIn(
    'edited in Grove since the last import; the file replaced the edit, which stays in the history',
    edited,
  )
}

/** Returns a line for each of the first paths, and the number of the rest. */
function namedIn(what: string, paths: readonly string[]): string[] {
  const more = paths.length - namedAtMost
  return [...paths.slice(0, namedAtMost).map((path) => `${what}: ${path}`), ...(more > 0 ? [`  and ${more} more`] : [])]
}

/** Lists nodes whose file is gone, and how to remove them. */
function ghostsIn({ plan, done, pruning }: ImportRun): string[] {
  const removed = new Set(done.removed)
  const gone = plan.gone
    .filter(({ path = '' }) => !removed.has(path))
    .sort(({ path: a = '' }, { path: b = '' }) => (a < b ? -1 : 1))
  if (gone.length === 0) return []
  const what = plural(
    gone.length,
    'node was kept, although its file is gone',
    'nodes were kept, although their files are gone',
  )
  return [
    ...namedIn(
      'kept, although its file is gone',
      gone.map(({ path, title }) => `${path} (${title})`),
    ),
    ...(pruning === 'unread'
      ? [`${what}, because a part of the folder could not be read`]
      : [`${what}. To move them to the trash, from which grove restore-node brings them back, run:`, `  ${pruning}`]),
  ]
}

function unresolvedIn({ unresolved }: Plan): string[] {
  if (unresolved.length === 0) return []
  const kinds = Object.entries(unresolvedKinds) as [UnresolvedKind, string][] // its keys are these
  const lines = kinds.flatMap(([kind, words]) => {
    const some = unresolved.filter((link) => link.kind === kind)
    const shown = some.slice(0, examples).map(({ path, target }) => `    ${path}: ${target}`)
    return some.length > 0 ? [`  ${some.length} ${words}`, ...shown] : []
  })
  return [`${plural(unresolved.length, 'link has', 'links have')} no target here:`, ...lines]
}
