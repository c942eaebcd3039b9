/** Updates an organisation from a folder: lists, plans, writes, and remembers an unchanged folder. */
import { basename, resolve } from 'node:path'
import { OrgTypes } from '../../../domain/types/org-types.ts'
import { asExported, type Inventory } from '../plan/inventory.ts'
import { type Plan, planImport } from '../plan/plan.ts'
import { changesOf, type Imported, summaryOf } from '../plan/summary.ts'
import { type Folder, listFolder, readListed } from '../read/folder.ts'
import { folderState } from '../read/folder-state.ts'
import { lineInFrontMatter } from '../read/front-matter.ts'
import { readGitHistory } from '../read/git-history.ts'
import type { Destination } from './destination.ts'
import { type Target, type TargetOptions, targetOf } from './target.ts'

export interface SyncOptions extends TargetOptions {
  readonly base?: string
  readonly exclude?: readonly string[]
  /** True if new nodes get the commits of their files in the Git work tree. */
  readonly withHistory?: boolean
  /** Why an owner creates nodes in spite of rules that guard them. */
  readonly override?: string
  /** True if the changes become items of change sets. */
  readonly propose?: boolean
}

export interface Sync {
  readonly to: Destination
  readonly folder: string
  readonly options: SyncOptions
  readonly signal: AbortSignal
  /** Creates a progress display for a step of the first run. */
  readonly progressFor: (step: 'Reading' | 'Writing') => Progress
  /** False if nothing is remembered of the folder, because its place is temporary. */
  readonly remembers?: boolean
  /** Returns the command that removes the nodes whose files are gone. */
  readonly pruningCommand: (orgId: string) => string
}

interface Progress {
  at(done: number, total: number): void
  end(): void
}

export interface Synced {
  readonly listed: Folder
  readonly target: Target
  readonly done: Imported
  /** Absent if the folder is remembered as unchanged. */
  readonly plan?: Plan
  /** True if a file was gone when the plan read it. */
  readonly isStale: boolean
  /** The lines of the summary. */
  readonly summary: readonly string[]
  /** True if everything is in the organisation: no node was refused and no file skipped. */
  readonly isComplete: boolean
}

/** How often a folder is listed and read, if files disappear in between. */
const readings = 3

/**
 * Imports the folder once.
 *
 * @param known the organisation, if it was chosen before; progress is then not shown
 * @throws the errors of targetOf, listFolder, planImport and the destination
 */
export async function syncFolder(sync: Sync, known?: Target): Promise<Synced> {
  const { to, folder, options, signal } = sync
  const { exclude = [], dryRun = false, prune = false } = options
  const list = () => listFolder(folder, { exclude, signal })
  let listed = await list()
  const target = known ?? (await targetOf(to, listed, options))
  const memory =
    known || dryRun || options.propose || sync.remembers === false ? undefined : await memoryOf(sync, listed, target)
  const recalled = await memory?.recall()
  if (recalled) return { listed, target, done: nothing, isStale: false, summary: recalled, isComplete: true }
  // A dry run does not create a new organisation.
  const isMade = !(target.isNew && dryRun)
  const inventory = await inventoryOf(to, target, isMade)
  const reading = known ? undefined : sync.progressFor('Reading')
  let plan = await planOf(sync, listed, inventory, reading)
  for (let again = 1; plan.isStale && again < readings; again++) {
    listed = await list()
    plan = await planOf(sync, listed, inventory, reading)
  }
  reading?.end()
  // A file that seems to be gone may have been moved to a folder that could not be listed.
  const isWhole = listed.lost.length === 0
  const removed = prune && isWhole ? plan.gone.map(({ id, path = '' }) => ({ id, path })) : []
  const writing = known || dryRun ? undefined : sync.progressFor('Writing')
  const history =
    options.withHistory && !known
      ? await readGitHistory(
          listed.dir,
          plan.nodes.map(({ path }) => path),
          signal,
        )
      : undefined
  const input = {
    ...{ nodes: plan.nodes, removed, dryRun, onProgress: (n: number, all: number) => writing?.at(n, all) },
    lineOf: (path: string, steps: readonly (string | number)[]) => lineInFile(listed.dir, path, steps),
    ...(history && { history }),
    override: options.override,
    propose: options.propose ? `Import ${basename(resolve(folder))}` : undefined,
  }
  const done = isMade ? await to.write(target.id, input) : allCreated(plan)
  writing?.end()
  const pruning = prune && !isWhole ? 'unread' : sync.pruningCommand(target.id)
  const proposalAt = (number: number) => to.proposalAt(target.id, number)
  const summaryWith = (what: Imported) => summaryOf({ ...target, plan, done: what, dryRun, pruning, proposalAt })
  const isComplete = done.problems.length + plan.left === 0
  if (isComplete) await memory?.remember(done, () => to.write(target.id, { ...input, dryRun: true }), summaryWith)
  return { listed, target, done, plan, isStale: plan.isStale, summary: summaryWith(done), isComplete }
}

/** Finds a line in the front matter of a file. Undefined if it is gone. */
async function lineInFile(dir: string, path: string, steps: readonly (string | number)[]): Promise<number | undefined> {
  const bytes = await readListed(dir, path)
  return typeof bytes === 'string' ? undefined : lineInFrontMatter(bytes.toString(), steps)
}

const nothing: Imported = {
  created: [],
  updated: [],
  renamed: [],
  removed: [],
  edited: [],
  unchanged: 0,
  problems: [],
}

function allCreated({ nodes }: Plan): Imported {
  return { ...nothing, created: nodes.map(({ path }) => path) }
}

/** Returns the memory of imports. Undefined if finding changes requires reading all files. */
async function memoryOf({ to, folder, options }: Sync, listed: Folder, target: Target) {
  const { id, guest, notes } = target
  const { base, prune } = options
  const now = new Date()
  const before = notes.length > 0 ? undefined : await to.stateOfOrg(id)
  if (before === undefined) return undefined
  const state = await folderState(listed, [resolve(folder), to.words, base, prune, guest], now)
  if (state === undefined) return undefined
  return { recall, remember }

  async function recall(): Promise<readonly string[] | undefined> {
    const last = await to.recall(id)
    return last?.folder === state && last?.org === before ? last?.lines : undefined
  }

  /** @param look returns the result of a dry run */
  async function remember(done: Imported, look: () => Promise<Imported>, summaryWith: (what: Imported) => string[]) {
    const isUnchanged = changesOf(done) === undefined
    const org = isUnchanged ? before : await to.stateOfOrg(id)
    const found = isUnchanged ? done : await look()
    // Another writer may have changed the organisation in the meantime.
    if (org === undefined || changesOf(found) !== undefined || (await to.stateOfOrg(id)) !== org) return
    await to.remember(id, { folder: state ?? '', org, lines: summaryWith(found) })
  }
}

function planOf({ signal, options: { base } }: Sync, listed: Folder, inventory: Inventory, reading?: Progress) {
  return planImport(listed, inventory, {
    base: base && `${base.replace(/\/+$/, '')}/`,
    onProgress: (done, total) => {
      signal.throwIfAborted()
      reading?.at(done, total)
    },
  })
}

async function inventoryOf(to: Destination, { id, guest, exported }: Target, isMade: boolean): Promise<Inventory> {
  const nodes = isMade ? await to.knownNodes(id, guest) : []
  const types = isMade ? await to.readTypes(id) : new OrgTypes([], false)
  return {
    orgId: id,
    ...(guest === undefined ? {} : { guest }),
    nodes: nodes.map((node) => asExported(node, exported.get(node.id))),
    declares: (properties, name) => Object.hasOwn(types.typeOf(properties)?.definition.connections ?? {}, name),
    contentsOf: (ids) => to.contentsOf(id, ids),
    takenElsewhere: (ids) => to.takenElsewhere(id, ids),
  }
}
