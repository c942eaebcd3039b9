/** What an import says of itself when it has ended. */
import { plural } from '../../base/plural.ts'
import type { PathProblem } from '../../domain/format/path-problem.ts'
import type { Plan } from './plan.ts'
import { type UnresolvedKind, unresolvedKinds } from './unresolved.ts'

/** What an import wrote, or would write: paths, in the order of the plan. */
export interface Imported {
  readonly created: readonly string[]
  /** Nodes whose path is the same as before. */
  readonly updated: readonly string[]
  readonly renamed: readonly string[]
  readonly removed: readonly string[]
  readonly unchanged: number
  /** Updated or renamed nodes whose last commit on main was not an import's. The history keeps their edits. */
  readonly edited: readonly string[]
  readonly problems: readonly PathProblem[]
}

interface ImportRun {
  /** Of the organisation. */
  readonly id: string
  readonly name: string
  readonly isNew: boolean
  readonly notes: readonly string[]
  readonly plan: Plan
  readonly done: Imported
  readonly dryRun: boolean
  /** The command that removes nodes whose files are gone; `unread`: it was given, but not all of the folder could be read. */
  readonly pruning: string
}

/** Of each kind. */
const examples = 3
/** Nodes of one kind that are named. */
const namedAtMost = 20

/** Lines. */
export function summaryOf(run: ImportRun): string[] {
  const { id, name, isNew, notes, plan, done, dryRun } = run
  const { counts } = plan
  const problems = [...plan.problems, ...done.problems]
  return [
    ...(dryRun ? ['A dry run: nothing is changed'] : []),
    `${name} (${dryRun && isNew ? 'a new organisation' : id}): ${[plural(counts.nodes, 'node'), plural(counts.parents, 'parent edge'), plural(counts.connections, 'connection'), plural(counts.attachments, 'attachment')].join(', ')}`,
    ...notes.map((note) => `Note: ${note}`),
    ...(plan.foundBase === undefined
      ? []
      : [`Note: links from the root of the site are read with --base ${plan.foundBase}`]),
    countsOf(done),
    ...(dryRun ? changedIn(plan, done) : []),
    ...removedIn(run),
    ...editedIn(done),
    ...ghostsIn(run),
    ...(problems.length > 0
      ? [`${plural(problems.length, 'thing')} could not be placed as ${problems.length === 1 ? 'it is' : 'they are'}:`]
      : []),
    ...problems.map(({ path, reason }) => `  ${path}: ${reason}`),
    ...unresolvedIn(plan),
  ]
}

/** One line; undefined if nothing has changed. */
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

function changedIn({ nodes }: Plan, { created, updated, renamed }: Imported): string[] {
  const from = new Map(nodes.map(({ path, movedFrom }) => [path, movedFrom]))
  const moves = renamed.map((path) => `${from.get(path)} → ${path}`)
  return Object.entries({ created, updated, renamed: moves }).flatMap(([kind, paths]) => namedIn(`  ${kind}`, paths))
}

/** Nodes that are, or would be, moved to the trash; then with what restore-node takes. */
function removedIn({ id: orgId, plan, done, dryRun }: ImportRun): string[] {
  if (dryRun) return namedIn('  removed', done.removed)
  const ids = new Map(plan.gone.map(({ id, path }) => [path, id]))
  return namedIn(
    'removed',
    done.removed.map((path) => `${path}; grove restore-node ${orgId}/${ids.get(path)} brings it back`),
  )
}

/** Nodes whose edits in Grove have given way to their files. */
function editedIn({ edited }: Imported): string[] {
  return namedIn('edited in Grove since the last import, the file wins, the edit stays in the history', edited)
}

/** A line for each of the first, and one that says how many more there are. */
function namedIn(what: string, paths: readonly string[]): string[] {
  const more = paths.length - namedAtMost
  return [...paths.slice(0, namedAtMost).map((path) => `${what}: ${path}`), ...(more > 0 ? [`  and ${more} more`] : [])]
}

/** Nodes whose file is gone, and how to remove them. */
function ghostsIn({ plan, done, pruning }: ImportRun): string[] {
  const removed = new Set(done.removed)
  const gone = plan.gone
    .filter(({ path = '' }) => !removed.has(path))
    .sort(({ path: a = '' }, { path: b = '' }) => (a < b ? -1 : 1))
  if (gone.length === 0) return []
  const what = plural(gone.length, 'node is kept though its file is gone', 'nodes are kept though their files are gone')
  return [
    ...namedIn(
      'kept, though its file is gone',
      gone.map(({ path, title }) => `${path} (${title})`),
    ),
    ...(pruning === 'unread'
      ? [`${what}: not all of the folder could be read`]
      : [`${what}; this moves them to the trash, from which grove restore-node brings them back:`, `  ${pruning}`]),
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
  return [`${plural(unresolved.length, 'link leads', 'links lead')} to nothing here:`, ...lines]
}
