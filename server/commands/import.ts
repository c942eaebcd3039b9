/** `grove import`: a folder of Markdown becomes an organisation, or is brought up to date in one. */
import { resolve } from 'node:path'
import { findAccountByEmail } from '../../index/credentials/accounts.ts'
import type { Deps } from '../deps.ts'
import { personOf } from '../domain/accounts/users.ts'
import type { Person } from '../domain/actor.ts'
import { type Imported, importNodes } from '../domain/nodes/imports.ts'
import { contentsOf, takenElsewhere } from '../domain/nodes/known-nodes.ts'
import { UnreadableExclusions } from '../import/exclusions.ts'
import { type Folder, listFolder } from '../import/folder.ts'
import type { Inventory } from '../import/inventory.ts'
import { SeveralOrganisations } from '../import/organisation.ts'
import { type Plan, planImport } from '../import/plan.ts'
import { changesOf, summaryOf } from '../import/summary.ts'
import { DamagedVaultFile } from '../import/vault-file.ts'
import { whenChanged } from '../import/watch.ts'
import { type Call, progressFor, requireFolder, say, UsageError, withDeps } from './command.ts'
import { knownNodes, type Target, targetOf } from './import-target.ts'

export interface ImportOptions {
  readonly as: string
  readonly org?: string
  readonly name?: string
  readonly dryRun?: boolean
  readonly prune?: boolean
  readonly watch?: boolean
  readonly base?: string
  readonly exclude?: readonly string[]
}

interface Run {
  readonly call: Call
  readonly deps: Deps
  readonly person: Person
  readonly folder: string
  readonly options: ImportOptions
}

/** Exit code 1 if a node was refused or a file left out; unresolved links are only counted. */
export async function importFolder(call: Call, folder: string, options: ImportOptions): Promise<number> {
  requireFitting(options)
  await requireFolder(folder)
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const run = { call, deps, person: await personFor(deps, options.as), folder, options }
    const first = await sync(run)
    for (const line of first.summary) say(line)
    return options.watch ? watch(run, first) : first.code
  })
}

/** @throws UsageError */
function requireFitting({ prune, watch, dryRun, base, name, org }: ImportOptions): void {
  if (watch && (prune || dryRun))
    throw new UsageError('--watch goes with neither --dry-run nor --prune: a file that is saved is gone for a moment')
  if (base !== undefined && !base.startsWith('/')) throw new UsageError(`--base ${base} does not begin with a /`)
  if (name !== undefined && org !== undefined) throw new UsageError('--org and --name both choose the organisation')
}

interface Synced {
  readonly listed: Folder
  readonly target: Target
  readonly plan: Plan
  readonly done: Imported
  /** Lines. */
  readonly summary: readonly string[]
  readonly code: number
}

async function sync(run: Run, known?: Target): Promise<Synced> {
  try {
    return await syncOnce(run, known)
  } catch (error) {
    const isCallers = [UnreadableExclusions, DamagedVaultFile, SeveralOrganisations].some(
      (kind) => error instanceof kind,
    )
    throw isCallers && error instanceof Error ? new UsageError(error.message) : error
  }
}

/** @param known the organisation, if it was chosen before: progress is then not shown */
async function syncOnce({ call, deps, person, folder, options }: Run, known?: Target): Promise<Synced> {
  const { base, exclude = [], dryRun = false, prune = false } = options
  const listed = await listFolder(folder, { exclude, signal: call.signal })
  const target = known ?? (await targetOf(deps, person, listed, options))
  const reading = known ? undefined : progressFor('Reading')
  const plan = await planImport(listed, await inventoryOf(deps, target), {
    base: base && `${base.replace(/\/+$/, '')}/`,
    onProgress: (done, total) => {
      call.signal.throwIfAborted()
      reading?.at(done, total)
    },
  })
  reading?.end()
  // What could not be listed may have been moved there.
  const isWhole = listed.lost.length === 0
  const removed = prune && isWhole ? plan.gone.map(({ id, path = '' }) => ({ id, path })) : []
  const writing = known || dryRun ? undefined : progressFor('Writing')
  const input = { nodes: plan.nodes, removed, dryRun, onProgress: (n: number, all: number) => writing?.at(n, all) }
  const done = target.isNew && dryRun ? allCreated(plan) : await importNodes(deps, person, { orgId: target.id }, input)
  writing?.end()
  const pruning = prune && !isWhole ? 'unread' : commandFor(folder, options, target)
  const summary = summaryOf({ ...target, plan, done, dryRun, pruning })
  return { listed, target, plan, done, summary, code: done.problems.length + plan.left > 0 ? 1 : 0 }
}

async function watch(run: Run, first: Synced): Promise<number> {
  const { call, folder } = run
  say(`Watching ${folder}`)
  let { listed } = first
  for await (const note of whenChanged(listed.dir, () => listed.folders, call.signal)) {
    if (note !== undefined) say(note)
    const synced = await sync(run, first.target)
    listed = synced.listed
    const changes = changesOf(synced.done)
    if (changes !== undefined) say(`${run.deps.now().toISOString()} ${changes}`)
  }
  call.signal.throwIfAborted()
  return 0
}

async function inventoryOf(deps: Deps, { id, guest }: Target): Promise<Inventory> {
  return {
    orgId: id,
    ...(guest === undefined ? {} : { guest }),
    nodes: await knownNodes(deps, id, guest),
    contentsOf: (ids) => contentsOf(deps, ids),
    takenElsewhere: (ids) => takenElsewhere(deps, id, ids),
  }
}

function allCreated({ nodes }: Plan): Imported {
  const created = nodes.map(({ path }) => path)
  return { created, updated: [], renamed: [], removed: [], unchanged: 0, problems: [] }
}

/** The command that ends the nodes whose files are gone. */
function commandFor(folder: string, { as, base, exclude = [] }: ImportOptions, { id }: Target): string {
  const words = ['grove', 'import', resolve(folder), '--as', as, '--org', id]
  if (base !== undefined) words.push('--base', base)
  for (const pattern of exclude) words.push('--exclude', pattern)
  return [...words, '--prune'].map(quoted).join(' ')
}

/** For a shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

async function personFor(deps: Deps, email: string): Promise<Person> {
  const account = await findAccountByEmail(deps.credentials.read, email)
  if (!account) throw new UsageError(`There is no account ${email}; sign up first (POST /auth/signup)`)
  return personOf(account)
}
