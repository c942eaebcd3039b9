/** `grove import`: creates or updates an organisation from a folder of Markdown. */
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { GitError } from '../../../../gitstore/errors.ts'
import { exists, isAbsent } from '../../../../gitstore/fs-exists.ts'
import { findAccountByEmail } from '../../../../index/credentials/accounts.ts'
import { DatabaseError } from '../../../../index/sqlite/database.ts'
import {
  type Call,
  printLine,
  progressFor,
  requireFolder,
  UsageError,
  withDeps,
} from '../../../cli/commands/command.ts'
import { personOf } from '../../../domain/accounts/user-view.ts'
import { operator, type Person } from '../../../domain/actor.ts'
import { audit } from '../../../domain/audit/audit.ts'
import { addressOf, connectTo, RemoteError, RemoteRefusalError, readToken } from '../../../domain/net/remote-grove.ts'
import type { Ctx, Services } from '../../../domain/services.ts'
import { type Destination, localDestination } from '../apply/destination.ts'
import { type Sync, type Synced, type SyncOptions, syncFolder } from '../apply/sync.ts'
import { type Target, UnknownVaultError } from '../apply/target.ts'
import { OnlyReaderError, SeveralOrganisationsError } from '../plan/organisation.ts'
import { changesOf } from '../plan/summary.ts'
import { UnreadableExclusionsError } from '../read/exclusions.ts'
import { NoHistoryError } from '../read/git-history.ts'
import { DamagedVaultFileError } from '../read/vault-file.ts'
import { whenChanged } from '../read/watch.ts'
import { remoteDestination } from '../remote/destination.ts'

export interface ImportOptions extends SyncOptions {
  readonly as?: string
  readonly to?: string
  readonly tokenFile?: string
  readonly watch?: boolean
}

/** Imports a folder. Returns 1 if a node was refused or a file skipped; unresolved links are only counted. */
export async function importFolder(call: Call, folder: string, options: ImportOptions): Promise<number> {
  requireFitting(options)
  await requireFolder(folder)
  const work = async (to: Destination, imported?: (orgId: string) => Promise<void>) => {
    const pruningCommand = (orgId: string) => commandFor(folder, to.words, options, orgId)
    const run = { to, folder, options, signal: call.signal, progressFor, pruningCommand }
    const first = await sync(run)
    if (!options.dryRun && !options.propose) await imported?.(first.target.id)
    for (const line of first.summary) printLine(line)
    if (options.watch) return watch(run, first)
    return first.isComplete ? 0 : 1
  }
  const { as = '', to, tokenFile = '' } = options
  if (to !== undefined) return work(await elsewhere(call, to, tokenFile).catch(refuse))
  await requireFolder(call.config.dataDir)
  return withDeps(call, async (deps) => {
    const person = await personFor(deps, as)
    return work(localDestination({ ...deps, actor: person }), (orgId) =>
      auditImport({ ...deps, actor: person }, orgId, options),
    )
  })
}

/** The commits name the user, and not the operator. */
async function auditImport(ctx: Ctx<Person>, orgId: string, { override }: ImportOptions): Promise<void> {
  const entry = { actor: operator, orgId, accountId: ctx.actor.id, target: { type: 'org', id: orgId } as const }
  const overridden = override !== undefined && { detail: { overridden: true } }
  await audit(ctx, { action: 'org.imported', ...entry, ...overridden })
}

async function elsewhere({ signal }: Call, to: string, tokenFile: string): Promise<Destination> {
  const [url, token] = [addressOf(to), await readToken(tokenFile)]
  return remoteDestination(connectTo(url, token, signal), ['--to', url, '--token-file', resolve(tokenFile)])
}

/** @throws UsageError */
function requireFitting({
  prune,
  watch,
  dryRun,
  base,
  name,
  org,
  as,
  to,
  tokenFile,
  withHistory,
  override,
  propose,
}: ImportOptions): void {
  if (to === undefined && as === undefined)
    throw new UsageError(
      'Use --as to import into the local data folder, or --to and --token-file to import into a remote Grove',
    )
  if ((to === undefined) !== (tokenFile === undefined)) throw new UsageError('Use --to and --token-file together')
  if (to !== undefined && as !== undefined)
    throw new UsageError('--as and --to cannot be combined: with --to, the token identifies the user')
  if (withHistory && to !== undefined)
    throw new UsageError(
      '--with-history cannot be combined with --to, because only the local data folder takes commits of other authors',
    )
  if (override !== undefined && to !== undefined)
    throw new UsageError('--override cannot be combined with --to, because a token cannot override rules')
  if (propose && (to !== undefined || override !== undefined || withHistory || watch))
    throw new UsageError('--propose can be combined with neither --to, --override, --with-history nor --watch')
  if (watch && (prune || dryRun))
    throw new UsageError(
      '--watch cannot be combined with --dry-run or --prune, because a file is briefly missing while it is saved',
    )
  if (base !== undefined && !base.startsWith('/')) throw new UsageError(`--base ${base} must begin with a /`)
  if (name !== undefined && org !== undefined)
    throw new UsageError('--org and --name cannot be combined: both choose the organisation')
}

function sync(run: Sync, known?: Target): Promise<Synced> {
  return syncFolder(run, known).catch(refuse)
}

/** Turns errors that the caller can correct into UsageError. @throws the error */
function refuse(error: unknown): never {
  const kinds = [
    NoHistoryError,
    UnreadableExclusionsError,
    DamagedVaultFileError,
    UnknownVaultError,
    SeveralOrganisationsError,
    OnlyReaderError,
    RemoteRefusalError,
  ]
  const isCallers = kinds.some((kind) => error instanceof kind)
  throw isCallers && error instanceof Error ? new UsageError(error.message) : error
}

/** Imports after each change. Waits for a missing folder, because an editor or a mount may bring it back. */
async function watch(run: Sync, first: Synced): Promise<number> {
  const { folder } = run
  printLine(`Watching ${folder}`)
  for (let last = first; ; ) {
    await watchWhileThere(run, last)
    tell(`${folder} is gone. Nothing is changed in ${last.target.name}; the import continues when the folder is back`)
    const again = await whenBack(run, last.target)
    tell(`${folder} is back: ${changesOf(again.done) ?? 'nothing has changed'}`)
    last = again
  }
}

/** Returns when the folder is gone. @throws the reason of the signal */
async function watchWhileThere(run: Sync, { listed, target, done, isStale }: Synced): Promise<void> {
  const { signal, folder } = run
  const watched = { folders: listed.folders, isBehind: done.problems.length > 0 || isStale }
  for await (const note of whenChanged(listed.dir, watched, signal)) {
    if (note !== undefined) printLine(note)
    try {
      const synced = await sync(run, target)
      watched.folders = synced.listed.folders
      watched.isBehind = synced.done.problems.length > 0 || synced.isStale
      const changes = changesOf(synced.done)
      if (changes !== undefined) tell(changes)
    } catch (error) {
      signal.throwIfAborted()
      if (isAbsent(error) && !exists(folder)) return
      if (!mayPass(error)) throw error
      watched.isBehind = true
      tell(`nothing imported, will try again: ${error.message}`)
    }
  }
  signal.throwIfAborted()
}

/** Milliseconds between two checks for a missing folder. */
const lookAgainMs = 1_000

/** Imports the folder when it is back. @throws the reason of the signal */
async function whenBack(run: Sync, target: Target): Promise<Synced> {
  const { folder, signal } = run
  for (;;) {
    await pause(lookAgainMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    if (!exists(folder)) continue
    try {
      return await sync(run, target)
    } catch (error) {
      signal.throwIfAborted()
      if (!isAbsent(error) && !mayPass(error)) throw error
    }
  }
}

function tell(words: string): void {
  printLine(`${new Date().toISOString()} ${words}`)
}

/** True for faults that may pass: locks of other processes, a disk, a network. */
function mayPass(error: unknown): error is GitError | DatabaseError | RemoteError {
  return error instanceof GitError || error instanceof DatabaseError || error instanceof RemoteError
}

/** Returns the command that deletes the nodes whose files are gone. */
function commandFor(
  folder: string,
  leading: readonly string[],
  { base, exclude = [] }: ImportOptions,
  orgId: string,
): string {
  const words = ['grove', 'import', resolve(folder), ...leading, '--org', orgId]
  if (base !== undefined) words.push('--base', base)
  for (const pattern of exclude) words.push('--exclude', pattern)
  return [...words, '--prune'].map(quoted).join(' ')
}

/** Quotes a word for a shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

async function personFor(deps: Services, email: string): Promise<Person> {
  const account = await findAccountByEmail(deps.credentials.read, email)
  if (!account) throw new UsageError(`There is no account ${email}; sign up first (POST /auth/signup)`)
  return personOf(account)
}
