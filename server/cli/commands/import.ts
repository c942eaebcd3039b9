/** `grove import`: a folder of Markdown becomes an organisation, or is brought up to date in one. */
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { GitError } from '../../../gitstore/errors.ts'
import { isAbsent, isThere } from '../../../gitstore/presence.ts'
import { findAccountByEmail } from '../../../index/credentials/accounts.ts'
import { DatabaseFault } from '../../../index/sqlite/database.ts'
import type { Deps } from '../../base/deps.ts'
import { personOf } from '../../domain/accounts/users.ts'
import type { Person } from '../../domain/actor.ts'
import { asExported, type Inventory } from '../../vault/plan/inventory.ts'
import { OnlyReader, SeveralOrganisations } from '../../vault/plan/organisation.ts'
import { type Plan, planImport } from '../../vault/plan/plan.ts'
import { changesOf, type Imported, summaryOf } from '../../vault/plan/summary.ts'
import { UnreadableExclusions } from '../../vault/read/exclusions.ts'
import { type Folder, listFolder } from '../../vault/read/folder.ts'
import { folderState } from '../../vault/read/folder-state.ts'
import { DamagedVaultFile } from '../../vault/read/vault-file.ts'
import { whenChanged } from '../../vault/read/watch.ts'
import { addressOf, readToken } from '../../vault/remote/address.ts'
import { connectTo, RemoteFault, RemoteRefusal } from '../../vault/remote/client.ts'
import { remoteDestination } from '../../vault/remote/destination.ts'
import type { Progress } from '../progress.ts'
import { type Call, progressFor, requireFolder, say, UsageError, withDeps } from './command.ts'
import type { Destination } from './destination.ts'
import { type Target, targetOf } from './import-target.ts'
import { localDestination } from './local-destination.ts'

export interface ImportOptions {
  readonly as?: string
  readonly to?: string
  readonly tokenFile?: string
  readonly org?: string
  readonly name?: string
  readonly dryRun?: boolean
  readonly prune?: boolean
  readonly watch?: boolean
  readonly base?: string
  readonly exclude?: readonly string[]
}

/** How often a folder is listed and read, if files go away in between. */
const readings = 3

interface Run {
  readonly call: Call
  readonly to: Destination
  readonly folder: string
  readonly options: ImportOptions
}

/** Exit code 1 if a node was refused or a file left out; unresolved links are only counted. */
export async function importFolder(call: Call, folder: string, options: ImportOptions): Promise<number> {
  requireFitting(options)
  await requireFolder(folder)
  const work = async (to: Destination) => {
    const run = { call, to, folder, options }
    const first = await sync(run)
    for (const line of first.summary) say(line)
    return options.watch ? watch(run, first) : first.code
  }
  const { as = '', to, tokenFile = '' } = options
  if (to !== undefined) return work(await elsewhere(call, to, tokenFile).catch(refuse))
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => work(localDestination(deps, await personFor(deps, as))))
}

async function elsewhere({ signal }: Call, to: string, tokenFile: string): Promise<Destination> {
  const [url, token] = [addressOf(to), await readToken(tokenFile)]
  return remoteDestination(connectTo(url, token, signal), ['--to', url, '--token-file', resolve(tokenFile)])
}

/** @throws UsageError */
function requireFitting({ prune, watch, dryRun, base, name, org, as, to, tokenFile }: ImportOptions): void {
  if (to === undefined && as === undefined)
    throw new UsageError(
      '--as says in whose name it is committed here; --to and --token-file lead to a Grove elsewhere',
    )
  if ((to === undefined) !== (tokenFile === undefined)) throw new UsageError('--to and --token-file go together')
  if (to !== undefined && as !== undefined)
    throw new UsageError('--as is for the data folder of this machine; with --to the token says who it is')
  if (watch && (prune || dryRun))
    throw new UsageError('--watch goes with neither --dry-run nor --prune: a file that is saved is gone for a moment')
  if (base !== undefined && !base.startsWith('/')) throw new UsageError(`--base ${base} does not begin with a /`)
  if (name !== undefined && org !== undefined) throw new UsageError('--org and --name both choose the organisation')
}

interface Synced {
  readonly listed: Folder
  readonly target: Target
  readonly done: Imported
  /** Of the plan. */
  readonly isStale: boolean
  /** Lines. */
  readonly summary: readonly string[]
  readonly code: number
}

function sync(run: Run, known?: Target): Promise<Synced> {
  return syncOnce(run, known).catch(refuse)
}

/** @throws UsageError in the place of errors that the caller can correct */
function refuse(error: unknown): never {
  const kinds = [UnreadableExclusions, DamagedVaultFile, SeveralOrganisations, OnlyReader, RemoteRefusal]
  const isCallers = kinds.some((kind) => error instanceof kind)
  throw isCallers && error instanceof Error ? new UsageError(error.message) : error
}

/** @param known the organisation, if it was chosen before: progress is then not shown */
async function syncOnce(run: Run, known?: Target): Promise<Synced> {
  const { call, to, folder, options } = run
  const { exclude = [], dryRun = false, prune = false } = options
  const list = () => listFolder(folder, { exclude, signal: call.signal })
  let listed = await list()
  const target = known ?? (await targetOf(to, listed, options))
  const memory = known || dryRun ? undefined : await memoryOf(run, listed, target)
  const recalled = await memory?.recall()
  if (recalled) return { listed, target, done: nothing, isStale: false, summary: recalled, code: 0 }
  // In a dry run a new organisation is not made.
  const isMade = !(target.isNew && dryRun)
  const inventory = await inventoryOf(to, target, isMade)
  const reading = known ? undefined : progressFor('Reading')
  let plan = await planOf(run, listed, inventory, reading)
  for (let again = 1; plan.isStale && again < readings; again++) {
    listed = await list()
    plan = await planOf(run, listed, inventory, reading)
  }
  reading?.end()
  // What could not be listed may have been moved there.
  const isWhole = listed.lost.length === 0
  const removed = prune && isWhole ? plan.gone.map(({ id, path = '' }) => ({ id, path })) : []
  const writing = known || dryRun ? undefined : progressFor('Writing')
  const input = { nodes: plan.nodes, removed, dryRun, onProgress: (n: number, all: number) => writing?.at(n, all) }
  const done = isMade ? await to.write(target.id, input) : allCreated(plan)
  writing?.end()
  const pruning = prune && !isWhole ? 'unread' : commandFor(folder, to.words, options, target)
  const summaryWith = (what: Imported) => summaryOf({ ...target, plan, done: what, dryRun, pruning })
  const code = done.problems.length + plan.left > 0 ? 1 : 0
  if (code === 0) await memory?.remember(done, () => to.write(target.id, { ...input, dryRun: true }), summaryWith)
  return { listed, target, done, isStale: plan.isStale, summary: summaryWith(done), code }
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

/** Undefined where only a read of all files can tell that nothing has changed. */
async function memoryOf({ to, folder, options }: Run, listed: Folder, target: Target) {
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

  /** @param look what a run that changes nothing would find */
  async function remember(done: Imported, look: () => Promise<Imported>, summaryWith: (what: Imported) => string[]) {
    const isUnchanged = changesOf(done) === undefined
    const org = isUnchanged ? before : await to.stateOfOrg(id)
    const found = isUnchanged ? done : await look()
    // Others may have written meanwhile.
    if (org === undefined || changesOf(found) !== undefined || (await to.stateOfOrg(id)) !== org) return
    await to.remember(id, { folder: state ?? '', org, lines: summaryWith(found) })
  }
}

function planOf({ call, options: { base } }: Run, listed: Folder, inventory: Inventory, reading: Progress | undefined) {
  return planImport(listed, inventory, {
    base: base && `${base.replace(/\/+$/, '')}/`,
    onProgress: (done, total) => {
      call.signal.throwIfAborted()
      reading?.at(done, total)
    },
  })
}

/** A folder that is gone is waited for: an editor or a mount may bring it back. */
async function watch(run: Run, first: Synced): Promise<number> {
  const { folder } = run
  say(`Watching ${folder}`)
  for (let last = first; ; ) {
    await watchWhileThere(run, last)
    tell(
      `${folder} is gone: nothing is changed in ${last.target.name}; the import goes on once the folder is there again`,
    )
    const again = await whenBack(run, last.target)
    tell(`${folder} is there again: ${changesOf(again.done) ?? 'nothing has changed'}`)
    last = again
  }
}

/** Returns when the folder is gone. @throws the reason of the signal */
async function watchWhileThere(run: Run, { listed, target, done, isStale }: Synced): Promise<void> {
  const { call, folder } = run
  const watched = { folders: listed.folders, isBehind: done.problems.length > 0 || isStale }
  for await (const note of whenChanged(listed.dir, watched, call.signal)) {
    if (note !== undefined) say(note)
    try {
      const synced = await sync(run, target)
      watched.folders = synced.listed.folders
      watched.isBehind = synced.done.problems.length > 0 || synced.isStale
      const changes = changesOf(synced.done)
      if (changes !== undefined) tell(changes)
    } catch (error) {
      call.signal.throwIfAborted()
      if (isAbsent(error) && !isThere(folder)) return
      if (!mayPass(error)) throw error
      watched.isBehind = true
      tell(`nothing imported, tried again later: ${error.message}`)
    }
  }
  call.signal.throwIfAborted()
}

/** How often a folder that is gone is looked for. */
const lookAgainMs = 1_000

/** Imports the folder once it is there again. @throws the reason of the signal */
async function whenBack(run: Run, target: Target): Promise<Synced> {
  const { folder, call } = run
  for (;;) {
    await pause(lookAgainMs, undefined, { signal: call.signal }).catch(() => call.signal.throwIfAborted())
    if (!isThere(folder)) continue
    try {
      return await sync(run, target)
    } catch (error) {
      call.signal.throwIfAborted()
      if (!isAbsent(error) && !mayPass(error)) throw error
    }
  }
}

function tell(words: string): void {
  say(`${new Date().toISOString()} ${words}`)
}

/** Faults that may pass by themselves: locks held by other processes, a disk, a network. */
function mayPass(error: unknown): error is GitError | DatabaseFault | RemoteFault {
  return error instanceof GitError || error instanceof DatabaseFault || error instanceof RemoteFault
}

async function inventoryOf(to: Destination, { id, guest, exported }: Target, isMade: boolean): Promise<Inventory> {
  const nodes = isMade ? await to.knownNodes(id, guest) : []
  return {
    orgId: id,
    ...(guest === undefined ? {} : { guest }),
    nodes: nodes.map((node) => asExported(node, exported.get(node.id))),
    contentsOf: (ids) => to.contentsOf(id, ids),
    takenElsewhere: (ids) => to.takenElsewhere(id, ids),
  }
}

function allCreated({ nodes }: Plan): Imported {
  return { ...nothing, created: nodes.map(({ path }) => path) }
}

/** The command that ends the nodes whose files are gone. */
function commandFor(
  folder: string,
  leading: readonly string[],
  { base, exclude = [] }: ImportOptions,
  { id }: Target,
): string {
  const words = ['grove', 'import', resolve(folder), ...leading, '--org', id]
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
